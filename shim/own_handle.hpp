/// Handles of our own, distinct from every handle that the vendor makes (handle_bits.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/handle_bits.hpp"

namespace impishim::shim {

/// Most objects of a kind that may be alive at once.
inline constexpr std::uint32_t kMaxOwnHandles = 1U << 24U;

/// `Handle` and its null value, e.g. OwnHandle<MPI_Request>(MPI_REQUEST_NULL).
template <class Handle>
class OwnHandle {
 public:
  explicit OwnHandle(Handle null) : base_(bits_without_objects(null)) {}

  [[nodiscard]] Handle make(std::uint32_t index) const { return from_bits<Handle>(base_ + index + 1); }
  /// True for handles of make(), false for the null handle and all of the vendor's.
  [[nodiscard]] bool is_own(Handle handle) const { return to_bits(handle) - base_ - 1 < kMaxOwnHandles; }
  [[nodiscard]] std::uint32_t index(Handle handle) const { return static_cast<std::uint32_t>(to_bits(handle) - base_ - 1); }

 private:
  std::uintptr_t base_;
};

[[nodiscard]] inline OwnHandle<MPI_Request> own_requests() { return OwnHandle<MPI_Request>(MPI_REQUEST_NULL); }
[[nodiscard]] inline OwnHandle<MPI_Message> own_messages() { return OwnHandle<MPI_Message>(MPI_MESSAGE_NULL); }

[[nodiscard]] inline bool is_own_request(MPI_Request request) { return own_requests().is_own(request); }
[[nodiscard]] inline bool is_own_message(MPI_Message message) { return own_messages().is_own(message); }

}  // namespace impishim::shim
