/// Handles of our own, distinct from every handle that the vendor makes: the one place that knows ints from pointers.
///
/// Where handles are ints (MPICH and its ABI family), a handle of ours is the null handle's value plus an index: the null
/// handle's kind bits say "invalid", and the library never makes another handle of that kind. Where they are pointers (Open
/// MPI), it is an address in a reserved range that no object can lie in.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace impishim::shim {

/// Most objects of a kind that may be alive at once.
inline constexpr std::uint32_t kMaxOwnHandles = 1U << 24U;

namespace detail {

template <class Handle>
std::uintptr_t bits_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

template <class Handle>
Handle handle_of(std::uintptr_t bits) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(bits);
  } else {
    return static_cast<Handle>(bits);
  }
}

/// A pointer this large is not canonical on any 64-bit machine: no object is there.
inline constexpr std::uintptr_t kNoObjectHere = static_cast<std::uintptr_t>(0x494d'0000'0000'0000ULL);

}  // namespace detail

/// `Handle` and its null value, e.g. OwnHandle<MPI_Request>(MPI_REQUEST_NULL).
template <class Handle>
class OwnHandle {
 public:
  explicit OwnHandle(Handle null) : base_(std::is_pointer_v<Handle> ? detail::kNoObjectHere : detail::bits_of(null)) {}

  [[nodiscard]] Handle make(std::uint32_t index) const { return detail::handle_of<Handle>(base_ + index + 1); }
  /// True for handles of make(), false for the null handle and all of the vendor's.
  [[nodiscard]] bool is_own(Handle handle) const { return detail::bits_of(handle) - base_ - 1 < kMaxOwnHandles; }
  [[nodiscard]] std::uint32_t index(Handle handle) const {
    return static_cast<std::uint32_t>(detail::bits_of(handle) - base_ - 1);
  }

 private:
  std::uintptr_t base_;
};

[[nodiscard]] inline OwnHandle<MPI_Request> own_requests() { return OwnHandle<MPI_Request>(MPI_REQUEST_NULL); }
[[nodiscard]] inline OwnHandle<MPI_Message> own_messages() { return OwnHandle<MPI_Message>(MPI_MESSAGE_NULL); }

[[nodiscard]] inline bool is_own_request(MPI_Request request) { return own_requests().is_own(request); }
[[nodiscard]] inline bool is_own_message(MPI_Message message) { return own_messages().is_own(message); }

}  // namespace impishim::shim
