// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/vendor_count.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

constexpr int kChunk = 1 << 30;

}  // namespace

VendorCount::VendorCount(std::uint64_t count, MPI_Datatype type)
    : type_(type), count_(static_cast<int>(count)) {
  if (count <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  vendor::Type_get_extent(type, &lower_bound, &extent);
  const auto rest = static_cast<int>(count % kChunk);
  const std::array<MPI_Aint, 2> places{
      0, static_cast<MPI_Aint>(count - static_cast<std::uint64_t>(rest)) * extent};
  const std::array<int, 2> lengths{static_cast<int>(count / kChunk), rest};
  MPI_Datatype chunk = MPI_DATATYPE_NULL;
  vendor::Type_contiguous(kChunk, type, &chunk);
  const std::array<MPI_Datatype, 2> types{chunk, type};
  vendor::Type_create_struct(2, lengths.data(), places.data(), types.data(), &made_);
  vendor::Type_free(&chunk);
  vendor::Type_commit(&made_);
  type_ = made_;
  count_ = 1;
}

VendorCount::~VendorCount() {
  if (made_ != MPI_DATATYPE_NULL) vendor::Type_free(&made_);
}

}  // namespace impishim::shim
