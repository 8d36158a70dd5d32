// SPDX-License-Identifier: Apache-2.0
#include "wire/window/window_target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/data/type_map_cursor.hpp"
#include "wire/window/element_layout.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::wire {
namespace {

bool accumulates(WindowRequestKind kind) {
  return kind == WindowRequestKind::kAccumulate || kind == WindowRequestKind::kGetAccumulate;
}

/// Returns the number of elements that an accumulate or a compare-and-swap touches.
std::uint64_t elements_in(const WindowRequest& request) {
  return request.count * request.target_layout().basic_count() / parts_of(request.element);
}

/// Returns true if the operation exists, and the target's datatype consists of its elements.
bool operation_fits(const WindowRequest& request) {
  const TypeLayout& layout = request.target_layout();
  if (request.kind == WindowRequestKind::kCompareAndSwap) {
    return may_compare(request.element) && request.count == 1 && layout.basic_count() == 1 &&
           consists_of(layout, request.element);
  }
  return element_function(request.operation, request.element) != nullptr &&
         consists_of(layout, request.element);
}

/// Returns the bytes of data that a request should carry.
std::uint64_t expected_bytes(const WindowRequest& request, Format format) {
  const std::uint64_t once = request.count * request.target_layout().packed_size(format);
  switch (request.kind) {
    case WindowRequestKind::kGet:
      return 0;
    case WindowRequestKind::kCompareAndSwap:
      return 2 * once;
    case WindowRequestKind::kGetAccumulate:
      // With MPI_NO_OP the origin has no operands.
      return request.operation == ElementOperation::kNoOperation ? 0 : once;
    default:
      return once;
  }
}

/// Returns true if the data cannot lie in the bytes that it touches without parts that overlap. A
/// target's data may not overlap where it is written (MPI-4.0 12.3.1). Without this check, a short
/// request could ask for any amount of work.
bool overlaps(const WindowRequest& request) {
  const auto range = touched(request.target_layout(), request.count);
  return !range || request.count * request.target_layout().packed_size(Format::kNative) >
                       static_cast<std::uint64_t>(range->last - range->first);
}

/// Elements one after another, as operations take them.
class Elements {
 public:
  /// Unpacks `count` elements. Takes them where they lie if they travel as they are in memory.
  /// valid() is false if they are not `count`, or a value does not fit this machine's type.
  Elements(ElementKind kind, std::span<const std::byte> packed, Format format,
           std::uint64_t count) {
    const TypeLayout& layout = element_layout(kind);
    // A pair may end in a gap, which does not travel.
    if (format == Format::kNative && layout.packed_size(Format::kNative) == element_bytes(kind)) {
      valid_ = packed.size() == count * element_bytes(kind);
      first_ = packed.data();
      return;
    }
    memory_.resize(count * element_bytes(kind));
    UnpackCursor cursor({memory_.data(), count, &layout}, format);
    valid_ = cursor.total() == packed.size() && cursor.unpack(packed).ok();
    first_ = memory_.data();
  }
  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] const std::byte* first() const { return first_; }

 private:
  std::vector<std::byte> memory_;
  const std::byte* first_ = nullptr;
  bool valid_ = false;
};

/// Appends data in packed form. Returns false if a value does not fit it: only external32, which a
/// user may ask for, is narrower than this machine's types.
bool append_packed(const ConstBuffer& data, Format format, std::vector<std::byte>& packed) {
  PackCursor cursor(data, format);
  const std::size_t before = packed.size();
  packed.resize(before + cursor.total());
  return cursor.pack(std::span(packed).subspan(before)).ok();
}

}  // namespace

WindowStatus WindowTarget::check(const WindowRequest& request, Format format) const {
  const TypeLayout& layout = request.target_layout();
  std::uint64_t bytes = 0;
  // A product that overflows is no range of memory.
  if (__builtin_mul_overflow(request.count, layout.basic_count() * 16, &bytes))
    return WindowStatus::kOutOfRange;
  if ((accumulates(request.kind) || request.kind == WindowRequestKind::kCompareAndSwap) &&
      !operation_fits(request))
    return WindowStatus::kBadRequest;
  if (request.data_bytes != expected_bytes(request, format)) return WindowStatus::kBadRequest;
  if (request.kind != WindowRequestKind::kGet && overlaps(request))
    return WindowStatus::kBadRequest;
  const MutexLock lock(attaching_);
  return memory_.exposes(request.displacement, layout, request.count) ? WindowStatus::kDone
                                                                      : WindowStatus::kOutOfRange;
}

std::byte* WindowTarget::address_of(const WindowRequest& request) const {
  const MutexLock lock(attaching_);
  return memory_.address(request.displacement, request.target_layout(), request.count);
}

MutableBuffer WindowTarget::buffer_of(const WindowRequest& request) const {
  return {address_of(request), request.count, &request.target_layout(), request.layout};
}

WindowStatus WindowTarget::put(const WindowRequest& request, std::span<const std::byte> data,
                               Format format) const {
  const WindowStatus status = check(request, format);
  if (status != WindowStatus::kDone) return status;
  UnpackCursor cursor(buffer_of(request), format);
  return cursor.unpack(data).ok() ? WindowStatus::kDone : WindowStatus::kConversion;
}

WindowStatus WindowTarget::get(const WindowRequest& request, Format format,
                               std::vector<std::byte>& data) const {
  const WindowStatus status = check(request, format);
  if (status != WindowStatus::kDone) return status;
  const MutableBuffer memory = buffer_of(request);
  const bool packed = append_packed({memory.base, memory.count, memory.layout}, format, data);
  return packed ? WindowStatus::kDone : WindowStatus::kConversion;
}

WindowStatus WindowTarget::accumulate(const WindowRequest& request,
                                      std::span<const std::byte> operands, Format format,
                                      std::vector<std::byte>* before) {
  const WindowStatus status = check(request, format);
  if (status != WindowStatus::kDone) return status;
  const bool changes = request.operation != ElementOperation::kNoOperation;
  const Elements elements(request.element, operands, format, changes ? elements_in(request) : 0);
  if (!elements.valid()) return WindowStatus::kConversion;
  std::byte* const target = address_of(request);
  const MutexLock lock(accumulating_);
  if (before != nullptr &&
      !append_packed({target, request.count, &request.target_layout()}, format, *before))
    return WindowStatus::kConversion;
  if (changes && target != nullptr) combine(request, target, elements.first());
  return WindowStatus::kDone;
}

/// Applies the operation to each element of the target's data, run by run.
void WindowTarget::combine(const WindowRequest& request, std::byte* target,
                           const std::byte* operands) {
  const ElementFunction function = element_function(request.operation, request.element);
  const std::uint64_t parts = parts_of(request.element);
  const std::size_t size = element_bytes(request.element);
  TypeMapCursor cursor(request.target_layout(), request.count);
  for (std::uint64_t left = elements_in(request); left > 0;) {
    // The parts of a pair may be blocks of their own, and those of a number are one run.
    const std::uint64_t run = std::max<std::uint64_t>(1, cursor.elements_left() / parts);
    function(operands, moved(target, cursor.offset()), run);
    operands += run * size;
    left -= run;
    for (std::uint64_t rest = run * parts; rest > 0;) {
      const std::uint64_t step = std::min(rest, cursor.elements_left());
      cursor.advance(step);
      rest -= step;
    }
  }
}

WindowStatus WindowTarget::compare_and_swap(const WindowRequest& request,
                                            std::span<const std::byte> operands, Format format,
                                            std::vector<std::byte>& before) {
  const WindowStatus status = check(request, format);
  if (status != WindowStatus::kDone) return status;
  const std::size_t size = element_bytes(request.element);
  const Elements values(request.element, operands, format, 2);
  if (!values.valid()) return WindowStatus::kConversion;
  std::byte* const target = moved(address_of(request), request.target_layout().first_offset());
  const MutexLock lock(accumulating_);
  if (!append_packed({target, 1, &element_layout(request.element)}, format, before))
    return WindowStatus::kConversion;
  if (std::memcmp(target, values.first(), size) == 0)
    std::memcpy(target, values.first() + size, size);
  return WindowStatus::kDone;
}

bool WindowTarget::attach(std::byte* base, std::uint64_t size) {
  const MutexLock lock(attaching_);
  return memory_.attach(base, size);
}

bool WindowTarget::detach(std::byte* base) {
  const MutexLock lock(attaching_);
  return memory_.detach(base);
}

}  // namespace impishim::wire
