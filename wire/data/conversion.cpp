// SPDX-License-Identifier: Apache-2.0
#include "wire/data/conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/element.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {
namespace {

/// Copies `runs` pieces of kSize bytes (0: `size` bytes). The sources are `from_step` bytes apart,
/// the targets `to_step` bytes apart.
template <std::size_t kSize>
void copy_runs(const std::byte* from, std::ptrdiff_t from_step, std::byte* to,
               std::ptrdiff_t to_step, std::size_t size, std::uint64_t runs) {
  for (std::uint64_t run = 0; run < runs; ++run, from += from_step, to += to_step) {
    std::memcpy(to, from, kSize == 0 ? size : kSize);
  }
}

/// Strided data consists of small runs. If the compiler knows their size, a copy is one load and
/// one store.
void copy_runs(const std::byte* from, std::ptrdiff_t from_step, std::byte* to,
               std::ptrdiff_t to_step, std::size_t size, std::uint64_t runs) {
  switch (size) {
    case 4:
      return copy_runs<4>(from, from_step, to, to_step, size, runs);
    case 8:
      return copy_runs<8>(from, from_step, to, to_step, size, runs);
    case 16:
      return copy_runs<16>(from, from_step, to, to_step, size, runs);
    default:
      return copy_runs<0>(from, from_step, to, to_step, size, runs);
  }
}

Error overflow(BasicType type, Format format, bool to_wire) {
  const char* name = type == BasicType::kWideChar
                         ? "MPI_WCHAR"
                         : (type == BasicType::kSignedLong ? "MPI_LONG" : "MPI_UNSIGNED_LONG");
  return Error{
      ErrorKind::kConversion,
      fmt::format("a value of {} does not fit {} ({} bytes{}); between impishim systems leave "
                  "IMPISHIM_WIRE_FORMAT=auto, "
                  "which loses nothing",
                  name, to_wire ? format_name(format) : std::string_view("this system's type"),
                  element_size(type, to_wire ? format : Format::kNative), to_wire ? "" : " here")};
}

}  // namespace

/// Packs the next whole runs of the block. Returns false if a value does not fit.
bool PackCursor::pack_runs(std::byte* out, std::uint64_t runs) {
  const Block& block = place_->block();
  const std::size_t packed = block.count * element_size(block.type, format_);
  const std::byte* from = moved(base_, place_->offset());
  if (format_ == Format::kNative) {
    copy_runs(from, block.stride, out, static_cast<std::ptrdiff_t>(packed), packed, runs);
    return true;
  }
  for (std::uint64_t run = 0; run < runs; ++run, from += block.stride, out += packed) {
    if (elements_to_wire(block.type, format_, from, out, block.count) < block.count) return false;
  }
  return true;
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
    const Block& block = place_->block();
    const std::size_t size = element_size(block.type, format_);
    const std::uint64_t runs =
        std::min<std::uint64_t>((wanted - done) / (block.count * size), place_->runs_left());
    if (runs > 0) {
      const std::size_t packed = runs * block.count * size;
      if (!pack_runs(out.data() + done, runs)) return overflow(block.type, format_, true);
      place_->advance_runs(runs);
      done += packed;
      continue;
    }
    const std::uint64_t whole =
        std::min<std::uint64_t>((wanted - done) / size, place_->elements_left());
    const std::byte* from = moved(base_, place_->offset());
    if (whole == 0) {
      // The piece ends inside this element.
      if (format_ == Format::kNative) {
        std::memcpy(partial_.data(), from, size);
      } else if (elements_to_wire(block.type, format_, from, partial_.data(), 1) == 0) {
        return overflow(block.type, format_, true);
      }
      partial_size_ = size;
      partial_taken_ = 0;
      place_->advance(1);
      continue;
    }
    if (format_ == Format::kNative) {
      std::memcpy(out.data() + done, from, whole * size);
    } else if (elements_to_wire(block.type, format_, from, out.data() + done, whole) < whole) {
      return overflow(block.type, format_, true);
    }
    place_->advance(whole);
    done += whole * size;
  }
  position_ += done;
  return done;
}

/// Unpacks the next whole runs of the block. Returns false if a value does not fit.
bool UnpackCursor::unpack_runs(const std::byte* in, std::uint64_t runs) {
  const Block& block = place_->block();
  const std::size_t packed = block.count * element_size(block.type, format_);
  std::byte* to = moved(base_, place_->offset());
  if (format_ == Format::kNative) {
    copy_runs(in, static_cast<std::ptrdiff_t>(packed), to, block.stride, packed, runs);
    return true;
  }
  for (std::uint64_t run = 0; run < runs; ++run, in += packed, to += block.stride) {
    if (elements_from_wire(block.type, format_, in, to, block.count) < block.count) return false;
  }
  return true;
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
    const Block& block = place_->block();
    const std::size_t size = element_size(block.type, format_);
    const std::size_t native = element_size(block.type, Format::kNative);
    const std::byte* from = in.data() + done;
    const std::uint64_t runs =
        std::min<std::uint64_t>((fits - done) / (block.count * size), place_->runs_left());
    if (runs > 0 && partial_size_ == 0) {
      const std::uint64_t elements = runs * block.count;
      if (!unpack_runs(from, runs)) return overflow(block.type, format_, false);
      place_->advance_runs(runs);
      native_bytes_ += elements * native;
      done += elements * size;
      position_ += elements * size;
      continue;
    }
    std::byte* to = moved(base_, place_->offset());
    std::uint64_t count = std::min<std::uint64_t>((fits - done) / size, place_->elements_left());
    std::size_t consumed = count * size;
    if (partial_size_ > 0 || count == 0) {
      // An element that was cut by the end of a piece.
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
    place_->advance(count);
    native_bytes_ += count * native;
    done += consumed;
    position_ += consumed;
  }
  if (truncated)
    return Error{ErrorKind::kTruncation,
                 fmt::format("{} bytes more than the receive buffer holds", in.size() - fits)};
  return {};
}

}  // namespace impishim::wire
