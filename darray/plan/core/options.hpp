// SPDX-License-Identifier: Apache-2.0
/// Options of all plans, and their statistics.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// The value of one element as bytes, for plans that fill elements.
class FillValue {
 public:
  FillValue() = default;
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, FillValue>)
      FillValue(const T& value)
      : bytes_(sizeof(T)) {  // NOLINT: implicit, because a value is a FillValue
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Throws Error(kArgument) if there is no value of the element's size.
  void require(const Element& element) const {
    if (bytes_.size() == element.size) return;
    fail(ErrorKind::kArgument, "a value of {} bytes to fill with: an element has {}", bytes_.size(),
         element.size);
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Adds the options that must be the same on all ranks to the description of the call.
inline void add_options(CollectiveCall& call, const ScheduleOptions& options) {
  call.with("chunk_bytes", options.chunk_bytes)
      .with("bounded", options.bounded)
      .with("ordered", options.ordered);
}

/// Returns the sums of a plan's statistics over all ranks of the communicator. Collective. Throws
/// Error(kMpi) if MPI fails.
[[nodiscard]] Statistics total(const Communicator& communicator, const Statistics& statistics);

/// Returns a function for executions: there := beta * there + alpha * arriving (COSTA's scaling).
template <class T>
CombineFunction scaled(T alpha, T beta) {
  return combine_with<T>([alpha, beta](const T& there, const T& arriving) {
    return static_cast<T>(beta * there + alpha * arriving);
  });
}

}  // namespace impishim::darray
