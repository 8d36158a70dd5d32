// SPDX-License-Identifier: Apache-2.0
/// The rendezvous server's side of startup (IMPI 2.3): it collects the labels, concatenates them
/// and sends them back. Its input is bytes and the time, its output is actions; it uses no sockets
/// and no clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/stranger_report.hpp"
#include "wire/monitor/monitor_hub.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/server/label_collection.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

/// An action that the server requests. The caller executes actions in order.
struct ServerAction {
  enum class Kind : std::uint8_t {
    kSend,   ///< send `bytes` to `connection`
    kClose,  ///< close `connection` after everything that was sent to it
    /// Find out quickly if the machine of `connection` still answers, then call alive() or
    /// disconnected().
    kProbe,
    kTell,  ///< show `text` to the user
    /// The job goes on without `client`, which is lost.
    kGoOnWithout,
  };
  Kind kind;
  int connection = -1;
  std::vector<std::byte> bytes;
  std::string text;
  bool progress = false;  ///< kTell: the user need not see it if startup goes well and fast
  std::int32_t client = -1;
};

/// Time limits of a server.
struct StartupLimits {
  /// For a connection to authenticate and to name its client.
  std::chrono::milliseconds joining{30000};
  /// Longest silence of a client after all have joined and before its DONE.
  std::chrono::milliseconds labels{60000};
  std::chrono::milliseconds notice{10000};  ///< between two notices to waiting clients
  /// For the machine of a client to answer when a newcomer wants its place.
  std::chrono::milliseconds probe{8000};
};

/// The rendezvous of one job. A client number belongs to the first connection that joined with it,
/// as long as that connection's machine answers. A newcomer with the right key and the same number
/// waits. It takes the place if the first connection ends, or if its machine does not answer for
/// StartupLimits::probe. Otherwise the newcomer is turned away, and both are told. After all
/// clients have joined, a lost client ends the job, unless all the others have said that they go on
/// without it (kGoesOn). After DONE, one of another machine has some time to return on a new
/// connection (kReturn).
class StartupServer {
 public:
  using Clock = StrangerReport::Clock;

  /// `preference` lists methods, the most preferred first. Methods that `methods` does not enable
  /// are skipped.
  StartupServer(std::int32_t clients, AuthenticationMethods methods,
                std::vector<std::int32_t> preference, StartupLimits limits = {});

  /// Sets the time and enforces the limits that have passed. Must be called before each of the
  /// calls below and at next_limit(). The first call must be made when clients can begin to
  /// connect.
  void at(Clock::time_point now);
  /// Returns the time at which at() must be called if nothing else happens before.
  [[nodiscard]] std::optional<Clock::time_point> next_limit() const;

  /// Adds a new connection from `peer` ("192.0.2.7 port 4711"). The caller chooses the number. If
  /// it is lost after DONE, its client has the time `may_return` to return.
  void connected(int connection, std::string peer, std::chrono::seconds may_return = {});
  void received(int connection, std::span<const std::byte> bytes);
  /// Reports that the peer has closed the connection, or that the connection has failed.
  void disconnected(int connection);
  /// Reports that the caller has closed a connection that had not authenticated, to make room for
  /// newer ones.
  void evicted(int connection);
  /// Offers the relay with this token to all clients of this library that join later.
  void offer_relay(const RelayToken& token) { relay_ = token; }
  /// Reports that a connection, which has sent nothing to this server, now belongs to the relay.
  void gave_to_relay(int connection) { connections_.erase(connection); }
  /// Reports that the caller takes no further bytes of the connection, and why. The peer is told.
  void refused(int connection, const std::string& reason);
  /// Reports that the peer's machine has answered since kProbe.
  void alive(int connection);
  /// Reports that the processes of `client` have ended and will send nothing more.
  void ended(std::int32_t client);
  /// Sends every connected client the reason why there will be no job, and closes the connections.
  void give_up(const std::string& reason);

  [[nodiscard]] std::vector<ServerAction> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] std::int32_t joined() const { return static_cast<std::int32_t>(by_client_.size()); }
  /// Returns true once all clients have joined and the job has begun.
  [[nodiscard]] bool has_begun() const { return begun_; }
  /// Returns bit I for each client I that has joined.
  [[nodiscard]] std::uint32_t joined_mask() const;
  [[nodiscard]] bool all_joined() const { return joined() == clients_; }
  /// Returns a text such as "2 of 3 systems have joined; missing: 1".
  [[nodiscard]] std::string progress() const;
  /// Returns true if every client has sent FINI, or is lost while the others went on.
  [[nodiscard]] bool finished() const { return finished_ + lost_ == clients_; }
  /// Returns the first loss of a client after which the others went on, or nothing.
  [[nodiscard]] const std::optional<Error>& loss() const { return loss_; }
  /// Returns true if every client has ended and none has joined, so there was no job.
  [[nodiscard]] bool nobody_came() const {
    return joined() == 0 && static_cast<std::int32_t>(ended_.size()) == clients_;
  }
  /// Returns true if the connection belongs to a client that has joined. Strangers and connections
  /// that have not yet named their client are no members.
  [[nodiscard]] bool is_member(int connection) const;
  /// Returns true if the connection has authenticated. Connections that have not may be evicted.
  [[nodiscard]] bool is_authenticated(int connection) const;
  /// Returns the error if the job has begun and cannot continue. The clients have then been told.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  enum class Stage : std::uint8_t {
    kAuth,
    kKey,
    kImpi,
    kContending,
    kJoined,
    kDone,
    kMonitor,  ///< of a process that can be asked
    kAsker,    ///< of a program that asks
    // The server reads nothing more from connections in the stages below.
    kFinished,
    kLost,  ///< the others go on
    kTurnedAway
  };
  struct Connection {
    std::string peer;
    Stage stage = Stage::kAuth;
    StartupDecoder decoder;
    std::int32_t method = -1;  ///< of authentication, once it is complete
    std::int32_t client = -1;  ///< once the connection has joined
    std::int32_t wants = -1;   ///< the number that it contends for
    bool announced = false;    ///< true if it has sent kHello, so it is an impishim client
    bool said_anything = false;
    Clock::time_point since;  ///< time at which it connected, or began to contend
    Clock::time_point heard;  ///< time at which its latest bytes arrived
    std::chrono::seconds may_return{0};
    bool goes_on = false;                      ///< when another client is lost
    std::optional<Clock::time_point> lost_at;  ///< of a client that may return
  };

  [[nodiscard]] static std::uint32_t most_payload(Stage stage);
  void process(int id, Connection& connection);
  [[nodiscard]] bool step(int id, Connection& connection);
  void handle(int id, Connection& connection, const StartupMessage& message);
  void authenticate(int id, Connection& connection, const StartupMessage& message);
  void check_key(int id, Connection& connection, std::span<const std::byte> key);
  void greet(int id, Connection& connection);
  void join(int id, Connection& connection, const StartupMessage& message);
  void learn_of_end(int id, Connection& connection, const StartupMessage& message);
  [[nodiscard]] bool has_never_joined(const EndedLaunch& launch);
  void end_lost(std::int32_t client);
  void begin_monitor(int id, Connection& connection, const StartupMessage& message);
  void handle_monitoring(int id, Connection& connection, const StartupMessage& message);
  void act_for_monitors();
  [[nodiscard]] bool end_monitoring(int id);

  void come_back(int id, Connection& connection, const StartupMessage& message);
  void lose(Connection& connection);
  void lose_for_good(Connection& connection, const std::string& how);
  [[nodiscard]] bool others_go_on(std::int32_t without) const;
  void note_going_on(int id, Connection& connection, const StartupMessage& message);
  void contend(int id, Connection& connection, std::int32_t client);
  void admit(int id, Connection& connection, std::int32_t client);
  void begin_if_complete();
  void supersede(std::int32_t client);
  void stop_contending(std::int32_t client);
  void collect(int id, Connection& connection, const StartupMessage& message);
  void answer_labels();
  void answer_done();
  void notify_waiting();
  [[nodiscard]] Clock::time_point limit_of(const Connection& connection) const;
  void enforce_limit(int id, Connection& connection);
  void send(int id, std::vector<std::byte> bytes);
  void say_and_close(int id, const std::string& reason);
  void note(int id, const std::string& text);
  void tell(std::string text);
  void tell_of(const Connection& connection, std::string text);
  void turn_away(int id, Connection& connection, const std::string& reason,
                 ErrorKind kind = ErrorKind::kProtocol);
  void forget(const Connection& connection);
  void look_for_missing();
  void fail(Error error);

  std::int32_t clients_;
  AuthenticationMethods methods_;
  std::vector<std::int32_t> preference_;
  std::optional<RelayToken> relay_;
  StartupLimits limits_;
  Clock::time_point now_;
  std::optional<Clock::time_point> started_;  ///< the first time that at() set
  Clock::time_point next_notice_;
  std::map<int, Connection> connections_;
  std::map<std::int32_t, int> by_client_;  ///< client -> connection
  /// Client -> connection that wants the place of by_client_'s connection.
  std::map<std::int32_t, int> contenders_;
  MonitorHub monitors_;
  LabelCollection labels_;  ///< not yet answered
  std::int32_t finished_ = 0;
  std::int32_t lost_ = 0;      ///< clients, while the others go on
  std::optional<Error> loss_;  ///< the first of these losses
  /// True if all have joined and IMPI has been answered; then no client can be replaced any more.
  bool begun_ = false;
  bool done_answered_ = false;
  std::optional<Error> failure_;
  std::map<std::int32_t, bool> ended_;  ///< client -> true if another launch of it may still join
  /// Clients that have joined since the latest kEnded about one of their launches.
  std::set<std::int32_t> came_;
  StrangerReport strangers_;
  std::vector<ServerAction> actions_;
};

/// Parses "1,0" or "3,1-0", in order of preference (IMPI 2.3.3). Fails with kConfiguration for any
/// other text.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_preference(const std::string& text);

}  // namespace impishim::wire
