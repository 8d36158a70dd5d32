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
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

std::vector<std::byte> encode_job_map(const JobMap& map) {
  ByteWriter out;
  const NegotiatedValues& values = map.values();
  for (const std::uint32_t value :
       {values.version_major, values.version_minor, values.datalen, values.ackmark, values.hiwater})
    out.put(value);
  for (const std::int32_t value :
       {values.tag_ub, values.coll_xsize, values.coll_maxlinear, values.lanes})
    out.put(value);
  out.put(static_cast<std::uint8_t>(values.encrypted));
  out.put(static_cast<std::uint32_t>(map.clients().size()));
  out.put(static_cast<std::uint32_t>(map.hosts().size()));
  out.put(static_cast<std::uint32_t>(map.procs().size()));
  for (const Client& client : map.clients()) {
    out.put(client.host_count);
    out.put(client.proc_count);
    out.put(static_cast<std::uint8_t>(client.impishim));
    out.put(client.representation);
    out.put(client.collectives);
    out.put(static_cast<std::uint8_t>(client.concurrent));
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

Result<JobMap> decode_job_map(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  bool complete = true;
  const auto get = [&]<class Integer>(Integer& value) {
    const auto got = in.get<Integer>();
    complete = complete && got.has_value();
    if (got) value = *got;
  };
  const auto get_address = [&](HostId& address) {
    const auto got = in.get_bytes(address.size());
    complete = complete && got.has_value();
    if (got) std::copy(got->begin(), got->end(), address.begin());
  };
  const auto get_name = [&](std::string& name) {
    const auto size = in.get<std::uint8_t>();
    const auto got = size ? in.get_bytes(*size) : std::nullopt;
    complete = complete && got.has_value();
    if (got)
      std::ranges::transform(*got, std::back_inserter(name),
                             [](std::byte each) { return std::to_integer<char>(each); });
  };
  NegotiatedValues values;
  for (std::uint32_t* value : {&values.version_major, &values.version_minor, &values.datalen,
                               &values.ackmark, &values.hiwater})
    get(*value);
  for (std::int32_t* value :
       {&values.tag_ub, &values.coll_xsize, &values.coll_maxlinear, &values.lanes})
    get(*value);
  std::uint8_t encrypted = 0;
  get(encrypted);
  std::uint32_t client_count = 0;
  std::uint32_t host_count = 0;
  std::uint32_t proc_count = 0;
  get(client_count);
  get(host_count);
  get(proc_count);
  const Error bad{ErrorKind::kProtocol, "a job map that is cut or garbled"};
  if (!complete || values.lanes < 1 || encrypted > 1 || client_count > bytes.size() ||
      host_count > bytes.size() || proc_count > bytes.size())
    return bad;
  values.encrypted = encrypted != 0;
  std::vector<Client> clients(client_count);
  for (Client& client : clients) {
    std::uint8_t impishim = 0;
    std::uint8_t concurrent = 0;
    get(client.host_count);
    get(client.proc_count);
    get(impishim);
    get(client.representation);
    get(client.collectives);
    get(concurrent);
    std::uint8_t required = 0;
    std::uint8_t fabrics = 0;
    get(required);
    get(fabrics);
    for (; complete && fabrics > 0; --fabrics) get_name(client.fabrics.emplace_back());
    complete = complete && impishim <= 1 && concurrent <= 1 && required <= 1;
    client.fabric_required = required != 0;
    client.impishim = impishim != 0;
    client.concurrent = concurrent != 0;
  }
  std::vector<Host> hosts(host_count);
  for (Host& host : hosts) {
    get_address(host.address);
    get(host.port);
    get(host.proc_count);
    get(host.gateway);
    get_address(host.inner_address);
  }
  std::vector<ProcId> procs(proc_count);
  for (ProcId& proc : procs) {
    get_address(proc.host);
    get(proc.pid);
  }
  std::uint8_t named = 0;
  get(named);
  std::vector<std::string> nodes(complete && named == 1 ? host_count : 0);
  for (std::string& node : nodes) get_name(node);
  if (!complete || named > 1 || in.remaining() != 0) return bad;
  auto map = JobMap::create(std::move(clients), std::move(hosts), std::move(procs), values);
  if (map) map->set_node_names(std::move(nodes));
  return map;
}

}  // namespace impishim::wire
