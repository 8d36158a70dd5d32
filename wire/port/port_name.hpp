// SPDX-License-Identifier: Apache-2.0
/// The name of a port (MPI_Open_port): an address, and a secret that proves the right to connect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Where a port listens, and the secret of its name. A process that knows the name may connect:
/// treat it as a password.
struct PortName {
  HostId address{};
  std::uint16_t port = 0;
  JobSecret secret;

  /// Returns "impishim://192.0.2.7:4711/" and the secret as 64 hexadecimal digits. It is shorter
  /// than MPI_MAX_PORT_NAME of every MPI library.
  [[nodiscard]] std::string text() const;
  /// Parses such a text. Fails with kConfiguration if it is none; the error does not repeat it.
  [[nodiscard]] static Result<PortName> parse(std::string_view text);
};

/// Returns true if `text` begins as the name of a port of this library does.
[[nodiscard]] bool is_port_name(std::string_view text);

}  // namespace impishim::wire
