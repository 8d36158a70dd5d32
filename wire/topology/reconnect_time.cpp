// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/reconnect_time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "wire/channel/address.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

bool is_loopback(const HostId& address) {
  constexpr std::size_t kFirstOfIpv4 = 12;
  if (is_ipv4(address)) return address[kFirstOfIpv4] == std::byte{127};
  HostId loopback{};
  loopback.back() = std::byte{1};
  return address == loopback;
}

/// Returns true if both hosts are of this library and meet over TCP.
bool meet_by_tcp(const JobMap& job, std::int32_t host, std::int32_t other) {
  const std::int32_t client = job.host(host).client;
  const std::int32_t other_client = job.host(other).client;
  const Client& first = job.client(std::min(client, other_client));
  const Client& second = job.client(std::max(client, other_client));
  if (!first.impishim || !second.impishim) return false;
  return job.values().encrypted || common_fabric(first, second).empty();
}

}  // namespace

bool on_one_machine(const Host& a, const Host& b) {
  return same_address(a.address, b.address) || (is_loopback(a.address) && is_loopback(b.address));
}

std::chrono::seconds reconnect_time(const JobMap& job, std::int32_t host, std::int32_t other) {
  using std::chrono::seconds;
  if (!meet_by_tcp(job, host, other)) return seconds(0);
  if (job.values().reconnect != kReconnectAuto) return seconds(job.values().reconnect);
  return seconds(on_one_machine(job.host(host), job.host(other)) ? 0 : kDefaultReconnect);
}

std::int32_t streams_between(const JobMap& job, std::int32_t host, std::int32_t other) {
  const std::int32_t streams = job.values().streams;
  if (streams == 1 || reconnect_time(job, host, other).count() == 0) return 1;
  return streams == kStreamsAuto ? kMostAutoStreams : streams;
}

std::int32_t first_streams(const JobMap& job, std::int32_t host, std::int32_t other) {
  const std::int32_t streams = streams_between(job, host, other);
  if (streams == 1 || job.values().streams != kStreamsAuto) return streams;
  const Host& acceptor = job.host(std::min(host, other));
  return std::min(streams, 1 + static_cast<std::int32_t>(acceptor.more_addresses.size()));
}

bool compresses_between(const JobMap& job, std::int32_t host, std::int32_t other) {
  return job.values().compressed && meet_by_tcp(job, host, other);
}

}  // namespace impishim::wire
