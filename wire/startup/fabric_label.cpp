// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/fabric_label.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

std::vector<std::string> names_in(std::span<const std::byte> text) {
  std::vector<std::string> names;
  std::string name;
  for (const std::byte each : text) {
    if (each == std::byte{','})
      names.push_back(std::exchange(name, {}));
    else
      name += std::to_integer<char>(each);
  }
  if (!name.empty()) names.push_back(name);
  return names;
}

std::string list_of(const Client& client) {
  return client.fabrics.empty() ? "none"
                                : printable(fmt::format("{}", fmt::join(client.fabrics, ",")));
}

/// Reads the lists, which are in the order of the clients whose bit is set.
Result<void> mark(const LabelData& data, std::vector<Client>& clients) {
  ByteReader reader(data.data);
  for (std::size_t c = 0; c < clients.size(); ++c) {
    if ((data.client_mask >> c & 1U) == 0) continue;
    const auto required = reader.get<std::uint8_t>();
    const auto length = reader.get<std::uint16_t>();
    const auto text = length ? reader.get_bytes(*length) : std::nullopt;
    if (!text || !clients[c].impishim) {
      return Error{ErrorKind::kProtocol,
                   fmt::format("startup, providers of libfabric: no list from system {}", c)};
    }
    clients[c].fabric_required = *required != 0;
    clients[c].fabrics = names_in(*text);
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode_fabrics(const JoinOptions& options) {
  const std::string names = fmt::format("{}", fmt::join(options.fabrics, ","));
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(options.fabric_required));
  out.put(static_cast<std::uint16_t>(names.size()));
  out.put_bytes(std::as_bytes(std::span(names)));
  return out.take();
}

Result<void> settle_fabrics(const LabelData* data, std::vector<Client>& clients) {
  if (data == nullptr) return {};
  if (auto marked = mark(*data, clients); !marked) return marked;
  for (std::size_t a = 0; a < clients.size(); ++a) {
    for (std::size_t b = a + 1; b < clients.size(); ++b) {
      if (!clients[a].impishim || !clients[b].impishim) continue;
      if (!clients[a].fabric_required && !clients[b].fabric_required) continue;
      if (!common_fabric(clients[a], clients[b]).empty()) continue;
      return Error{ErrorKind::kConfiguration,
                   fmt::format("systems {} and {} have no provider of libfabric in common (one has "
                               "{}, the other {}): set "
                               "IMPISHIM_FABRIC alike in both systems",
                               a, b, list_of(clients[a]), list_of(clients[b]))};
    }
  }
  return {};
}

}  // namespace impishim::wire
