// SPDX-License-Identifier: Apache-2.0
/// Data that is to be written to a file, merged by its place there.
///
/// Processes whose data interleaves in a file write many short pieces, each at another time. Here
/// they are collected, so that what is adjacent in the file is written by one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {

/// Not thread-safe.
class WriteBuffer {
 public:
  /// Bytes that are collected before they are written.
  static constexpr std::size_t kCapacity = std::size_t{8} << 20U;
  /// A piece of this length is written at once: nothing is gained by merging it.
  static constexpr std::size_t kLongPiece = std::size_t{256} << 10U;

  /// Separate parts that are collected: each takes memory of its own.
  static constexpr std::size_t kMostParts = std::size_t{1} << 16U;

  /// Takes data for the pieces, in their order. Writes to `file` what cannot be merged.
  [[nodiscard]] FileStatus add(std::span<const FilePiece> pieces, std::span<const std::byte> data,
                               const StoredFile& file);
  /// Writes all that is collected. It is forgotten even if an error occurs.
  [[nodiscard]] FileStatus flush(const StoredFile& file);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Returns how many times collected data was lost, because an error occurred.
  [[nodiscard]] std::uint64_t losses() const { return losses_; }
  /// Returns the error of the last time.
  [[nodiscard]] FileStatus latest_loss() const { return latest_loss_; }

 private:
  [[nodiscard]] FileStatus add_piece(const FilePiece& piece, std::span<const std::byte> data,
                                     const StoredFile& file);
  [[nodiscard]] bool overlaps(const FilePiece& piece) const;

  std::map<std::uint64_t, std::vector<std::byte>> parts_;  ///< by offset; they do not overlap
  std::size_t bytes_ = 0;
  std::uint64_t losses_ = 0;
  FileStatus latest_loss_ = FileStatus::kDone;
};

}  // namespace impishim::wire
