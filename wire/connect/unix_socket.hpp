// SPDX-License-Identifier: Apache-2.0
/// Unix sockets in the abstract namespace, whose names vanish with them, and descriptors that are
/// sent through them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// Returns device and inode of the network namespace of this process. Names of sockets are valid
/// only inside it. Returns zeros if the kernel does not provide them.
[[nodiscard]] std::array<std::uint64_t, 2> network_namespace();
/// Identifies the running kernel among the machines of a job: a hash of its boot id and node name.
[[nodiscard]] std::uint64_t running_kernel();

/// Number of characters of random_token().
inline constexpr std::size_t kTokenSize = 32;
/// Returns a token for the name of a socket. All users can see the names of existing sockets. Only
/// a random name that does not reveal other names cannot be taken in advance by another user. Fails
/// with kSystem if there are no random bytes.
[[nodiscard]] Result<std::string> random_token();
/// Returns a listening socket named `name`. `type` is SOCK_STREAM or SOCK_SEQPACKET, with flags.
/// Fails with kSystem if the name is taken or no socket can be created.
[[nodiscard]] Result<Descriptor> listen_unix(const std::string& name, int type);
/// Connects to the socket named `name`. Blocks for at most `timeout_ms` while its queue of
/// connections is full. `type` must not contain SOCK_NONBLOCK.
[[nodiscard]] Result<Descriptor> connect_unix(const std::string& name, int type, int timeout_ms);
/// Returns true if the process at the other end of `socket` belongs to the user of this process.
[[nodiscard]] bool same_user(int socket);

/// Sends `bytes` as a whole, together with `descriptor`, which stays open in this process.
[[nodiscard]] Result<void> send_with_descriptor(int socket, std::span<const std::byte> bytes,
                                                const Descriptor& descriptor);
/// Receives what has arrived, without blocking. Returns the number of filled bytes (0 if the peer
/// has closed), and the descriptor that arrived with them, which is invalid if there was none. At
/// most one descriptor is received; the kernel drops others.
[[nodiscard]] Result<std::pair<std::size_t, Descriptor>> receive_with_descriptor(
    int socket, std::span<std::byte> bytes);

}  // namespace impishim::wire
