// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/other_nodes.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdlib>

namespace impishim::launch {
namespace {

constexpr std::array kVariables = {"IMPISHIM_MPIEXEC", "SLURM_JOB_NUM_NODES", "SLURM_NNODES",
                                   "PBS_NUM_NODES"};

class OtherNodes : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : kVariables) unsetenv(name);
  }
  static bool reached_by(const char* launcher) {
    setenv("IMPISHIM_MPIEXEC", launcher, 1);
    return may_reach_other_nodes();
  }
};

TEST_F(OtherNodes, NotWithoutVariables) { EXPECT_FALSE(may_reach_other_nodes()); }

TEST_F(OtherNodes, AnMpiexecStaysHere) {
  for (const char* each : {"mpiexec", "/opt/mpi/bin/mpiexec.hydra -iface lo", "mpirun",
                           "mpiexec.openmpi --oversubscribe", "", "mpiexec 'unfinished"})
    EXPECT_FALSE(reached_by(each)) << each;
}

TEST_F(OtherNodes, HostsOfAnMpiexecAreElsewhere) {
  for (const char* each : {"mpiexec -hosts a,b", "mpirun --hostfile nodes", "mpiexec -f nodes",
                           "mpirun -H a", "mpirun -machinefile nodes"})
    EXPECT_TRUE(reached_by(each)) << each;
}

TEST_F(OtherNodes, OtherLaunchersLeave) {
  for (const char* each : {"srun --mpi=pmi2", "sbatch --nodes=2", "/usr/bin/qsub", "./own"})
    EXPECT_TRUE(reached_by(each)) << each;
}

TEST_F(OtherNodes, AnAllocationOfSeveralNodes) {
  for (const char* each : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES"}) {
    clear();
    setenv(each, "1", 1);
    EXPECT_FALSE(may_reach_other_nodes()) << each;
    setenv(each, "2", 1);
    EXPECT_TRUE(may_reach_other_nodes()) << each;
    setenv(each, "many", 1);
    EXPECT_FALSE(may_reach_other_nodes()) << each;
  }
}

}  // namespace
}  // namespace impishim::launch
