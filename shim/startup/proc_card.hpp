/// What the process that speaks with the rendezvous server has to know of each process of its
/// system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/packet/packet.hpp"

namespace impishim::shim {

/// One process, as its system gathers it.
struct Card {
  wire::HostId address{};
  std::uint16_t port = 0;
  std::int64_t pid = 0;
  std::string node;                  ///< what the operating system calls this machine
  std::vector<std::string> fabrics;  ///< of a process that listens: usable_providers()

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Decodes what encode() made in a process of this system.
  [[nodiscard]] static Card decode(std::span<const std::byte> bytes);
};

}  // namespace impishim::shim
