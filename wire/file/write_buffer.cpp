// SPDX-License-Identifier: Apache-2.0
#include "wire/file/write_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {

bool WriteBuffer::overlaps(const FilePiece& piece) const {
  const auto after = parts_.lower_bound(piece.offset);
  if (after != parts_.end() && after->first < piece.offset + piece.bytes) return true;
  if (after == parts_.begin()) return false;
  const auto before = std::prev(after);
  return before->first + before->second.size() > piece.offset;
}

FileStatus WriteBuffer::add_piece(const FilePiece& piece, std::span<const std::byte> data,
                                  const StoredFile& file) {
  // The later of two writes to the same bytes counts.
  FileStatus status = FileStatus::kDone;
  if (overlaps(piece) || bytes_ + piece.bytes > kCapacity || parts_.size() >= kMostParts)
    status = flush(file);
  if (status != FileStatus::kDone) return status;
  if (piece.bytes >= kLongPiece) return file.write(piece.offset, data);
  bytes_ += piece.bytes;
  const auto after = parts_.lower_bound(piece.offset);
  if (after != parts_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.size() == piece.offset) {
      before->second.insert(before->second.end(), data.begin(), data.end());
      return FileStatus::kDone;
    }
  }
  parts_.emplace_hint(after, piece.offset, std::vector<std::byte>(data.begin(), data.end()));
  return FileStatus::kDone;
}

FileStatus WriteBuffer::add(std::span<const FilePiece> pieces, std::span<const std::byte> data,
                            const StoredFile& file) {
  for (const FilePiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    const FileStatus status = add_piece(piece, data.first(piece.bytes), file);
    if (status != FileStatus::kDone) return status;
    data = data.subspan(piece.bytes);
  }
  return FileStatus::kDone;
}

FileStatus WriteBuffer::flush(const StoredFile& file) {
  FileStatus first_error = FileStatus::kDone;
  std::vector<std::span<const std::byte>> adjacent;
  for (auto part = parts_.begin(); part != parts_.end();) {
    const std::uint64_t offset = part->first;
    std::uint64_t end = offset;
    adjacent.clear();
    for (; part != parts_.end() && part->first == end; ++part) {
      adjacent.emplace_back(part->second);
      end += part->second.size();
    }
    const FileStatus status = file.write_gathered(offset, adjacent);
    if (first_error == FileStatus::kDone) first_error = status;
  }
  parts_.clear();
  bytes_ = 0;
  if (first_error != FileStatus::kDone) {
    latest_loss_ = first_error;
    ++losses_;
  }
  return first_error;
}

}  // namespace impishim::wire
