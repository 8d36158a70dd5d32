// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "collectives/core/data.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {
namespace {

bool is_commutative(MPI_Op op) {
  int commutative = 0;
  vendor::Op_commutative(op, &commutative);
  return commutative != 0;
}

enum class Meaning : std::uint8_t { kUnknown, kOrder, kArithmetic, kLogical, kBits, kLocation };

Meaning meaning_of(MPI_Op op) {
  if (op == MPI_SUM || op == MPI_PROD) return Meaning::kArithmetic;
  if (op == MPI_MAX || op == MPI_MIN) return Meaning::kOrder;
  if (op == MPI_MAXLOC || op == MPI_MINLOC) return Meaning::kLocation;
  if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) return Meaning::kLogical;
  if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR) return Meaning::kBits;
  return Meaning::kUnknown;
}

bool is_floating(wire::BasicType type) {
  return type == wire::BasicType::kFloat || type == wire::BasicType::kDouble ||
         type == wire::BasicType::kLongDouble || type == wire::BasicType::kQuad;
}

/// Returns true for duplicates of predefined types and for types of MPI_Type_create_f90_*;
/// predefined operations may accept both.
bool may_stand_for_predefined(MPI_Datatype datatype) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  vendor::Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_DUP ||
         combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace

bool fits(MPI_Op op, MPI_Datatype datatype) {
  const Meaning meaning = meaning_of(op);
  if (meaning == Meaning::kUnknown || datatype == MPI_DATATYPE_NULL) return true;
  const wire::TypeLayout* layout = predefined_layout(datatype);
  if (layout == nullptr) return may_stand_for_predefined(datatype);
  const auto floating = [](const wire::Block& block) { return is_floating(block.type); };
  const bool all_floating = std::ranges::all_of(layout->blocks(), floating);
  if (meaning == Meaning::kLogical || meaning == Meaning::kBits)
    return layout->basic_count() == 1 && !all_floating;
  if (meaning == Meaning::kLocation) return layout->basic_count() != 1;
  // Two values are a complex number or a pair. For floating-point values only the vendor can
  // distinguish these.
  return layout->basic_count() == 1 || (meaning == Meaning::kArithmetic && all_floating);
}

OpReduction::OpReduction(MPI_Op op, MPI_Datatype datatype)
    : Reduction(is_commutative(op), to_bits(op)), op_(op), datatype_(datatype) {}

void OpReduction::combine(const std::byte* in, std::byte* inout, std::uint64_t count) const {
  constexpr std::uint64_t kMost =
      std::numeric_limits<int>::max();  // MPI_Reduce_local counts in int
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
