// SPDX-License-Identifier: Apache-2.0
/// Hosts with open listeners and the job that describes them, for tests of the dance.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_handshake.hpp"

namespace impishim::wire::test {

using ConnectedHosts = Result<std::vector<HostChannel>>;

/// Of which library the systems are.
enum class Systems : std::uint8_t { kOurs, kForeign };

/// One host for each address, `procs_of_host` procs for each host, each host in a system of its
/// own.
inline JobMap job_of(const std::vector<HostId>& addresses, const std::vector<std::uint16_t>& ports,
                     Systems systems = Systems::kOurs, std::int32_t procs_of_host = 1) {
  std::vector<Host> hosts(addresses.size());
  std::vector<ProcId> procs;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    hosts[i].address = addresses[i];
    hosts[i].port = ports[i];
    hosts[i].proc_count = procs_of_host;
    for (std::int32_t proc = 0; proc < procs_of_host; ++proc)
      procs.push_back({addresses[i], static_cast<std::int64_t>(procs.size() + 1)});
  }
  Client client;
  client.host_count = 1;
  client.proc_count = procs_of_host;
  client.impishim = systems == Systems::kOurs;
  const std::vector<Client> clients(addresses.size(), client);
  auto job = JobMap::create(clients, std::move(hosts), std::move(procs), NegotiatedValues{});
  EXPECT_TRUE(job.ok());
  return std::move(job).value();
}

/// Hosts with open listeners and the job that describes them.
struct Floor {
  explicit Floor(const std::vector<std::string>& texts, Systems systems = Systems::kOurs,
                 std::int32_t procs_of_host = 1) {
    std::vector<std::uint16_t> ports;
    for (const std::string& text : texts) {
      addresses.push_back(host_id(text));
      auto listener = HostListener::open(addresses.back());
      EXPECT_TRUE(listener.ok()) << listener.error().text;
      ports.push_back(listener->port());
      listeners.push_back(std::move(listener).value());
    }
    job = job_of(addresses, ports, systems, procs_of_host);
    if (systems == Systems::kOurs) options.secret = *JobSecret::random();
  }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(addresses.size()); }
  [[nodiscard]] std::future<ConnectedHosts> start(std::int32_t host, int timeout_ms = kLongMs) {
    return std::async(std::launch::async,
                      [this, host, timeout_ms] { return collect(host, timeout_ms); });
  }
  [[nodiscard]] ConnectedHosts collect(std::int32_t host, int timeout_ms) {
    std::vector<HostChannel> channels;
    const auto take = [&](std::int32_t other, std::int32_t /*lane*/, Descriptor socket) {
      channels.push_back(
          {other, std::make_unique<TcpChannel>(std::move(socket), host_name(job, other))});
      return Result<void>();
    };
    DanceOptions bounded = options;
    bounded.timeout_ms = timeout_ms;
    // Closed when all are connected, as in a process of the job.
    const HostListener listener = std::move(listeners[static_cast<std::size_t>(host)]);
    auto connected = connect_hosts(job, host, listener, bounded, take);
    if (!connected) return connected.error();
    std::sort(channels.begin(), channels.end(),
              [](const auto& a, const auto& b) { return a.host < b.host; });
    return channels;
  }
  [[nodiscard]] Descriptor stranger(const std::string& from, std::int32_t to = 0) const {
    const Host& host = job.host(to);
    return connect_by_hand(host_id(from), host.address, host.port);
  }

  std::vector<HostId> addresses;
  /// What host `connector` and host `acceptor` must know to be connected.
  [[nodiscard]] LinkTerms terms(std::int32_t connector, std::int32_t acceptor) const {
    return {*options.secret, LinkPurpose::kHosts, connector, acceptor};
  }

  std::vector<HostListener> listeners;
  DanceOptions options;
  JobMap job;
};

/// All hosts tell all others their number over the channels.
inline void expect_joined(std::vector<ConnectedHosts>& connected) {
  for (std::size_t me = 0; me < connected.size(); ++me) {
    ASSERT_TRUE(connected[me].ok()) << connected[me].error().text;
    ASSERT_EQ(connected[me]->size(), connected.size() - 1);
    for (HostChannel& to : *connected[me]) {
      const std::array<std::byte, 1> own = {static_cast<std::byte>(me)};
      ASSERT_TRUE(send_all(*to.channel, own).ok());
    }
  }
  for (std::size_t me = 0; me < connected.size(); ++me) {
    std::int32_t before = -1;
    for (HostChannel& from : *connected[me]) {
      EXPECT_LT(before, from.host) << "each once";
      before = from.host;
      std::array<std::byte, 1> got{};
      ASSERT_TRUE(receive_all(*from.channel, got).ok());
      EXPECT_EQ(std::to_integer<std::int32_t>(got[0]), from.host);
      EXPECT_THAT(from.channel->peer_name(),
                  testing::HasSubstr(fmt::format("host {} ", from.host)));
    }
  }
}

inline std::vector<ConnectedHosts> connect_all(Floor& floor) {
  std::vector<std::future<ConnectedHosts>> running;
  for (std::int32_t host = 0; host < floor.size(); ++host) running.push_back(floor.start(host));
  std::vector<ConnectedHosts> connected;
  for (auto& each : running) connected.push_back(each.get());
  return connected;
}

}  // namespace impishim::wire::test
