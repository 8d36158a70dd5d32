// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {
namespace {

std::uint64_t run_bytes(const Block& block) {
  return block.count * element_size(block.type, Format::kNative);
}

/// Returns a sum, or a place that no file has: system calls refuse it, and no data goes astray.
std::uint64_t place_at(std::uint64_t from, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(from, bytes, &sum) || sum > INT64_MAX ? FileView::kNoPlace : sum;
}

}  // namespace

FileView::FileView(std::uint64_t displacement, std::uint64_t unit,
                   std::shared_ptr<const TypeLayout> filetype)
    : displacement_(displacement), unit_(std::max<std::uint64_t>(unit, 1)) {
  const std::uint64_t bytes = filetype->packed_size(Format::kNative);
  // Without gaps and without a lower bound, the view is the file from the displacement on.
  if (bytes > 0 && filetype->contiguous(2) && filetype->first_offset() == 0 &&
      filetype->extent() == static_cast<std::ptrdiff_t>(bytes))
    return;
  filetype_ = std::move(filetype);
  bytes_once_ = bytes;
  std::uint64_t before = 0;
  for (const Block& block : filetype_->blocks()) {
    block_first_.push_back(before);
    before += run_bytes(block) * block.repeat;
    const std::int64_t last_run = static_cast<std::int64_t>(block.repeat - 1) * block.stride;
    last_byte_ =
        std::max<std::int64_t>(last_byte_, block.offset + std::max<std::int64_t>(0, last_run) +
                                               static_cast<std::int64_t>(run_bytes(block)));
  }
  block_first_.push_back(before);
}

FileView::Place FileView::locate(std::uint64_t byte) const {
  const std::uint64_t inside = byte % bytes_once_;
  const auto after = std::ranges::upper_bound(block_first_, inside);
  const auto block = static_cast<std::size_t>(after - block_first_.begin()) - 1;
  return {byte / bytes_once_, block, inside - block_first_[block]};
}

/// Returns the bytes of the file from a place to the end of its run.
FilePiece FileView::run_at(const Place& place) const {
  const Block& block = filetype_->blocks()[place.block];
  const std::uint64_t length = run_bytes(block);
  const std::uint64_t run = place.byte / length;
  const std::uint64_t inside = place.byte % length;
  // Inside one filetype, all places have 63 bits.
  const std::int64_t in_type = block.offset + static_cast<std::int64_t>(run) * block.stride +
                               static_cast<std::int64_t>(inside);
  std::int64_t offset = 0;
  const bool beyond =
      place.repetition > INT64_MAX || displacement_ > INT64_MAX ||
      __builtin_mul_overflow(static_cast<std::int64_t>(place.repetition), filetype_->extent(),
                             &offset) ||
      __builtin_add_overflow(offset, in_type, &offset) ||
      __builtin_add_overflow(offset, static_cast<std::int64_t>(displacement_), &offset);
  return {beyond || offset < 0 ? kNoPlace : static_cast<std::uint64_t>(offset), length - inside};
}

/// Advances by bytes that do not go beyond the end of the run.
void FileView::advance(Place& place, std::uint64_t bytes) const {
  place.byte += bytes;
  if (block_first_[place.block] + place.byte < block_first_[place.block + 1]) return;
  place.byte = 0;
  if (++place.block < filetype_->blocks().size()) return;
  place.block = 0;
  ++place.repetition;
}

std::uint64_t FileView::pieces(std::uint64_t first, std::uint64_t bytes, std::size_t most,
                               std::vector<FilePiece>& pieces) const {
  if (bytes == 0 || !has_data() || most == 0) return 0;
  if (filetype_ == nullptr) {
    pieces.push_back({place_at(displacement_, first), bytes});
    return bytes;
  }
  const std::size_t before = pieces.size();
  std::uint64_t taken = 0;
  for (Place place = locate(first); taken < bytes;) {
    FilePiece piece = run_at(place);
    piece.bytes = std::min(piece.bytes, bytes - taken);
    const bool continues = pieces.size() > before && piece.offset != kNoPlace &&
                           pieces.back().offset + pieces.back().bytes == piece.offset;
    if (!continues && pieces.size() - before == most) break;
    if (continues) {
      pieces.back().bytes += piece.bytes;
    } else {
      pieces.push_back(piece);
    }
    taken += piece.bytes;
    advance(place, piece.bytes);
  }
  return taken;
}

std::uint64_t FileView::place_of(std::uint64_t byte) const {
  if (filetype_ == nullptr) return place_at(displacement_, byte);
  return has_data() ? run_at(locate(byte)).offset : displacement_;
}

/// Returns the data of one filetype that lies before `end`, which counts from its origin.
std::uint64_t FileView::data_of_repetition_before(std::int64_t end) const {
  std::uint64_t data = 0;
  for (const Block& block : filetype_->blocks()) {
    const auto length = static_cast<std::int64_t>(run_bytes(block));
    const auto repeat = static_cast<std::int64_t>(block.repeat);
    std::int64_t whole = 0;
    if (block.stride > 0 && end >= block.offset + length)
      whole = std::min(repeat, (end - block.offset - length) / block.stride + 1);
    data += static_cast<std::uint64_t>(whole * length);
    // Runs that `end` cuts: one, unless runs overlap.
    for (std::int64_t run = whole; run < repeat; ++run) {
      const std::int64_t start = block.offset + run * block.stride;
      if (block.stride > 0 && start >= end) break;
      data += static_cast<std::uint64_t>(std::clamp<std::int64_t>(end - start, 0, length));
    }
  }
  return data;
}

std::uint64_t FileView::data_before(std::uint64_t end) const {
  if (end <= displacement_ || !has_data()) return 0;
  const auto behind =
      static_cast<std::int64_t>(std::min<std::uint64_t>(end - displacement_, INT64_MAX));
  if (filetype_ == nullptr) return static_cast<std::uint64_t>(behind);
  const std::int64_t extent = filetype_->extent();
  if (extent <= 0) return data_of_repetition_before(behind);
  // All repetitions that end before `end` count whole. The others are few.
  const std::int64_t last = behind / extent;
  const std::int64_t first = std::max<std::int64_t>(0, (behind - last_byte_) / extent);
  std::uint64_t data = static_cast<std::uint64_t>(first) * bytes_once_;
  for (std::int64_t repetition = first; repetition <= last; ++repetition)
    data += data_of_repetition_before(behind - repetition * extent);
  return data;
}

}  // namespace impishim::wire
