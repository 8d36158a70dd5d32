// SPDX-License-Identifier: Apache-2.0
/// The data of a collective operation: typed buffers, reductions, and blocks packed without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "wire/base/result.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {

using wire::moved;

/// A datatype as this process describes it.
struct ElementType {
  const wire::TypeLayout* layout = nullptr;
  std::shared_ptr<const wire::TypeLayout>
      keep_alive;  ///< set if `layout` may not live as long as the job
  std::ptrdiff_t true_lower_bound =
      0;  ///< bytes from an element's origin to its first byte (MPI-3.1 4.1.8)
  std::ptrdiff_t true_extent = 0;  ///< bytes from the first to past the last
  std::uintptr_t native_handle =
      0;  ///< the type's name in the LocalGroup: the bits of an MPI_Datatype in shim/
};

/// `count` elements of `type` at `base`, for reading.
struct ConstData {
  const std::byte* base = nullptr;
  std::uint64_t count = 0;
  const ElementType* type = nullptr;

  [[nodiscard]] wire::ConstBuffer buffer() const {
    return {base, count, type->layout, type->keep_alive};
  }
  [[nodiscard]] std::uint64_t native_bytes() const {
    return count * type->layout->packed_size(wire::Format::kNative);
  }
  /// Returns the size in external32. It is the same on all systems of the job, so forms are chosen
  /// from it.
  [[nodiscard]] std::uint64_t external_bytes() const {
    return count * type->layout->packed_size(wire::Format::kExternal32);
  }
  /// Returns true if the packed form is the memory itself.
  [[nodiscard]] bool straight() const { return type->layout->contiguous(count); }
  [[nodiscard]] const std::byte* first_byte() const {
    return moved(base, type->layout->first_offset());
  }
  /// Returns the elements [begin, begin + length).
  [[nodiscard]] ConstData elements(std::uint64_t begin, std::uint64_t length) const {
    return {moved(base, static_cast<std::ptrdiff_t>(begin) * type->layout->extent()), length, type};
  }
};

/// `count` elements of `type` at `base`, for writing.
struct Data {
  std::byte* base = nullptr;
  std::uint64_t count = 0;
  const ElementType* type = nullptr;

  operator ConstData() const {
    return {base, count, type};
  }  // NOLINT(google-explicit-constructor): as T* to const T*
  [[nodiscard]] wire::MutableBuffer buffer() const {
    return {base, count, type->layout, type->keep_alive};
  }
  /// Returns the elements [begin, begin + length).
  [[nodiscard]] Data elements(std::uint64_t begin, std::uint64_t length) const {
    return {moved(base, static_cast<std::ptrdiff_t>(begin) * type->layout->extent()), length, type};
  }
  /// Returns the block of `count` elements that belongs to `rank`, in a buffer with one such block
  /// for each rank.
  [[nodiscard]] Data block(std::int32_t rank) const {
    const auto number = static_cast<std::ptrdiff_t>(rank) * static_cast<std::ptrdiff_t>(count);
    return {moved(base, number * type->layout->extent()), count, type};
  }
};

/// The operation of a reduction, for one datatype.
class Reduction {
 public:
  Reduction(bool commutative, std::uintptr_t native_handle)
      : commutative_(commutative), native_handle_(native_handle) {}
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  /// Computes inout[i] = in[i] op inout[i] (MPI-3.1 5.9.5).
  virtual void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const = 0;
  [[nodiscard]] bool commutative() const { return commutative_; }
  /// Returns the operation's name in the LocalGroup: the bits of an MPI_Op in shim/.
  [[nodiscard]] std::uintptr_t native_handle() const { return native_handle_; }

 protected:
  ~Reduction() = default;

 private:
  bool commutative_;
  std::uintptr_t native_handle_;
};

/// Memory for `count` elements of any type, with any bounds. Its contents are undefined.
class TypedRoom {
 public:
  TypedRoom() = default;
  TypedRoom(const ElementType& type, std::uint64_t count);
  [[nodiscard]] const Data& data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Data data_;
};

/// A buffer of uninitialized bytes.
class Bytes {
 public:
  explicit Bytes(std::uint64_t size)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}
  [[nodiscard]] std::span<std::byte> all() const { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t size_;
};

/// The type of data in this machine's representation without gaps, as local gathers deliver it. The
/// bytes can be sent to a system with another representation, and received from one.
class PackedType {
 public:
  /// Describes blocks with the signature of `data`.
  explicit PackedType(const ConstData& data);
  /// Returns a buffer of `blocks` packed blocks at `bytes`.
  [[nodiscard]] wire::ConstBuffer buffer(std::span<const std::byte> bytes,
                                         std::uint64_t blocks) const;
  [[nodiscard]] wire::MutableBuffer room(std::span<std::byte> bytes, std::uint64_t blocks) const;

 private:
  std::uint64_t count_;
  const wire::TypeLayout* layout_;
  std::shared_ptr<const wire::TypeLayout> keep_alive_;
};

/// The packed native form of data: the user's memory if it has no gaps, otherwise a copy.
class PackedBlock {
 public:
  explicit PackedBlock(const ConstData& data);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::optional<Bytes> copy_;
  std::span<const std::byte> bytes_;
};

/// Writes a packed native block to `to`.
void unpack(std::span<const std::byte> block, const Data& to);
/// Copies data between two types of the same signature. Does nothing if both are the same memory
/// and type.
void copy(const ConstData& from, const Data& to);

}  // namespace impishim::collectives
