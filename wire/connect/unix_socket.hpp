/// Sockets of this machine in the abstract namespace, whose names vanish with them, and descriptors
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

/// The network namespace of this process, outside of which such names do not hold: device and
/// inode. Zeros: the kernel does not tell.
[[nodiscard]] std::array<std::uint64_t, 2> network_namespace();

/// Characters of random_token().
inline constexpr std::size_t kTokenSize = 32;
/// A token for the name of a socket. All users see the names of sockets that exist: only one that
/// is random and tells nothing of others cannot be taken by another user first. kSystem: no random
/// bytes.
[[nodiscard]] Result<std::string> random_token();
/// A listening socket named `name`. `type`: SOCK_STREAM or SOCK_SEQPACKET, with flags. kSystem: the
/// name is taken, or no sockets.
[[nodiscard]] Result<Descriptor> listen_unix(const std::string& name, int type);
/// Connects to it; blocks at most `timeout_ms` while its queue of connections is full. `type`
/// without SOCK_NONBLOCK.
[[nodiscard]] Result<Descriptor> connect_unix(const std::string& name, int type, int timeout_ms);
/// The process at the other end of `socket` belongs to this one's user.
[[nodiscard]] bool same_user(int socket);

/// Sends `bytes`, as a whole, and with them `descriptor`, which stays open here.
[[nodiscard]] Result<void> send_with_descriptor(int socket, std::span<const std::byte> bytes,
                                                const Descriptor& descriptor);
/// Receives what has come, without waiting: how many of `bytes` were filled (0: the peer has
/// closed), and the descriptor that came along, invalid if none did. At most one is taken; the
/// kernel drops others.
[[nodiscard]] Result<std::pair<std::size_t, Descriptor>> receive_with_descriptor(
    int socket, std::span<std::byte> bytes);

}  // namespace impishim::wire
