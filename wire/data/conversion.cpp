#include "wire/data/conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "wire/data/element.hpp"

namespace impishim::wire {
namespace {

/// The native bytes of the run that `place` stands in, from its element on.
std::ptrdiff_t offset_of(const TypeLayout& layout, const CursorPlace& place) {
  const Block& block = layout.blocks()[place.block];
  return static_cast<std::ptrdiff_t>(place.item) * layout.extent() + block.offset +
         static_cast<std::ptrdiff_t>(place.run) * block.stride +
         static_cast<std::ptrdiff_t>(place.element * element_size(block.type, Format::kNative));
}

/// Moves on by `count` elements, which do not go beyond the end of the run.
void advance(const TypeLayout& layout, CursorPlace& place, std::uint64_t count) {
  const Block& block = layout.blocks()[place.block];
  place.element += count;
  if (place.element < block.count) return;
  place.element = 0;
  if (++place.run < block.repeat) return;
  place.run = 0;
  if (++place.block < layout.blocks().size()) return;
  place.block = 0;
  ++place.item;
}

Error overflow(BasicType type, Format format, bool to_wire) {
  const char* name =
      type == BasicType::kWideChar ? "MPI_WCHAR" : (type == BasicType::kSignedLong ? "MPI_LONG" : "MPI_UNSIGNED_LONG");
  return Error{
      ErrorKind::kConversion,
      fmt::format("a value of {} does not fit {} ({} bytes{}); between impishim systems leave IMPISHIM_WIRE_FORMAT=auto, "
                  "which loses nothing",
                  name, to_wire ? format_name(format) : std::string_view("this system's type"),
                  element_size(type, to_wire ? format : Format::kNative), to_wire ? "" : " here")};
}

}  // namespace

PackCursor::PackCursor(const ConstBuffer& buffer, Format format)
    : base_(buffer.base),
      layout_(buffer.layout),
      format_(format),
      straight_(format == Format::kNative && buffer.layout->contiguous(buffer.count)),
      total_(buffer.packed_size(format)) {
  if (straight_) base_ += layout_->first_offset();
}

std::span<const std::byte> PackCursor::borrow(std::size_t limit) {
  if (!straight_) return {};
  const std::size_t size = std::min<std::uint64_t>(limit, total_ - position_);
  const std::span<const std::byte> bytes(base_ + position_, size);
  position_ += size;
  return bytes;
}

Result<std::size_t> PackCursor::pack(std::span<std::byte> out) {
  const std::size_t wanted = std::min<std::uint64_t>(out.size(), total_ - position_);
  if (straight_) {
    if (wanted > 0) std::memcpy(out.data(), base_ + position_, wanted);
    position_ += wanted;
    return wanted;
  }
  std::size_t done = 0;
  while (done < wanted) {
    if (partial_size_ > 0) {
      const std::size_t size = std::min(partial_size_ - partial_taken_, wanted - done);
      std::memcpy(out.data() + done, partial_.data() + partial_taken_, size);
      partial_taken_ += size;
      done += size;
      if (partial_taken_ == partial_size_) partial_size_ = 0;
      continue;
    }
    const Block& block = layout_->blocks()[place_.block];
    const std::size_t size = element_size(block.type, format_);
    const std::uint64_t whole = std::min<std::uint64_t>((wanted - done) / size, block.count - place_.element);
    const std::byte* from = base_ + offset_of(*layout_, place_);
    if (whole == 0) {
      // The piece ends inside this element.
      if (format_ == Format::kNative) {
        std::memcpy(partial_.data(), from, size);
      } else if (elements_to_wire(block.type, format_, from, partial_.data(), 1) == 0) {
        return overflow(block.type, format_, true);
      }
      partial_size_ = size;
      partial_taken_ = 0;
      advance(*layout_, place_, 1);
      continue;
    }
    if (format_ == Format::kNative) {
      std::memcpy(out.data() + done, from, whole * size);
    } else if (elements_to_wire(block.type, format_, from, out.data() + done, whole) < whole) {
      return overflow(block.type, format_, true);
    }
    advance(*layout_, place_, whole);
    done += whole * size;
  }
  position_ += done;
  return done;
}

UnpackCursor::UnpackCursor(const MutableBuffer& buffer, Format format)
    : base_(buffer.base),
      layout_(buffer.layout),
      format_(format),
      straight_(format == Format::kNative && buffer.layout->contiguous(buffer.count)),
      total_(buffer.packed_size(format)) {
  if (straight_) base_ += layout_->first_offset();
}

std::span<std::byte> UnpackCursor::borrow(std::size_t limit) {
  if (!straight_) return {};
  const std::size_t size = std::min<std::uint64_t>(limit, total_ - position_);
  const std::span<std::byte> bytes(base_ + position_, size);
  position_ += size;
  return bytes;
}

Result<void> UnpackCursor::unpack(std::span<const std::byte> in) {
  const std::size_t fits = std::min<std::uint64_t>(in.size(), total_ - position_);
  const bool truncated = fits < in.size();
  if (straight_) {
    if (fits > 0) std::memcpy(base_ + position_, in.data(), fits);
    position_ += fits;
  }
  std::size_t done = straight_ ? fits : 0;
  while (done < fits) {
    const Block& block = layout_->blocks()[place_.block];
    const std::size_t size = element_size(block.type, format_);
    const std::size_t native = element_size(block.type, Format::kNative);
    std::byte* to = base_ + offset_of(*layout_, place_);
    const std::byte* from = in.data() + done;
    std::uint64_t count = std::min<std::uint64_t>((fits - done) / size, block.count - place_.element);
    std::size_t consumed = count * size;
    if (partial_size_ > 0 || count == 0) {
      // An element that a piece's end has cut.
      consumed = std::min(size - partial_size_, fits - done);
      std::memcpy(partial_.data() + partial_size_, from, consumed);
      partial_size_ += consumed;
      done += consumed;
      position_ += consumed;
      if (partial_size_ < size) break;
      partial_size_ = 0;
      from = partial_.data();
      count = 1;
      consumed = 0;
    }
    if (format_ == Format::kNative) {
      std::memcpy(to, from, count * size);
    } else if (elements_from_wire(block.type, format_, from, to, count) < count) {
      return overflow(block.type, format_, false);
    }
    advance(*layout_, place_, count);
    native_bytes_ += count * native;
    done += consumed;
    position_ += consumed;
  }
  if (truncated)
    return Error{ErrorKind::kTruncation, fmt::format("{} bytes more than the receive buffer holds", in.size() - fits)};
  return {};
}

}  // namespace impishim::wire
