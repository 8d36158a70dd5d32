// SPDX-License-Identifier: Apache-2.0
/// Which connections of a job are encrypted.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// All systems of a job have the same value.
enum class Encryption : std::uint8_t {
  kNone = 0,          ///< no secret, or IMPISHIM_TLS=off
  kBetweenNodes = 1,  ///< those that leave a machine, and those to the rendezvous server
  kEverywhere = 2,    ///< IMPISHIM_TLS=on: also those between hosts of one machine
};

/// Returns what a user says of it in IMPISHIM_TLS and IMPISHIM_SECRET, for messages.
[[nodiscard]] constexpr const char* encryption_text(Encryption encryption) {
  switch (encryption) {
    case Encryption::kNone:
      return "off, or there is no secret";
    case Encryption::kBetweenNodes:
      return "auto";
    case Encryption::kEverywhere:
      break;
  }
  return "on";
}

}  // namespace impishim::wire
