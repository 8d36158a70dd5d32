// SPDX-License-Identifier: Apache-2.0
/// The part of a file that a process sees: a displacement, and a datatype repeated from there
/// (MPI-4.0 14.3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/data/type_layout.hpp"

namespace impishim::wire {

/// Consecutive bytes of a file.
struct FilePiece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const FilePiece&, const FilePiece&) = default;
};

/// Immutable. Offsets inside a view count its data, without the gaps of its datatype.
class FileView {
 public:
  /// Stands for the places of data that would lie beyond 63 bits, or before the file. System calls
  /// and servers refuse it.
  static constexpr std::uint64_t kNoPlace = std::uint64_t{1} << 63U;

  /// Sees the bytes of a file one after another, from `displacement`, in units of `unit` bytes
  /// (the elementary type's size).
  explicit FileView(std::uint64_t displacement = 0, std::uint64_t unit = 1)
      : displacement_(displacement), unit_(std::max<std::uint64_t>(unit, 1)) {}
  /// Sees the data of `filetype`, which is repeated from `displacement` on.
  FileView(std::uint64_t displacement, std::uint64_t unit,
           std::shared_ptr<const TypeLayout> filetype);

  /// Returns the size of an elementary type in bytes, at least 1.
  [[nodiscard]] std::uint64_t unit() const { return unit_; }
  /// Returns true if the view shows some data.
  [[nodiscard]] bool has_data() const { return filetype_ == nullptr || bytes_once_ > 0; }
  /// Appends the pieces of the file that hold `bytes` bytes of the view's data, from byte `first`
  /// of that data, in their order. Stops after `most` pieces. Returns the bytes that they hold.
  std::uint64_t pieces(std::uint64_t first, std::uint64_t bytes, std::size_t most,
                       std::vector<FilePiece>& pieces) const;
  /// Returns the place in the file of a byte of the view's data.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t byte) const;
  /// Returns how many bytes of the view's data lie before `end` in the file.
  [[nodiscard]] std::uint64_t data_before(std::uint64_t end) const;

 private:
  /// A place in the filetype's data: a block, and a byte of the block's data.
  struct Place {
    std::uint64_t repetition = 0;
    std::size_t block = 0;
    std::uint64_t byte = 0;
  };
  [[nodiscard]] Place locate(std::uint64_t byte) const;
  [[nodiscard]] FilePiece run_at(const Place& place) const;
  void advance(Place& place, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t data_of_repetition_before(std::int64_t end) const;

  std::uint64_t displacement_;
  std::uint64_t unit_;
  /// Null if the data has no gaps.
  std::shared_ptr<const TypeLayout> filetype_;
  std::uint64_t bytes_once_ = 0;            ///< data of one filetype
  std::int64_t last_byte_ = 0;              ///< where one filetype's data ends, from its origin
  std::vector<std::uint64_t> block_first_;  ///< data before each block; one more for the end
};

}  // namespace impishim::wire
