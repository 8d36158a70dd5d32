// SPDX-License-Identifier: Apache-2.0
/// The relay: pairs connections of hosts that cannot accept connections from each other, and passes
/// on what they send. The rendezvous server runs it beside its own work (`impirun -server -relay`).
///
/// The hosts run their usual handshake through it, so the relay proves nothing to them and need not
/// be trusted. Its token only keeps strangers away.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/stranger_report.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/relay/relay_pair.hpp"
#include "wire/relay/relay_socket.hpp"

namespace impishim::wire {

struct RelayLimits {
  std::size_t connections = 1024;  ///< of all kinds
  /// Connections that have not sent their whole hello. The oldest one gives way to a new one.
  std::size_t newcomers = 64;
  std::chrono::milliseconds hello_time{10000};  ///< until a newcomer must have sent its hello
  std::size_t buffer_size = 262144;             ///< bytes of one direction of a pair
};

/// A line for the user.
struct RelayReport {
  std::string text;
  bool progress = false;  ///< of interest only to a user who wants to see what happens
};

/// The connections to the relay of one job. Single-threaded, and no function blocks. The owner
/// watches descriptor() for input, level-triggered, calls handle() when it is readable or
/// next_limit() has come, and then prints take_reports(). Connections end with this object.
///
/// A lack of memory costs the connection that needs it, and nothing else.
class RelayService {
 public:
  using Clock = std::chrono::steady_clock;

  /// Returns a relay without connections. Fails with kConfiguration if a limit is too small, and
  /// with kSystem if there is no descriptor.
  [[nodiscard]] static Result<RelayService> open(const RelayToken& token,
                                                 const RelayLimits& limits = {});
  RelayService(RelayService&&) = default;
  RelayService& operator=(RelayService&&) = delete;  // sockets must end before their epoll_
  ~RelayService() = default;

  /// Takes a connection from which `first_bytes` have been read: the beginning of its hello, or all
  /// of it and more. `peer` describes it in texts. Closes the connection if it cannot stay.
  void adopt(Descriptor socket, std::string peer, std::span<const std::byte> first_bytes,
             Clock::time_point now);
  /// Handles a bounded number of events, and the time limits that have passed.
  void handle(Clock::time_point now);

  /// Returns the descriptor that is readable while handle() has something to do, apart from time
  /// limits.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  /// Returns the time at which handle() must be called without an event, if there is one.
  [[nodiscard]] std::optional<Clock::time_point> next_limit() const;
  /// Returns what has happened since the last call. Reports about strangers are rate-limited
  /// (stranger_report.hpp). A connection that an end has reset is reported two seconds later: hosts
  /// that have finished do that, too, and the job then ends before.
  [[nodiscard]] std::vector<RelayReport> take_reports();
  /// Makes take_reports() return such connections at once, since the job has failed.
  void report_losses_now();

  /// Returns the number of pairs that are connected.
  [[nodiscard]] std::size_t pairs() const { return sides_.size() / 2; }
  /// Returns the number of connections that have sent their hello and wait for the other end.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  /// Returns the number of connections that have not sent their whole hello.
  [[nodiscard]] std::size_t newcomers() const { return newcomers_.size(); }
  /// Returns true if there is no connection.
  [[nodiscard]] bool idle() const { return connections() == 0; }

 private:
  struct Newcomer {
    std::unique_ptr<RelaySocket> socket;
    std::vector<std::byte> bytes;
    Clock::time_point limit;
  };
  struct Waiting {
    std::unique_ptr<RelaySocket> socket;
    /// What followed the hello. It is not more than what had been read before adopt(): the relay
    /// reads nothing from a connection that waits.
    std::vector<std::byte> early;
  };
  struct Side {
    std::shared_ptr<RelayPair> pair;
    std::size_t end;
  };
  using WaitingMap = std::map<RelayEnds, Waiting>;

  RelayService(const RelayToken& token, const RelayLimits& limits, Descriptor epoll);
  [[nodiscard]] std::size_t connections() const {
    return newcomers_.size() + waiting_.size() + sides_.size();
  }
  void take_in(std::unique_ptr<RelaySocket> socket, std::span<const std::byte> first_bytes,
               Clock::time_point now);
  void handle_event(std::uint64_t id, std::uint32_t events, Clock::time_point now);
  void read_hello(std::uint64_t id, Clock::time_point now);
  void examine(std::uint64_t id, Clock::time_point now);
  void welcome(std::uint64_t id, const RelayEnds& ends);
  [[nodiscard]] WaitingMap::iterator partner_of(const RelayEnds& ends);
  void wait_for_partner(const RelayEnds& ends, Waiting waiting);
  void join(const RelayEnds& ends, Waiting newer, Waiting older);
  void handle_waiting(std::uint64_t id);
  void end_waiting(WaitingMap::iterator waiting);
  void handle_side(const Side& side, std::uint32_t events, Clock::time_point now);
  void end_late_newcomers(Clock::time_point now);
  void end_silent_pairs(Clock::time_point now);
  void turn_away(std::uint64_t id, const std::string& why, Clock::time_point now);
  void end_pair(const RelayPair& pair);
  void forget(std::uint64_t id);
  void tell(std::string text, bool progress = false);
  void tell_of_stranger(std::string text, Clock::time_point now);

  Descriptor epoll_;  ///< first, so that it is closed after the sockets
  RelayToken token_;
  RelayLimits limits_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Newcomer> newcomers_;  ///< the oldest first
  WaitingMap waiting_;
  std::map<std::uint64_t, Side> sides_;
  Clock::time_point next_silence_check_{};
  std::vector<RelayReport> reports_;
  std::vector<RelayReport> losses_;  ///< not reported yet
  Clock::time_point losses_due_{};
  StrangerReport strangers_;
  StrangerReport refusals_;  ///< of connections above the limit
  bool lacked_memory_ = false;
};

}  // namespace impishim::wire
