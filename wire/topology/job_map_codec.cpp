// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/job_map_codec.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

std::vector<std::byte> encode_job_map(const JobMap& map) {
  ByteWriter out;
  const NegotiatedValues& values = map.values();
  for (const std::uint32_t value :
       {values.version_major, values.version_minor, values.datalen, values.ackmark, values.hiwater})
    out.put(value);
  for (const std::int32_t value : {values.tag_ub, values.coll_xsize, values.coll_maxlinear,
                                   values.lanes, values.reconnect, values.streams})
    out.put(value);
  out.put(static_cast<std::uint8_t>(values.encrypted));
  out.put(static_cast<std::uint8_t>(values.compressed));
  out.put(static_cast<std::uint32_t>(map.clients().size()));
  out.put(static_cast<std::uint32_t>(map.hosts().size()));
  out.put(static_cast<std::uint32_t>(map.procs().size()));
  for (const Client& client : map.clients()) {
    out.put(client.host_count);
    out.put(client.proc_count);
    out.put(static_cast<std::uint8_t>(client.impishim));
    out.put(client.representation);
    out.put(client.collectives);
    out.put(static_cast<std::uint8_t>(client.traits.concurrent));
    out.put(static_cast<std::uint8_t>(client.traits.traces));
    out.put(static_cast<std::uint8_t>(client.fabric_required));
    out.put(static_cast<std::uint8_t>(client.fabrics.size()));
    for (const std::string& name : client.fabrics) {
      out.put(static_cast<std::uint8_t>(name.size()));
      out.put_bytes(std::as_bytes(std::span(name)));
    }
  }
  for (const Host& host : map.hosts()) {
    out.put_bytes(host.address);
    out.put(host.port);
    out.put(host.proc_count);
    out.put(host.gateway);
    out.put_bytes(host.inner_address);
    out.put(static_cast<std::uint8_t>(host.more_addresses.size()));
    for (const HostId& each : host.more_addresses) out.put_bytes(each);
  }
  for (const Proc& proc : map.procs()) {
    out.put_bytes(proc.id.host);
    out.put(proc.id.pid);
  }
  out.put(static_cast<std::uint8_t>(!map.node_names().empty()));
  for (const std::string& name : map.node_names()) {
    out.put(static_cast<std::uint8_t>(name.size()));
    out.put_bytes(std::as_bytes(std::span(name)));
  }
  return out.take();
}

namespace {

/// Reads the parts of an encoded map. After the bytes have ended, or a part was impossible, values
/// are those of a default, and complete() is false.
class MapReader {
 public:
  explicit MapReader(std::span<const std::byte> bytes) : in_(bytes) {}
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::size_t remaining() const { return in_.remaining(); }

  template <class Integer>
  void get(Integer& value) {
    const auto got = in_.get<Integer>();
    complete_ = complete_ && got.has_value();
    if (got) value = *got;
  }
  void get_flag(bool& flag) {
    std::uint8_t value = 0;
    get(value);
    complete_ = complete_ && value <= 1;
    flag = value != 0;
  }
  void get_address(HostId& address) {
    const auto got = in_.get_bytes(address.size());
    complete_ = complete_ && got.has_value();
    if (got) std::copy(got->begin(), got->end(), address.begin());
  }
  void get_name(std::string& name) {
    const auto size = in_.get<std::uint8_t>();
    const auto got = size ? in_.get_bytes(*size) : std::nullopt;
    complete_ = complete_ && got.has_value();
    if (got)
      std::ranges::transform(*got, std::back_inserter(name),
                             [](std::byte each) { return std::to_integer<char>(each); });
  }
  void get_values(NegotiatedValues& values) {
    for (std::uint32_t* value : {&values.version_major, &values.version_minor, &values.datalen,
                                 &values.ackmark, &values.hiwater})
      get(*value);
    for (std::int32_t* value : {&values.tag_ub, &values.coll_xsize, &values.coll_maxlinear,
                                &values.lanes, &values.reconnect, &values.streams})
      get(*value);
    get_flag(values.encrypted);
    get_flag(values.compressed);
    complete_ = complete_ && values.lanes >= 1 && values.streams >= kStreamsAuto &&
                values.streams <= kMostStreams;
  }
  void get_client(Client& client) {
    get(client.host_count);
    get(client.proc_count);
    get_flag(client.impishim);
    get(client.representation);
    get(client.collectives);
    get_flag(client.traits.concurrent);
    get_flag(client.traits.traces);
    get_flag(client.fabric_required);
    std::uint8_t fabrics = 0;
    get(fabrics);
    for (; complete_ && fabrics > 0; --fabrics) get_name(client.fabrics.emplace_back());
  }
  void get_host(Host& host) {
    get_address(host.address);
    get(host.port);
    get(host.proc_count);
    get(host.gateway);
    get_address(host.inner_address);
    std::uint8_t more = 0;
    get(more);
    for (; complete_ && more > 0; --more) get_address(host.more_addresses.emplace_back());
  }

 private:
  ByteReader in_;
  bool complete_ = true;
};

}  // namespace

Result<JobMap> decode_job_map(std::span<const std::byte> bytes) {
  MapReader in(bytes);
  NegotiatedValues values;
  in.get_values(values);
  std::uint32_t client_count = 0;
  std::uint32_t host_count = 0;
  std::uint32_t proc_count = 0;
  for (std::uint32_t* count : {&client_count, &host_count, &proc_count}) in.get(*count);
  const Error bad{ErrorKind::kProtocol, "a job map that is cut or garbled"};
  if (!in.complete() || client_count > bytes.size() || host_count > bytes.size() ||
      proc_count > bytes.size())
    return bad;
  std::vector<Client> clients(client_count);
  for (Client& client : clients) in.get_client(client);
  std::vector<Host> hosts(host_count);
  for (Host& host : hosts) in.get_host(host);
  std::vector<ProcId> procs(proc_count);
  for (ProcId& proc : procs) {
    in.get_address(proc.host);
    in.get(proc.pid);
  }
  bool named = false;
  in.get_flag(named);
  std::vector<std::string> nodes(in.complete() && named ? host_count : 0);
  for (std::string& node : nodes) in.get_name(node);
  if (!in.complete() || in.remaining() != 0) return bad;
  auto map = JobMap::create(std::move(clients), std::move(hosts), std::move(procs), values);
  if (map) map->set_node_names(std::move(nodes));
  return map;
}

}  // namespace impishim::wire
