// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/negotiation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/packet/packet.hpp"
#include "wire/startup/fabric_label.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

constexpr std::array<char, 8> kMagic = {'I', 'M', 'P', 'I', 'S', 'H', 'I', 'M'};
/// The version of the protocol that impishim systems use in addition to IMPI. It increases with
/// each change that an older version would not understand.
constexpr std::uint32_t kImpishimVersion = 17;
// The bits of a system's traits in our label.
constexpr std::uint32_t kConcurrent = 1;
constexpr std::uint32_t kTraces = 2;
constexpr std::int32_t kSmallestTagUb = 32767;
constexpr std::int32_t kDefaultXSize = 1024;
constexpr std::int32_t kDefaultMaxLinear = 4;

template <class Integer>
std::vector<std::byte> one(Integer value) {
  ByteWriter out;
  out.put(value);
  return out.take();
}

Error disagree(const char* label, const std::string& what) {
  return Error{ErrorKind::kProtocol, fmt::format("startup, {}: {}", label, what)};
}

/// The labels as lists of values whose counts have been checked.
class Labels {
 public:
  Labels(std::int32_t clients, const std::map<std::uint32_t, LabelData>& labels)
      : clients_(clients), labels_(labels) {}

  /// Returns exactly `count` integers. Fails with kProtocol if not all clients sent the label or if
  /// the count is different.
  template <class Integer>
  Result<std::vector<Integer>> integers(StartupLabel label, const char* name,
                                        std::size_t count) const {
    const LabelData* data = find(label);
    if (data == nullptr || data->client_mask != full_mask())
      return disagree(name, "not every system sent it; all must");
    if (data->data.size() != count * sizeof(Integer)) {
      return disagree(name, fmt::format("{} bytes; {} values of {} bytes belong there",
                                        data->data.size(), count, sizeof(Integer)));
    }
    ByteReader reader(data->data);
    std::vector<Integer> values(count);
    for (Integer& value : values) value = *reader.get<Integer>();
    return values;
  }

  Result<std::vector<HostId>> addresses(StartupLabel label, const char* name,
                                        std::size_t count) const {
    const LabelData* data = find(label);
    if (data == nullptr || data->client_mask != full_mask())
      return disagree(name, "not every system sent it; all must");
    if (data->data.size() != count * sizeof(HostId)) {
      return disagree(name, fmt::format("{} bytes; {} addresses of 16 bytes belong there",
                                        data->data.size(), count));
    }
    std::vector<HostId> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(data->data.begin() + static_cast<std::ptrdiff_t>(i * sizeof(HostId)),
                  sizeof(HostId), values[i].begin());
    }
    return values;
  }

  [[nodiscard]] const LabelData* find(StartupLabel label) const {
    const auto found = labels_.find(static_cast<std::uint32_t>(label));
    return found == labels_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::size_t clients() const { return static_cast<std::size_t>(clients_); }
  [[nodiscard]] std::uint32_t full_mask() const {
    return clients_ == 32 ? ~0U : (1U << static_cast<unsigned>(clients_)) - 1U;
  }

 private:
  std::int32_t clients_;
  const std::map<std::uint32_t, LabelData>& labels_;
};

using Version = std::pair<std::uint32_t, std::uint32_t>;

/// Returns the highest version that all clients support. The clients' version lists follow each
/// other without separators. Each list is strictly ascending and begins with 0.0 (IMPI requires 0.0
/// in every list), so a new list begins where the order breaks.
Result<Version> highest_common_version(const Labels& labels) {
  const LabelData* data = labels.find(StartupLabel::kVersion);
  if (data == nullptr || data->client_mask != labels.full_mask()) {
    return disagree("C_VERSION", "not every system sent it; all must");
  }
  if (data->data.size() % 8 != 0) return disagree("C_VERSION", "not a list of major, minor");
  std::vector<std::set<Version>> lists;
  ByteReader reader(data->data);
  std::optional<Version> last;
  while (reader.remaining() > 0) {
    const auto major = *reader.get<std::uint32_t>();
    const Version version{major, *reader.get<std::uint32_t>()};
    if (!last || version <= *last) lists.emplace_back();
    lists.back().insert(version);
    last = version;
  }
  if (lists.size() != labels.clients()) {
    return disagree("C_VERSION", fmt::format("{} version lists from {} systems", lists.size(),
                                             labels.clients()));
  }
  std::optional<Version> best;
  for (const Version& version : lists.front()) {
    if (std::all_of(lists.begin(), lists.end(),
                    [&](const auto& list) { return list.count(version) != 0; }))
      best = version;
  }
  if (!best)
    return disagree("C_VERSION", "the systems have no version in common; all must support 0.0");
  return *best;
}

Result<std::int32_t> common_value(const Labels& labels, StartupLabel label, const char* name,
                                  const char* variable, std::int32_t fallback) {
  auto values = labels.integers<std::int32_t>(label, name, labels.clients());
  if (!values) return values.error();
  for (std::int32_t& value : *values) {
    if (value == -1) value = fallback;
    if (value < 0) return disagree(name, fmt::format("{} is negative", value));
  }
  const auto other = std::find_if(values->begin(), values->end(),
                                  [&](auto value) { return value != values->front(); });
  if (other == values->end()) return values->front();
  return Error{
      ErrorKind::kConfiguration,
      fmt::format(
          "system 0 wants {} = {}, system {} wants {}: give {} the same value in every system",
          name, values->front(), other - values->begin(), *other, variable)};
}

Result<NegotiatedValues> negotiated_values(const Labels& labels, std::size_t hosts) {
  NegotiatedValues values;
  auto version = highest_common_version(labels);
  if (!version) return version.error();
  std::tie(values.version_major, values.version_minor) = *version;
  auto datalen =
      labels.integers<std::uint32_t>(StartupLabel::kDataLen, "C_DATALEN", labels.clients());
  if (!datalen) return datalen.error();
  values.datalen = *std::min_element(datalen->begin(), datalen->end());
  if (values.datalen < 1) return disagree("C_DATALEN", "0 bytes; at least 1 is needed");
  auto tag_ub = labels.integers<std::int32_t>(StartupLabel::kTagUb, "C_TAGUB", labels.clients());
  if (!tag_ub) return tag_ub.error();
  values.tag_ub = *std::min_element(tag_ub->begin(), tag_ub->end());
  if (values.tag_ub < kSmallestTagUb)
    return disagree("C_TAGUB",
                    fmt::format("{}; at least {} is needed", values.tag_ub, kSmallestTagUb));
  auto xsize = common_value(labels, StartupLabel::kCollXSize, "C_COLL_XSIZE", "IMPISHIM_COLL_XSIZE",
                            kDefaultXSize);
  if (!xsize) return xsize.error();
  values.coll_xsize = *xsize;
  auto maxlinear = common_value(labels, StartupLabel::kCollMaxLinear, "C_COLL_MAXLINEAR",
                                "IMPISHIM_COLL_MAXLINEAR", kDefaultMaxLinear);
  if (!maxlinear) return maxlinear.error();
  values.coll_maxlinear = *maxlinear;
  auto ackmark = labels.integers<std::uint32_t>(StartupLabel::kHostAckMark, "H_ACKMARK", hosts);
  if (!ackmark) return ackmark.error();
  auto hiwater = labels.integers<std::uint32_t>(StartupLabel::kHostHiWater, "H_HIWATER", hosts);
  if (!hiwater) return hiwater.error();
  for (std::size_t i = 0; i < hosts; ++i) {
    if ((*ackmark)[i] >= 1 && (*ackmark)[i] <= (*hiwater)[i]) continue;
    return disagree(
        "H_ACKMARK",
        fmt::format("host {} has ackmark {} and hiwater {}; 1 <= ackmark <= hiwater must hold", i,
                    (*ackmark)[i], (*hiwater)[i]));
  }
  values.ackmark = *std::min_element(ackmark->begin(), ackmark->end());
  values.hiwater = *std::min_element(hiwater->begin(), hiwater->end());
  if (values.ackmark > values.hiwater) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("the smallest ackmark of all hosts is {}, the smallest hiwater {}: "
                             "give IMPISHIM_ACKMARK and IMPISHIM_HIWATER "
                             "the same values in every system",
                             values.ackmark, values.hiwater)};
  }
  return values;
}

/// Reads our own label, which is in the order of the clients whose bit is set. Data that does not
/// have our format belongs to another implementation and is ignored. Fails with kConfiguration if a
/// client has another version of this library.
Result<void> mark_impishim_clients(const Labels& labels, std::vector<Client>& clients) {
  const LabelData* data = labels.find(StartupLabel::kImpishim);
  if (data == nullptr) return {};
  ByteReader reader(data->data);
  for (std::size_t c = 0; c < clients.size(); ++c) {
    if ((data->client_mask >> c & 1U) == 0) continue;
    const auto magic = reader.get_bytes(kMagic.size());
    const bool ours =
        magic && std::equal(magic->begin(), magic->end(), kMagic.begin(),
                            [](std::byte a, char b) { return std::to_integer<char>(a) == b; });
    if (!ours) return {};
    const auto version = reader.get<std::uint32_t>();
    if (version && *version != kImpishimVersion) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("system {} runs version {} of impishim's own protocol, this library "
                               "{}: use the same impishim in every "
                               "system",
                               c, *version, kImpishimVersion)};
    }
    const auto representation = reader.get<std::uint64_t>();
    const auto collectives = reader.get<std::uint64_t>();
    const auto traits = reader.get<std::uint32_t>();
    if (!traits) return {};
    clients[c].impishim = true;
    clients[c].representation = *representation;
    clients[c].collectives = *collectives;
    clients[c].traits = {(*traits & kConcurrent) != 0, (*traits & kTraces) != 0};
  }
  return {};
}

/// Stores which procs are gateways. The label contains one index for each host of each client whose
/// bit is set.
Result<void> mark_gateways(const Labels& labels, const std::vector<Client>& clients,
                           std::vector<Host>& hosts) {
  const LabelData* data = labels.find(StartupLabel::kGateways);
  if (data == nullptr) return {};
  ByteReader reader(data->data);
  std::size_t host = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    const std::size_t end = host + static_cast<std::size_t>(clients[c].host_count);
    const bool announced = (data->client_mask >> c & 1U) != 0;
    if (announced && !clients[c].impishim) {
      return disagree("gateways", fmt::format("system {} announces them, but is no impishim", c));
    }
    for (; host < end; ++host) {
      if (!announced) continue;
      const auto index = reader.get<std::uint32_t>();
      if (!index || *index >= static_cast<std::uint32_t>(hosts[host].proc_count)) {
        return disagree("gateways",
                        fmt::format("host {} of system {} has none among its procs", host, c));
      }
      hosts[host].gateway = static_cast<std::int32_t>(*index);
    }
  }
  if (reader.remaining() != 0) return disagree("gateways", "more than hosts");
  return {};
}

/// Returns the node names of the hosts. The label contains a list for all hosts of each client
/// whose bit is set. Names are cut to kMaxNodeName bytes and made printable.
Result<std::vector<std::string>> node_names(const Labels& labels,
                                            const std::vector<Client>& clients, std::size_t hosts) {
  const LabelData* data = labels.find(StartupLabel::kNodeNames);
  if (data == nullptr) return std::vector<std::string>();
  std::vector<std::string> names(hosts);
  ByteReader reader(data->data);
  std::size_t host = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    const std::size_t end = host + static_cast<std::size_t>(clients[c].host_count);
    for (; host < end; ++host) {
      if ((data->client_mask >> c & 1U) == 0) continue;
      const auto size = reader.get<std::uint8_t>();
      const auto bytes = size ? reader.get_bytes(*size) : std::nullopt;
      if (!bytes)
        return disagree("node names", fmt::format("host {} of system {} has none", host, c));
      const std::string_view name(reinterpret_cast<const char*>(bytes->data()),
                                  std::min(bytes->size(), kMaxNodeName));
      names[host] = printable(name);
    }
  }
  if (reader.remaining() != 0) return disagree("node names", "more than hosts");
  return names;
}

/// Stores the further addresses of the hosts. The label contains a list for all hosts of each
/// client whose bit is set.
Result<void> add_addresses(const Labels& labels, const std::vector<Client>& clients,
                           std::vector<Host>& hosts) {
  const LabelData* data = labels.find(StartupLabel::kMoreAddresses);
  if (data == nullptr) return {};
  ByteReader reader(data->data);
  std::size_t host = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    const std::size_t end = host + static_cast<std::size_t>(clients[c].host_count);
    const bool announced = (data->client_mask >> c & 1U) != 0;
    for (; host < end; ++host) {
      const auto count = announced ? reader.get<std::uint8_t>() : std::uint8_t{0};
      if (!count || *count >= kMostAddresses || reader.remaining() < *count * sizeof(HostId)) {
        return disagree("addresses",
                        fmt::format("host {} of system {} has an impossible list", host, c));
      }
      hosts[host].more_addresses.resize(*count);
      for (HostId& each : hosts[host].more_addresses)
        std::ranges::copy(*reader.get_bytes(each.size()), each.begin());
    }
  }
  if (reader.remaining() != 0) return disagree("addresses", "more than hosts");
  return {};
}

/// Checks that all impishim clients choose collective algorithms in the same way; otherwise their
/// messages would not fit each other.
Result<void> same_collectives(const std::vector<Client>& clients) {
  const auto first =
      std::ranges::find_if(clients, [](const Client& client) { return client.impishim; });
  const auto other = std::find_if(first, clients.end(), [&](const Client& client) {
    return client.impishim && client.collectives != first->collectives;
  });
  if (other == clients.end()) return {};
  return Error{ErrorKind::kConfiguration,
               fmt::format("systems {} and {} choose collective algorithms differently: give "
                           "IMPISHIM_COLLECTIVES the same value in "
                           "every system, and IMPISHIM_FOREIGN, too",
                           first - clients.begin(), other - clients.begin())};
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> contributions(
    const JoinOptions& options) {
  std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> all;
  const auto add = [&](StartupLabel label, std::vector<std::byte> data) {
    all.emplace_back(static_cast<std::uint32_t>(label), std::move(data));
  };
  const ClientValues& values = options.values;
  ByteWriter versions;
  for (const auto& [major, minor] : values.versions) {
    versions.put(major);
    versions.put(minor);
  }
  std::uint32_t procs = 0;
  ByteWriter host_addresses;
  ByteWriter ports;
  ByteWriter host_procs;
  ByteWriter ackmarks;
  ByteWriter hiwaters;
  ByteWriter proc_addresses;
  ByteWriter pids;
  ByteWriter gateways;
  bool has_gateways = false;
  ByteWriter nodes;
  bool has_nodes = false;
  ByteWriter addresses;
  bool has_addresses = false;
  for (const LocalHost& host : options.hosts) {
    procs += static_cast<std::uint32_t>(host.procs.size());
    host_addresses.put_bytes(host.address);
    ports.put(static_cast<std::uint32_t>(host.port));
    host_procs.put(static_cast<std::uint32_t>(host.procs.size()));
    ackmarks.put(values.ackmark);
    hiwaters.put(values.hiwater);
    gateways.put(static_cast<std::uint32_t>(host.gateway));
    has_gateways = has_gateways || host.gateway >= 0;
    const std::string_view node = std::string_view(host.node).substr(0, kMaxNodeName);
    has_nodes = has_nodes || !node.empty();
    nodes.put(static_cast<std::uint8_t>(node.size()));
    nodes.put_bytes(std::as_bytes(std::span(node)));
    has_addresses = has_addresses || !host.more_addresses.empty();
    addresses.put(static_cast<std::uint8_t>(host.more_addresses.size()));
    for (const HostId& each : host.more_addresses) addresses.put_bytes(each);
    for (const ProcId& proc : host.procs) {
      proc_addresses.put_bytes(proc.host);
      pids.put(proc.pid);
    }
  }
  ByteWriter own;
  for (const char letter : kMagic) own.put(static_cast<std::uint8_t>(letter));
  own.put(kImpishimVersion);
  own.put(options.representation);
  own.put(options.collectives);
  own.put((options.traits.concurrent ? kConcurrent : 0U) | (options.traits.traces ? kTraces : 0U));
  add(StartupLabel::kVersion, versions.take());
  add(StartupLabel::kNHosts, one(static_cast<std::uint32_t>(options.hosts.size())));
  add(StartupLabel::kNProcs, one(procs));
  add(StartupLabel::kDataLen, one(values.datalen));
  add(StartupLabel::kTagUb, one(values.tag_ub));
  add(StartupLabel::kCollXSize, one(values.coll_xsize));
  add(StartupLabel::kCollMaxLinear, one(values.coll_maxlinear));
  add(StartupLabel::kHostIpv6, host_addresses.take());
  add(StartupLabel::kHostPort, ports.take());
  add(StartupLabel::kHostNProcs, host_procs.take());
  add(StartupLabel::kHostAckMark, ackmarks.take());
  add(StartupLabel::kHostHiWater, hiwaters.take());
  add(StartupLabel::kProcIpv6, proc_addresses.take());
  add(StartupLabel::kProcPid, pids.take());
  add(StartupLabel::kImpishim, own.take());
  if (has_gateways) add(StartupLabel::kGateways, gateways.take());
  if (!options.fabrics.empty()) add(StartupLabel::kFabrics, encode_fabrics(options));
  if (has_nodes) add(StartupLabel::kNodeNames, nodes.take());
  if (has_addresses) add(StartupLabel::kMoreAddresses, addresses.take());
  return all;
}

std::uint32_t impishim_protocol() { return kImpishimVersion; }

Result<JobMap> negotiate(std::int32_t client_count, const std::map<std::uint32_t, LabelData>& all) {
  const Labels labels(client_count, all);
  auto nhosts = labels.integers<std::uint32_t>(StartupLabel::kNHosts, "C_NHOSTS", labels.clients());
  if (!nhosts) return nhosts.error();
  auto nprocs = labels.integers<std::uint32_t>(StartupLabel::kNProcs, "C_NPROCS", labels.clients());
  if (!nprocs) return nprocs.error();
  const auto hosts_total = std::accumulate(nhosts->begin(), nhosts->end(), std::uint64_t{0});
  const auto procs_total = std::accumulate(nprocs->begin(), nprocs->end(), std::uint64_t{0});
  if (hosts_total > procs_total || procs_total > kMaxStartupPayload) {
    return disagree("C_NPROCS", fmt::format("{} hosts with {} procs", hosts_total, procs_total));
  }
  std::vector<Client> clients(labels.clients());
  for (std::size_t c = 0; c < clients.size(); ++c) {
    clients[c].host_count = static_cast<std::int32_t>((*nhosts)[c]);
    clients[c].proc_count = static_cast<std::int32_t>((*nprocs)[c]);
  }
  if (auto marked = mark_impishim_clients(labels, clients); !marked) return marked.error();
  if (auto alike = same_collectives(clients); !alike) return alike.error();
  if (auto met = settle_fabrics(labels.find(StartupLabel::kFabrics), clients); !met)
    return met.error();
  auto values = negotiated_values(labels, hosts_total);
  if (!values) return values.error();
  auto addresses = labels.addresses(StartupLabel::kHostIpv6, "H_IPV6", hosts_total);
  if (!addresses) return addresses.error();
  auto ports = labels.integers<std::uint32_t>(StartupLabel::kHostPort, "H_PORT", hosts_total);
  if (!ports) return ports.error();
  auto host_procs =
      labels.integers<std::uint32_t>(StartupLabel::kHostNProcs, "H_NPROCS", hosts_total);
  if (!host_procs) return host_procs.error();
  auto proc_addresses = labels.addresses(StartupLabel::kProcIpv6, "P_IPV6", procs_total);
  if (!proc_addresses) return proc_addresses.error();
  auto pids = labels.integers<std::int64_t>(StartupLabel::kProcPid, "P_PID", procs_total);
  if (!pids) return pids.error();
  std::vector<Host> hosts(hosts_total);
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    if ((*ports)[h] > 65535) return disagree("H_PORT", fmt::format("{} is no port", (*ports)[h]));
    hosts[h].address = (*addresses)[h];
    hosts[h].port = static_cast<std::uint16_t>((*ports)[h]);
    hosts[h].proc_count =
        static_cast<std::int32_t>(std::min<std::uint32_t>((*host_procs)[h], kMaxStartupPayload));
  }
  if (auto marked = mark_gateways(labels, clients, hosts); !marked) return marked.error();
  if (auto added = add_addresses(labels, clients, hosts); !added) return added.error();
  std::vector<ProcId> procs(procs_total);
  for (std::size_t p = 0; p < procs.size(); ++p) procs[p] = {(*proc_addresses)[p], (*pids)[p]};
  auto nodes = node_names(labels, clients, hosts.size());
  if (!nodes) return nodes.error();
  auto map = JobMap::create(std::move(clients), std::move(hosts), std::move(procs), *values);
  if (map) map->set_node_names(std::move(*nodes));
  return map;
}

}  // namespace impishim::wire
