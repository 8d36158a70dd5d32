// SPDX-License-Identifier: Apache-2.0
/// A job that a process starts (MPI_Comm_spawn): another impirun, whose program connects back.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// Name of the variable that tells a process the port of its parents.
inline constexpr const char* kParentVariable = "IMPISHIM_PARENT";

/// A program of the new job, and how many processes run it.
struct SpawnedProgram {
  int procs = 1;
  std::vector<std::string> words;  ///< its path or name, and its arguments
};

/// What is started, and where it connects to.
struct SpawnPlan {
  std::string impirun;  ///< path of the launcher
  std::string mpi;      ///< the MPI library of scripts: mpich or openmpi
  std::string address;  ///< of this machine, as its processes are to advertise it
  std::string port;     ///< name of the port that they connect to
  std::string folder;   ///< working directory; empty: that of this process
  std::vector<SpawnedProgram> programs;
};

/// Returns the words of the launcher's command line.
[[nodiscard]] std::vector<std::string> launcher_words(const SpawnPlan& plan);

/// Returns the environment of the launcher, made of this process's own, `before`: without what
/// launchers tell their own processes, and without what belongs to this process's job.
[[nodiscard]] std::vector<std::string> launcher_environment(const SpawnPlan& plan,
                                                            const std::vector<std::string>& before);

/// A launcher that runs. It goes on when the object is destroyed.
class SpawnedJob {
 public:
  /// Starts the launcher. The name of the port stands in its environment, which other users cannot
  /// read, and not on its command line. Fails with kSystem.
  [[nodiscard]] static Result<SpawnedJob> start(const SpawnPlan& plan);

  /// Returns a descriptor that becomes readable when the launcher has ended.
  [[nodiscard]] int descriptor() const { return process_.get(); }
  /// Waits for its end, and returns a sentence on it.
  [[nodiscard]] std::string how_it_ended() const;

 private:
  SpawnedJob(pid_t pid, Descriptor process) : pid_(pid), process_(std::move(process)) {}

  pid_t pid_;
  Descriptor process_;
};

/// Returns the path of impirun: the value of IMPISHIM_IMPIRUN, or else the one that is installed
/// with `library`, or else the one in PATH. Fails with kConfiguration if there is none.
[[nodiscard]] Result<std::string> find_launcher(const std::string& library);

}  // namespace impishim::wire
