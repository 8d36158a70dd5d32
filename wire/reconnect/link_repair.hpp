// SPDX-License-Identifier: Apache-2.0
/// The attempts to connect one lost channel again.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/reconnect/port_probe.hpp"
#include "wire/reconnect/relayed_connection.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// What all channels of a process have in common.
struct RepairTerms {
  const JobMap& job;
  WorldRank here = 0;
  JobSecret secret;
  std::optional<RelayPoint> relay{};
  TcpOptions tcp{};
  std::chrono::seconds answer_time{0};  ///< ResumeLimits::answer
};

/// A channel of this process to another host.
struct RepairedLink {
  std::int32_t host = 0;
  std::int32_t lane = 0;
  std::int32_t stream = 0;  ///< of the channel's streams_between()
  /// This process has reached the other host's port, so that a refusal there means that no process
  /// listens any more.
  bool port_was_open = false;
  bool through_relay = false;  ///< the lost connection, or the first one
  std::shared_ptr<ConnectionSlot> slot;
};

/// Makes a new connection when the channel reports that it has lost one. Both owners try: the host
/// with the higher number connects at once, the other one kReversalDelay later, and both turn to
/// the relay after kRelayDelay. The host with the lower number completes one connection at a time.
/// A connection that the other host makes is taken at any time, since its owner may notice a loss
/// first. Gives up when the time of reconnect_time() is over, or when the port that was open has
/// refused connections for kRefusedTime: then the process has ended. If the other host made the
/// first connection, a probe finds out, kProbeDelay after the beginning, whether its port is open.
///
/// Streams beyond the first one of a channel are never given up, keep away from the relay, and go
/// to one address of the other host each. The channel stops them (ConnectionSlot::stop()).
///
/// No function blocks. Not thread-safe.
class LinkRepair {
 public:
  using Clock = std::chrono::steady_clock;
  /// Time for which one attempt may take.
  static constexpr auto kAttemptTime = std::chrono::seconds(5);
  /// Pause before the next attempt.
  static constexpr auto kRetryPause = std::chrono::milliseconds(200);
  static constexpr auto kStreamRetryPause = std::chrono::seconds(1);
  static constexpr auto kRefusedTime = std::chrono::seconds(5);
  static constexpr auto kProbeDelay = std::chrono::seconds(1);

  /// `terms` must outlive this object.
  LinkRepair(const RepairTerms& terms, RepairedLink link);

  [[nodiscard]] std::int32_t host() const { return link_.host; }
  [[nodiscard]] std::int32_t stream() const { return link_.stream; }
  /// Takes a report of the channel, starts the attempts that are due, and ends those that take too
  /// long.
  void advance(Clock::time_point now);
  /// Appends the entries for poll(2).
  void append_polled(std::vector<pollfd>& polled);
  /// Handles the result of poll(2), which has exactly the entries that append_polled() appended.
  void handle(std::span<const pollfd> polled);
  /// Takes a connection that the other host has made and proved.
  void adopt(Descriptor socket);
  /// Returns the time at which advance() has something to do.
  [[nodiscard]] std::optional<Clock::time_point> next_time() const;

 private:
  [[nodiscard]] std::int32_t end_of(std::int32_t host) const;
  [[nodiscard]] bool decides() const { return my_host_ < link_.host; }
  /// The relay connects hosts of different systems.
  [[nodiscard]] bool may_relay() const {
    return terms_.relay && !is_further() &&
           terms_.job.host(my_host_).client != terms_.job.host(link_.host).client;
  }
  /// Returns true for a stream beyond the first one of the channel.
  [[nodiscard]] bool is_further() const { return link_.stream > 0; }
  [[nodiscard]] Clock::duration retry_pause() const {
    return is_further() ? Clock::duration(kStreamRetryPause) : Clock::duration(kRetryPause);
  }
  void stop();
  [[nodiscard]] bool lost() const { return lost_since_.has_value(); }
  void begin(std::string reason, Clock::time_point now);
  void give_up(const std::string& why);
  void start_probe(Clock::time_point now);
  void drive_probe();
  void start_direct(Clock::time_point now);
  void start_relayed(Clock::time_point now);
  void drive_direct();
  void drive_relayed();
  void drive_tls();
  void direct_failed(const Error& error);
  void relayed_failed(const Error& error);
  /// Passes a proven connection on: to TLS in an encrypted job, otherwise to the channel.
  void complete(Descriptor socket);
  void deliver(std::unique_ptr<Channel> connection);

  const RepairTerms& terms_;
  RepairedLink link_;
  std::int32_t my_host_;
  LinkTerms proof_;  ///< of a connection that this process makes
  std::chrono::seconds limit_;

  std::optional<PortProbe> probe_;
  Clock::time_point probe_at_;  ///< when the next probe begins, or the present one ends
  std::size_t probes_ = 0;      ///< one for each address

  std::optional<Clock::time_point> lost_since_;
  std::string reason_;      ///< of the loss
  std::string last_error_;  ///< of the latest attempt
  std::optional<Clock::time_point> refused_since_;
  std::optional<LinkConnector> direct_;
  std::size_t attempts_ = 0;     ///< the addresses of that host are tried in turn
  Clock::time_point direct_at_;  ///< when the next attempt begins, or the present one ends
  std::optional<RelayedConnection> relayed_;
  Clock::time_point relayed_at_;
  std::optional<TlsHandshake> tls_;
  Clock::time_point tls_until_;
};

}  // namespace impishim::wire
