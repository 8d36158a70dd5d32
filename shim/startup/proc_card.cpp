#include "shim/startup/proc_card.hpp"

#include <algorithm>

#include "wire/base/bytes.hpp"

namespace impishim::shim {

std::vector<std::byte> Card::encode() const {
  ByteWriter out;
  out.put_bytes(address);
  out.put(port);
  out.put(pid);
  out.put(static_cast<std::uint16_t>(node.size()));
  out.put_bytes(std::as_bytes(std::span(node)));
  for (const std::string& name : fabrics) {
    out.put(static_cast<std::uint16_t>(name.size()));
    out.put_bytes(std::as_bytes(std::span(name)));
  }
  return out.take();
}

Card Card::decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Card card;
  const auto address_bytes = *in.get_bytes(card.address.size());
  std::copy(address_bytes.begin(), address_bytes.end(), card.address.begin());
  card.port = *in.get<std::uint16_t>();
  card.pid = *in.get<std::int64_t>();
  for (const std::byte each : *in.get_bytes(*in.get<std::uint16_t>()))
    card.node += std::to_integer<char>(each);
  while (const auto size = in.get<std::uint16_t>()) {
    std::string& name = card.fabrics.emplace_back();
    for (const std::byte each : *in.get_bytes(*size)) name += std::to_integer<char>(each);
  }
  return card;
}

}  // namespace impishim::shim
