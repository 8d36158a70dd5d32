/// A datatype flattened to runs of basic elements: what the wire knows of an MPI datatype.
///
/// Built once for each datatype by shim/ (from MPI_Type_get_envelope and MPI_Type_get_contents), or
/// by tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/data/basic_type.hpp"

namespace impishim::wire {

/// `repeat` runs of `count` consecutive elements; run k starts `offset + k * stride` bytes from the
/// element's origin.
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
  /// `blocks` in the order of the type map; neighbouring ones that continue each other are merged.
  /// `extent`: bytes from one element of the datatype to the next, may be negative or zero.
  TypeLayout(const std::vector<Block>& blocks, std::ptrdiff_t extent);

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] std::ptrdiff_t extent() const { return extent_; }
  /// Bytes of one element, packed in `format`.
  [[nodiscard]] std::uint64_t packed_size(Format format) const {
    return packed_size_[static_cast<std::size_t>(format)];
  }
  /// Basic elements (MPI_Get_elements) in one element of the datatype.
  [[nodiscard]] std::uint64_t basic_count() const { return basic_count_; }
  /// True if the native packed form of `count` elements is the memory itself, from first_offset()
  /// on.
  [[nodiscard]] bool contiguous(std::uint64_t count) const {
    return contiguous_ || (gap_free_ && count <= 1);
  }
  /// Distance in bytes from an element's origin to its first basic element.
  [[nodiscard]] std::ptrdiff_t first_offset() const {
    return blocks_.empty() ? 0 : blocks_.front().offset;
  }

  /// The same elements one behind the other, as packing in native form leaves them.
  [[nodiscard]] std::shared_ptr<const TypeLayout> without_gaps() const;

  /// The layout of one element of a basic type; lives forever.
  [[nodiscard]] static const TypeLayout& basic(BasicType type);

 private:
  std::vector<Block> blocks_;
  std::ptrdiff_t extent_;
  std::uint64_t packed_size_[3] = {0, 0, 0};
  std::uint64_t basic_count_ = 0;
  bool gap_free_ = false;    ///< one element is one run of memory
  bool contiguous_ = false;  ///< so is any number of them
};

/// `count` elements of `layout` at `base`: data to send. `base` may be null if the data is empty.
/// `keep_alive` is set where the layout is not one that lives as long as the job.
struct ConstBuffer {
  const std::byte* base = nullptr;
  std::uint64_t count = 0;
  const TypeLayout* layout = nullptr;
  std::shared_ptr<const TypeLayout> keep_alive = nullptr;

  [[nodiscard]] std::uint64_t packed_size(Format format) const {
    return count * layout->packed_size(format);
  }
};

/// `count` elements of `layout` at `base`: room to receive into.
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
