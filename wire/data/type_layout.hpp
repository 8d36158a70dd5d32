// SPDX-License-Identifier: Apache-2.0
/// A datatype flattened to runs of basic elements: the only form of an MPI datatype inside wire/.
///
/// shim/ builds one for each datatype (from MPI_Type_get_envelope and MPI_Type_get_contents); tests
/// build their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/data/basic_type.hpp"

namespace impishim::wire {

/// `repeat` runs of `count` consecutive elements each. Run k starts `offset + k * stride` bytes
/// from the element's origin.
struct Block {
  std::ptrdiff_t offset = 0;
  BasicType type = BasicType::kByte;
  std::uint64_t count = 0;
  std::uint64_t repeat = 1;
  std::ptrdiff_t stride = 0;
};

/// One element of a datatype: blocks in type-map order, and the distance to the next element.
/// Immutable.
class TypeLayout {
 public:
  /// `blocks` are in the order of the type map; neighbouring blocks that continue each other are
  /// merged. `extent` is the distance in bytes from one element of the datatype to the next; it may
  /// be negative or zero.
  TypeLayout(const std::vector<Block>& blocks, std::ptrdiff_t extent);

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] std::ptrdiff_t extent() const { return extent_; }
  /// Returns the size in bytes of one element, packed in `format`.
  [[nodiscard]] std::uint64_t packed_size(Format format) const {
    return packed_size_[static_cast<std::size_t>(format)];
  }
  /// Returns the number of basic elements (MPI_Get_elements) in one element of the datatype.
  [[nodiscard]] std::uint64_t basic_count() const { return basic_count_; }
  /// Returns true if the native packed form of `count` elements is the memory itself, starting at
  /// first_offset().
  [[nodiscard]] bool contiguous(std::uint64_t count) const {
    return contiguous_ || (gap_free_ && count <= 1);
  }
  /// Returns the distance in bytes from an element's origin to its first basic element.
  [[nodiscard]] std::ptrdiff_t first_offset() const {
    return blocks_.empty() ? 0 : blocks_.front().offset;
  }

  /// Returns a layout with the same elements one after another, as packing in native form produces
  /// them.
  [[nodiscard]] std::shared_ptr<const TypeLayout> without_gaps() const;

  /// Returns the layout of one element of a basic type. It lives forever.
  [[nodiscard]] static const TypeLayout& basic(BasicType type);

 private:
  std::vector<Block> blocks_;
  std::ptrdiff_t extent_;
  std::uint64_t packed_size_[3] = {0, 0, 0};
  std::uint64_t basic_count_ = 0;
  bool gap_free_ = false;    ///< one element is one run of memory
  bool contiguous_ = false;  ///< any number of elements is one run of memory
};

/// Returns `base` moved by `bytes`. The base may be null: the origin of absolute addresses
/// (MPI_BOTTOM), or a buffer that this process does not have. C++ has no arithmetic on such
/// pointers.
template <class Byte>
[[nodiscard]] Byte* moved(Byte* base, std::ptrdiff_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(base) + bytes);
}

/// `count` elements of `layout` at `base`, to send. `base` may be null if the data is empty.
/// `keep_alive` is set if the layout may not live as long as the job.
struct ConstBuffer {
  const std::byte* base = nullptr;
  std::uint64_t count = 0;
  const TypeLayout* layout = nullptr;
  std::shared_ptr<const TypeLayout> keep_alive = nullptr;

  [[nodiscard]] std::uint64_t packed_size(Format format) const {
    return count * layout->packed_size(format);
  }
};

/// `count` elements of `layout` at `base`, to receive into.
struct MutableBuffer {
  std::byte* base = nullptr;
  std::uint64_t count = 0;
  const TypeLayout* layout = nullptr;
  std::shared_ptr<const TypeLayout> keep_alive = nullptr;

  [[nodiscard]] std::uint64_t packed_size(Format format) const {
    return count * layout->packed_size(format);
  }
};

}  // namespace impishim::wire
