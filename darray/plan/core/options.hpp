/// What all plans may be told, and what they say about themselves.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// The value of one element as bytes, for plans that fill.
class FillValue {
 public:
  FillValue() = default;
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, FillValue>)
      FillValue(const T& value)
      : bytes_(sizeof(T)) {  // NOLINT: a value is one
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Errors: kArgument unless there is a value of the element's size.
  void require(const Element& element) const {
    if (bytes_.size() == element.size) return;
    fail(ErrorKind::kArgument, "a value of {} bytes to fill with: an element has {}", bytes_.size(),
         element.size);
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Adds the options that must be the same on all ranks.
inline void add_options(CollectiveCall& call, const ScheduleOptions& options) {
  call.with("chunk_bytes", options.chunk_bytes)
      .with("bounded", options.bounded)
      .with("ordered", options.ordered);
}

/// The sums of a plan's statistics over all ranks of the communicator. Collective. Errors: kMpi.
[[nodiscard]] Statistics total(const Communicator& communicator, const Statistics& statistics);

/// An operator for execution: there := beta * there + alpha * arriving (COSTA's scaling).
template <class T>
CombineFunction scaled(T alpha, T beta) {
  return combine_with<T>([alpha, beta](const T& there, const T& arriving) {
    return static_cast<T>(beta * there + alpha * arriving);
  });
}

}  // namespace impishim::darray
