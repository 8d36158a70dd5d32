// SPDX-License-Identifier: Apache-2.0
/// The thread that makes the connections of resumable channels again.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/handover.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/reconnect/link_repair.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The ways in which connections come to this process.
struct ReconnectorDoors {
  /// On the process that made its host's connections; the two others on the rest.
  std::optional<HostListener> listener{};
  std::optional<HandoverGiver> giver{};  ///< nothing on a gateway
  std::optional<HandoverTaker> taker{};
};

/// Use: make(), make_resumable() for each channel, start(). The thread sleeps while no connection
/// is lost. The destructor stops it.
class Reconnector {
 public:
  /// The job of `terms` must outlive this object. Fails with kSystem.
  [[nodiscard]] static Result<std::unique_ptr<Reconnector>> make(const RepairTerms& terms,
                                                                 ReconnectorDoors doors);
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;
  ~Reconnector();

  /// Returns a channel that continues `first`, whose host, lane and way `link` has, with as many
  /// connections as streams_between() says. Before start().
  [[nodiscard]] Result<std::unique_ptr<Channel>> make_resumable(std::unique_ptr<Channel> first,
                                                                RepairedLink link);
  void start();
  /// Async-signal-safe; the thread does not exist in the child.
  void close_in_forked_child();

 private:
  Reconnector(const RepairTerms& terms, ReconnectorDoors doors, std::shared_ptr<WakeEvent> wake);
  [[nodiscard]] LinkAcceptor::Options acceptor_options();
  [[nodiscard]] LinkJudgement judge(std::int32_t end) const;
  [[nodiscard]] std::int32_t host_count() const {
    return static_cast<std::int32_t>(terms_.job.hosts().size());
  }
  void run();
  void poll_once();
  [[nodiscard]] int timeout_ms() const;
  /// Takes a connection that another host has made and proved, or passes it on.
  void take(std::int32_t end, Descriptor socket);
  void take_from_giver();
  void adopt(std::int32_t host, std::int32_t stream, Descriptor socket);
  [[nodiscard]] Result<std::unique_ptr<Channel>> make_striped(std::unique_ptr<Channel> first,
                                                              const RepairedLink& link,
                                                              std::int32_t streams);

  RepairTerms terms_;
  ReconnectorDoors doors_;
  std::shared_ptr<WakeEvent> wake_;
  std::int32_t my_host_;
  std::vector<std::unique_ptr<LinkRepair>> links_;
  std::optional<LinkAcceptor> acceptor_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Returns how the connection `socket` of `here` to another host was made.
[[nodiscard]] RepairedLink describe_link(const RepairTerms& terms, std::int32_t host,
                                         const Descriptor& socket);

}  // namespace impishim::wire
