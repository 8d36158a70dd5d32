// SPDX-License-Identifier: Apache-2.0
/// Handles of our own, distinct from every handle that the vendor makes, in C and in Fortran
/// (handle_bits.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "shim/handle/handle_bits.hpp"

namespace impishim::shim {

/// The own handles of one kind of objects, e.g. OwnHandle<MPI_Request>(MPI_REQUEST_NULL).
template <class Handle>
class OwnHandle {
 public:
  explicit OwnHandle(Handle null) : bits_(to_bits(null)) {}

  /// Reserves the handles. Must be called once, before the first handle is made. Errors: kSystem.
  Result<void> reserve() { return bits_.reserve(); }
  [[nodiscard]] Handle make(std::uint32_t index) { return from_bits<Handle>(bits_.bits(index)); }
  /// Returns true for handles of make(), false for the null handle and all vendor handles.
  [[nodiscard]] bool is_own(Handle handle) const {
    return bits_.index(to_bits(handle)) < kMaxOwnHandles;
  }
  [[nodiscard]] std::uint32_t index(Handle handle) const {
    return static_cast<std::uint32_t>(bits_.index(to_bits(handle)));
  }

  /// Returns the Fortran number of an own handle.
  [[nodiscard]] MPI_Fint to_fortran(Handle handle) const { return bits_.fortran(index(handle)); }
  /// Returns the own handle with this Fortran number, or nothing if it is not the number of one.
  [[nodiscard]] std::optional<Handle> from_fortran(MPI_Fint number) {
    const std::uintptr_t found = bits_.index_of_fortran(number);
    if (found >= kMaxOwnHandles) return std::nullopt;
    return make(static_cast<std::uint32_t>(found));
  }

 private:
  OwnHandleBits<Handle> bits_;
};

namespace detail {
inline OwnHandle<MPI_Request> requests{MPI_REQUEST_NULL};
inline OwnHandle<MPI_Message> messages{MPI_MESSAGE_NULL};
inline OwnHandle<MPI_Group> groups{MPI_GROUP_NULL};
}  // namespace detail

[[nodiscard]] inline OwnHandle<MPI_Request>& own_requests() { return detail::requests; }
[[nodiscard]] inline OwnHandle<MPI_Message>& own_messages() { return detail::messages; }
[[nodiscard]] inline OwnHandle<MPI_Group>& own_groups() { return detail::groups; }

/// Reserves the own handles of all kinds. Must be called once, before the first handle of any kind
/// is made. Errors: kSystem.
inline Result<void> reserve_own_handles() {
  if (auto reserved = own_requests().reserve(); !reserved) return reserved;
  if (auto reserved = own_messages().reserve(); !reserved) return reserved;
  return own_groups().reserve();
}

[[nodiscard]] inline bool is_own_request(MPI_Request request) {
  return own_requests().is_own(request);
}
/// Returns true if any of the requests is an own one. The loop counts them and has no early exit,
/// so that it becomes vector instructions, which take half the instructions.
[[nodiscard]] inline bool any_own_request(int count, const MPI_Request* requests) {
  int own = 0;
  for (int i = 0; i < count; ++i) own += is_own_request(requests[i]) ? 1 : 0;
  return own != 0;
}
[[nodiscard]] inline bool is_own_message(MPI_Message message) {
  return own_messages().is_own(message);
}
[[nodiscard]] inline bool is_own_group(MPI_Group group) { return own_groups().is_own(group); }

}  // namespace impishim::shim
