// SPDX-License-Identifier: Apache-2.0
/// Channels over libfabric between two threads of a test.
#pragma once

#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "wire/fabric/fabric.hpp"

namespace impishim::wire::test {

inline constexpr int kMeetingMs = 20000;

/// The sockets that `provider` begins with: of one machine for kLocalProvider, else TCP.
inline std::pair<Descriptor, Descriptor> guard_pair(const std::string& provider) {
  if (provider != kLocalProvider) return connected_pair("127.0.0.1");
  std::array<int, 2> sockets{-1, -1};
  static_cast<void>(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()));
  return {Descriptor(sockets[0]), Descriptor(sockets[1])};
}

using FabricResult = Result<std::vector<std::unique_ptr<Channel>>>;

/// What both ends of `links` get, each as a process of its own would ask for it.
inline std::pair<FabricResult, FabricResult> meet(const std::string& left_provider,
                                                  std::vector<FabricLink> left,
                                                  const std::string& right_provider,
                                                  std::vector<FabricLink> right,
                                                  const SocketFallback& fallback = {}) {
  FabricResult other = Error{ErrorKind::kSystem, "not run"};
  std::thread thread([&] {
    other = make_fabric_channels(right_provider, std::move(right), kMeetingMs, fallback);
  });
  FabricResult mine = make_fabric_channels(left_provider, std::move(left), kMeetingMs, fallback);
  thread.join();
  return {std::move(mine), std::move(other)};
}

inline std::vector<FabricLink> one_link(Descriptor socket, const std::string& name) {
  std::vector<FabricLink> links;
  links.push_back({std::move(socket), name});
  return links;
}

/// Empty pointers: they did not meet.
inline std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> fabric_pair(
    const std::string& provider) {
  auto [left, right] = guard_pair(provider);
  auto [mine, other] = meet(provider, one_link(std::move(left), "left's peer"), provider,
                            one_link(std::move(right), "right's peer"));
  if (!mine || !other) return {};
  return {std::move(mine->front()), std::move(other->front())};
}

}  // namespace impishim::wire::test
