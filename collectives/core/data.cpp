// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {
TypedRoom::TypedRoom(const ElementType& type, std::uint64_t count) : data_{nullptr, count, &type} {
  if (count == 0) return;
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * type.layout->extent();
  const std::ptrdiff_t low = type.true_lower_bound + std::min<std::ptrdiff_t>(0, last);
  const std::ptrdiff_t high =
      type.true_lower_bound + type.true_extent + std::max<std::ptrdiff_t>(0, last);
  memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(high - low));
  data_.base = wire::moved(memory_.get(), -low);
}

PackedType::PackedType(const ConstData& data)
    : count_(data.count), layout_(data.type->layout), keep_alive_(data.type->keep_alive) {
  if (layout_->contiguous(2) && layout_->first_offset() == 0) return;
  keep_alive_ = layout_->without_gaps();
  layout_ = keep_alive_.get();
}

wire::ConstBuffer PackedType::buffer(std::span<const std::byte> bytes, std::uint64_t blocks) const {
  return {bytes.data(), blocks * count_, layout_, keep_alive_};
}

wire::MutableBuffer PackedType::room(std::span<std::byte> bytes, std::uint64_t blocks) const {
  return {bytes.data(), blocks * count_, layout_, keep_alive_};
}

PackedBlock::PackedBlock(const ConstData& data) {
  const std::uint64_t size = data.native_bytes();
  if (size == 0) return;
  if (data.straight()) {
    bytes_ = {data.first_byte(), size};
    return;
  }
  copy_.emplace(size);
  wire::PackCursor cursor(data.buffer(), wire::Format::kNative);
  [[maybe_unused]] const auto packed = cursor.pack(copy_->all());
  IMPISHIM_ASSERT(packed.ok());  // nothing is converted, so nothing can fail
  bytes_ = copy_->all();
}

void unpack(std::span<const std::byte> block, const Data& to) {
  if (block.empty()) return;
  wire::UnpackCursor cursor(to.buffer(), wire::Format::kNative);
  [[maybe_unused]] const auto unpacked = cursor.unpack(block);
  IMPISHIM_ASSERT(unpacked.ok());
}

void copy(const ConstData& from, const Data& to) {
  if (from.base == to.base && from.type == to.type) return;
  unpack(PackedBlock(from).bytes(), to);
}

}  // namespace impishim::collectives
