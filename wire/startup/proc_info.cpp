// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/proc_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_plan.hpp"

namespace impishim::wire {
namespace {

void put_text(ByteWriter& out, const std::string& text) {
  out.put(static_cast<std::uint16_t>(text.size()));
  out.put_bytes(std::as_bytes(std::span(text)));
}

std::optional<std::string> get_text(ByteReader& in) {
  const auto size = in.get<std::uint16_t>();
  if (!size) return std::nullopt;
  const auto bytes = in.get_bytes(*size);
  if (!bytes) return std::nullopt;
  std::string text;
  for (const std::byte each : *bytes) text += std::to_integer<char>(each);
  return text;
}

Error cut_off() {
  return {ErrorKind::kProtocol, "the description of a process of this system is cut off"};
}

}  // namespace

std::vector<std::byte> ProcInfo::encode() const {
  ByteWriter out;
  out.put_bytes(address);
  out.put_bytes(inner_address);
  out.put(static_cast<std::uint8_t>(more_addresses.size()));
  for (const HostId& each : more_addresses) out.put_bytes(each);
  out.put(port);
  out.put(pid);
  put_text(out, node);
  for (const std::string& name : fabrics) put_text(out, name);
  return out.take();
}

Result<ProcInfo> ProcInfo::decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  ProcInfo info;
  const auto address_bytes = in.get_bytes(info.address.size());
  const auto inner_bytes = in.get_bytes(info.inner_address.size());
  const auto more = in.get<std::uint8_t>();
  info.more_addresses.resize(more.value_or(0));
  for (HostId& each : info.more_addresses) {
    const auto bytes_of_one = in.get_bytes(each.size());
    if (!bytes_of_one) return cut_off();
    std::ranges::copy(*bytes_of_one, each.begin());
  }
  const auto port = in.get<std::uint16_t>();
  const auto pid = in.get<std::int64_t>();
  auto node = get_text(in);
  if (!address_bytes || !inner_bytes || !port || !pid || !node) return cut_off();
  std::copy(address_bytes->begin(), address_bytes->end(), info.address.begin());
  std::copy(inner_bytes->begin(), inner_bytes->end(), info.inner_address.begin());
  info.port = *port;
  info.pid = *pid;
  info.node = std::move(*node);
  while (in.remaining() != 0) {
    auto name = get_text(in);
    if (!name) return cut_off();
    info.fabrics.push_back(std::move(*name));
  }
  return info;
}

Result<std::vector<ProcInfo>> decode_all(std::span<const std::vector<std::byte>> encoded) {
  std::vector<ProcInfo> procs;
  for (const auto& each : encoded) {
    auto info = ProcInfo::decode(each);
    if (!info) {
      return Error{info.error().kind,
                   fmt::format("native rank {}: {}", procs.size(), info.error().text)};
    }
    procs.push_back(std::move(*info));
  }
  return procs;
}

std::vector<std::string> common_fabrics(std::vector<std::string> mine,
                                        std::span<const ProcInfo> procs) {
  for (const ProcInfo& each : procs) {
    if (each.port == 0) continue;
    std::erase_if(
        mine, [&](const std::string& name) { return std::ranges::count(each.fabrics, name) == 0; });
  }
  return mine;
}

const ProcInfo& listener_of(const PlannedHost& planned, std::span<const ProcInfo> procs) {
  return procs[static_cast<std::size_t>(planned.first) +
               static_cast<std::size_t>(std::max(planned.gateway, 0))];
}

LocalHost local_host(const PlannedHost& planned, std::span<const ProcInfo> procs) {
  LocalHost host;
  host.gateway = planned.gateway;
  const ProcInfo& listener = listener_of(planned, procs);
  host.address = listener.address;
  host.more_addresses = listener.more_addresses;
  host.port = listener.port;
  host.node = listener.node;
  // Several nodes may share an address: those of a gateway, and those behind an address translator.
  const bool pids_may_repeat = planned.gateway >= 0 || listener.inner_address != HostId{};
  for (std::int32_t each = planned.first; each < planned.first + planned.count; ++each) {
    const ProcInfo& info = procs[static_cast<std::size_t>(each)];
    const std::int64_t node_bits =
        pids_may_repeat ? (static_cast<std::int64_t>(each) + 1) << 32 : 0;
    host.procs.push_back({info.address, info.pid + node_bits});
  }
  return host;
}

}  // namespace impishim::wire
