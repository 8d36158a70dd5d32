// SPDX-License-Identifier: Apache-2.0
#include "wire/port/port_name.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"

namespace impishim::wire {
namespace {

constexpr std::string_view kScheme = "impishim://";

Error not_a_name() {
  return {ErrorKind::kConfiguration,
          "it is not the name of a port that MPI_Open_port of this library has returned"};
}

}  // namespace

bool is_port_name(std::string_view text) { return text.starts_with(kScheme); }

std::string PortName::text() const {
  std::string made = fmt::format("{}{}/", kScheme, address_text(address, port));
  for (const std::byte each : secret.bytes()) made += fmt::format("{:02x}", each);
  return made;
}

Result<PortName> PortName::parse(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (!is_port_name(text) || slash < kScheme.size() ||
      text.size() - slash - 1 != 2 * JobSecret::kSize)
    return not_a_name();
  const auto place =
      split_address_and_port(std::string(text.substr(kScheme.size(), slash - kScheme.size())));
  if (!place) return not_a_name();
  const auto address = parse_address(place->first);
  if (!address || place->second == 0) return not_a_name();
  std::array<std::byte, JobSecret::kSize> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char* const first = text.data() + slash + 1 + 2 * i;
    std::uint8_t value = 0;
    const auto parsed = std::from_chars(first, first + 2, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != first + 2) return not_a_name();
    secret[i] = std::byte{value};
  }
  PortName name{*address, place->second, JobSecret(std::span<const std::byte, 32>(secret))};
  wipe(secret);
  return name;
}

}  // namespace impishim::wire
