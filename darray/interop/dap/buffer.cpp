// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>

namespace impishim::darray::dap {

namespace {
constexpr char kOwnOrder = std::endian::native == std::endian::little ? '<' : '>';
}

namespace detail {
std::string typestr(char kind, std::size_t size) {
  return fmt::format("{}{}{}", size == 1 || kind == 'V' ? '|' : kOwnOrder, kind, size);
}
}  // namespace detail

std::vector<Index> row_major_strides(const std::vector<Index>& shape, Index item_size) {
  std::vector<Index> strides(shape.size());
  // A buffer without elements may have any strides.
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  Index stride = item_size;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (!is_empty && __builtin_mul_overflow(stride, shape[axis], &stride))
      fail(ErrorKind::kShape, "axis {}: a buffer beyond 2^63 - 1 bytes", axis);
  }
  return strides;
}

Index item_size_of(std::string_view typestr) {
  Index size = 0;
  bool valid = typestr.size() >= 3 &&
               std::string_view("<>|=").find(typestr[0]) != std::string_view::npos &&
               std::string_view("biufcV").find(typestr[1]) != std::string_view::npos;
  if (valid) {
    const char* end = typestr.data() + typestr.size();
    const auto [stopped, error] = std::from_chars(typestr.data() + 2, end, size);
    valid = error == std::errc() && stopped == end && size > 0;
  }
  if (!valid) fail(ErrorKind::kType, "'{}' names no element type of fixed size", typestr);
  const bool swapped = (typestr[0] == '<' || typestr[0] == '>') && typestr[0] != kOwnOrder;
  if (swapped && size > 1 && typestr[1] != 'V')
    fail(ErrorKind::kType, "'{}' has the other byte order: copy the array to this machine's first",
         typestr);
  return size;
}

void check_elements(const Buffer& buffer, std::string_view typestr, Index item_size,
                    std::size_t alignment, bool writes) {
  const bool same_kind = buffer.typestr.size() > 1 && buffer.typestr[1] == typestr[1];
  if (item_size_of(buffer.typestr) != item_size || buffer.item_size != item_size || !same_kind)
    fail(ErrorKind::kType, "the buffer has elements '{}', expected '{}'", buffer.typestr, typestr);
  if (writes && buffer.read_only)
    fail(ErrorKind::kArgument, "the buffer is read-only: ask for a view of const elements");
  if (buffer.shape.size() != buffer.strides.size())
    fail(ErrorKind::kShape, "a buffer of {} extents and {} strides", buffer.shape.size(),
         buffer.strides.size());
  bool is_empty = false;
  for (std::size_t axis = 0; axis < buffer.shape.size(); ++axis) {
    is_empty = is_empty || buffer.shape[axis] == 0;
    if (buffer.shape[axis] < 0)
      fail(ErrorKind::kShape, "axis {}: extent {} is negative", axis, buffer.shape[axis]);
    if (buffer.strides[axis] % item_size != 0)
      fail(ErrorKind::kShape, "axis {}: the stride of {} bytes is no multiple of the element's {}",
           axis, buffer.strides[axis], item_size);
  }
  if (is_empty) return;
  if (buffer.data == nullptr) fail(ErrorKind::kArgument, "a buffer with elements but no address");
  if (reinterpret_cast<std::uintptr_t>(buffer.data) % alignment != 0)
    fail(ErrorKind::kArgument, "the buffer is not aligned to {} bytes, as '{}' must be", alignment,
         typestr);
}

}  // namespace impishim::darray::dap
