#include "shim/reduction.hpp"

#include <limits>

#include "shim/handle_bits.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

bool is_commutative(MPI_Op op) {
  int commutative = 0;
  vendor::Op_commutative(op, &commutative);
  return commutative != 0;
}

}  // namespace

OpReduction::OpReduction(MPI_Op op, MPI_Datatype datatype)
    : Reduction(is_commutative(op), to_bits(op)), op_(op), datatype_(datatype) {}

void OpReduction::combine(const std::byte* in, std::byte* inout, std::uint64_t count) const {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();  // MPI_Reduce_local counts in int
  for (; count > kMost; count -= kMost) {
    combine_some(in, inout, kMost);
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    vendor::Type_get_extent(datatype_, &lower_bound, &extent);
    in += static_cast<MPI_Aint>(kMost) * extent;
    inout += static_cast<MPI_Aint>(kMost) * extent;
  }
  combine_some(in, inout, count);
}

void OpReduction::combine_some(const std::byte* in, std::byte* inout, std::uint64_t count) const {
  const int code = vendor::Reduce_local(in, inout, static_cast<int>(count), datatype_, op_);
  if (first_code_ == MPI_SUCCESS) first_code_ = code;
}

}  // namespace impishim::shim
