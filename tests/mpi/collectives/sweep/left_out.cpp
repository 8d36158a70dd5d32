// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/left_out.hpp"

namespace sweep {
namespace {

#ifdef OPEN_MPI
/// Open MPI 4.1.
const char* by_vendor(const Space& space, const Operation& operation, Form form) {
  const Function function = operation.function;
  if (space.inter() && function == Function::kScatterv)
    return "fails with datatypes that differ between processes";
  if (function == Function::kAllgatherv && form == Form::kBlocking && space.size() > 2) {
    return "processes whose datatypes differ may take different algorithms, and wait for ever";
  }
  if (function == Function::kAlltoallw && space.size() == 1)
    return "on one process it ignores displacements and datatypes";
  if (operation.drawn_in_place && form != Form::kBlocking &&
      (function == Function::kAlltoallv || function == Function::kAlltoallw)) {
    return "in place and not blocking, it mixes up data with gaps";
  }
  return nullptr;
}
#else
/// MPICH 4.0.2.
const char* by_vendor(const Space& space, const Operation& operation, Form form) {
  const Function function = operation.function;
  if (form == Form::kPersistent)
    return "persistent, it often fails, or sends the data of its first start again";
  if (form == Form::kNonblocking && operation.drawn_in_place &&
      (function == Function::kAlltoallv || function == Function::kAlltoallw)) {
    return "in place and not blocking, it takes a datatype's extent for its size";
  }
  if (form == Form::kNonblocking && space.inter())
    return "nonblocking between groups, it often fails or mixes up data";
  if (function == Function::kAllgatherv && space.size() == 1)
    return "on one process it ignores the displacement";
  if (function == Function::kReduce && operation.drawn_in_place && operation.bytes > 2048) {
    return "in place, it crashes from 2 KiB on";
  }
  const bool scatters =
      function == Function::kReduceScatter || function == Function::kReduceScatterBlock;
  if (scatters && operation.op == Op::kUserAffine) {
    return "it reduces in a wrong order if the operation does not commute";
  }
  return nullptr;
}
#endif

}  // namespace

const char* left_out(const Space& space, const Operation& operation, Form form) {
  if (!space.native) return nullptr;
  if (space.parallel && operation.function >= Function::kNeighborAlltoall) {
    return "several edges between the same two processes match in another order";
  }
  if (space.one_sided) return "a process that has edges in one direction only does nothing";
  return by_vendor(space, operation, form);
}

bool needs_plain_types(const Space& space) { return space.native && space.inter(); }

}  // namespace sweep
