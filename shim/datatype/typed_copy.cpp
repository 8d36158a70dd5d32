// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/typed_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/datatype/datatype.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"

namespace impishim::shim {

Result<TypedCopy> TypedCopy::of(const void* address, std::int64_t count, MPI_Datatype datatype) {
  TypedCopy copy;
  auto from = const_buffer(address, count, datatype);
  if (!from) return from.error();
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  vendor::Type_get_true_extent(datatype, &true_lower_bound, &true_extent);
  // The extent may be negative; the last element may then precede the first.
  const std::ptrdiff_t distance = count > 0 ? (count - 1) * from->layout->extent() : 0;
  const std::ptrdiff_t lowest = true_lower_bound + std::min<std::ptrdiff_t>(0, distance);
  const std::ptrdiff_t highest =
      true_lower_bound + true_extent + std::max<std::ptrdiff_t>(0, distance);
  copy.bytes_.resize(count > 0 ? static_cast<std::size_t>(highest - lowest) : 0);
  copy.origin_ = -lowest;
  wire::PackCursor reader(*from, wire::Format::kNative);
  wire::UnpackCursor writer(
      {static_cast<std::byte*>(copy.address()), from->count, from->layout, from->keep_alive},
      wire::Format::kNative);
  std::vector<std::byte> piece(std::min<std::uint64_t>(reader.total(), 65536));
  while (reader.position() < reader.total()) {
    auto packed = reader.pack(piece);
    if (!packed) return packed.error();
    auto stored = writer.unpack(std::span(piece).first(*packed));
    if (!stored) return stored.error();
  }
  return copy;
}

}  // namespace impishim::shim
