/// The rendezvous server's side of startup (IMPI 2.3): collects, concatenates, sends back. Bytes
/// and the time in, actions out; no sockets and no clock.
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
#include "wire/base/stranger_report.hpp"
#include "wire/startup/label_collection.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

/// What the server wants done, in order.
struct ServerAction {
  enum class Kind : std::uint8_t {
    kSend,   ///< `bytes` to `connection`
    kClose,  ///< `connection`, after what was sent to it
    kProbe,  ///< find out quickly whether the machine of `connection` still answers: then alive()
             ///< or disconnected()
    kTell,   ///< `text` to the user
  };
  Kind kind;
  int connection = -1;
  std::vector<std::byte> bytes;
  std::string text;
  bool progress = false;  ///< kTell: the user need not see it if all goes well and fast
};

/// Bounds of what a server waits for.
struct StartupLimits {
  std::chrono::milliseconds joining{
      30000};  ///< of a connection, to authenticate and say which client it is
  std::chrono::milliseconds labels{
      60000};  ///< of silence of a client between the joining of all and its DONE
  std::chrono::milliseconds notice{10000};  ///< between two notices to clients that wait
  std::chrono::milliseconds probe{8000};    ///< for a predecessor's machine to answer
};

/// One job's rendezvous. A client number belongs to the first connection that joined with it for as
/// long as its machine answers: a newcomer with the right key and the same number waits until the
/// first connection has ended, or its machine has not answered for StartupLimits::probe, and takes
/// its place; otherwise it is turned away, and both are told. Once all have joined, a lost client
/// ends the job.
class StartupServer {
 public:
  using Clock = StrangerReport::Clock;

  /// `preference`: methods from the most preferred one on; those that `methods` does not enable are
  /// passed over.
  StartupServer(std::int32_t clients, AuthenticationMethods methods,
                std::vector<std::int32_t> preference, StartupLimits limits = {});

  /// Sets the time and enforces the limits that are over. To be called before the calls below, and
  /// at next_limit(); first when clients can come from then on.
  void at(Clock::time_point now);
  /// Returns when at() has something to do, if nothing else happens before.
  [[nodiscard]] std::optional<Clock::time_point> next_limit() const;

  /// A new connection from `peer` ("192.0.2.7 port 4711"); the caller chooses the number.
  void connected(int connection, std::string peer);
  void received(int connection, std::span<const std::byte> bytes);
  /// The peer has closed, or the connection has failed.
  void disconnected(int connection);
  /// The caller has closed a connection that has not authenticated: it made room for newer ones.
  void evicted(int connection);
  /// The peer's machine has answered since kProbe.
  void alive(int connection);
  /// The processes of `client` are known to have ended: what it has not sent by now, it never will.
  void ended(std::int32_t client);
  /// Tells every connected client why there will be no job, and closes.
  void give_up(const std::string& reason);

  [[nodiscard]] std::vector<ServerAction> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] std::int32_t joined() const { return static_cast<std::int32_t>(by_client_.size()); }
  [[nodiscard]] bool all_joined() const { return joined() == clients_; }
  /// "2 of 3 clients have joined; missing: 1".
  [[nodiscard]] std::string progress() const;
  /// Every client has sent FINI.
  [[nodiscard]] bool finished() const { return finished_ == clients_; }
  /// Every client has ended and none of them has joined: there was no job.
  [[nodiscard]] bool nobody_came() const {
    return joined() == 0 && static_cast<std::int32_t>(ended_.size()) == clients_;
  }
  /// This connection is that of a client, not of a stranger or of one that has still to say who it
  /// is.
  [[nodiscard]] bool is_member(int connection) const;
  /// This connection has shown that it may join. The others may be evicted.
  [[nodiscard]] bool is_authenticated(int connection) const;
  /// The job has begun and cannot go on. The clients have been told.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  enum class Stage : std::uint8_t {
    kAuth,
    kKey,
    kImpi,
    kContending,
    kJoined,
    kDone,
    kFinished,
    kTurnedAway
  };
  struct Connection {
    std::string peer;
    Stage stage = Stage::kAuth;
    StartupDecoder decoder;
    std::int32_t method = -1;  ///< of authentication, once it is over
    std::int32_t client = -1;  ///< once it has joined
    std::int32_t wants = -1;   ///< the number that it contends for
    bool announced = false;    ///< it has sent kHello: a client of ours
    bool said_anything = false;
    Clock::time_point since;  ///< when it connected, or began to contend
    Clock::time_point heard;  ///< when its latest bytes came
  };

  void process(int id, Connection& connection);
  [[nodiscard]] bool step(int id, Connection& connection);
  void handle(int id, Connection& connection, const StartupMessage& message);
  void authenticate(int id, Connection& connection, const StartupMessage& message);
  void check_key(int id, Connection& connection, std::span<const std::byte> key);
  void greet(int id, Connection& connection);
  void join(int id, Connection& connection, const StartupMessage& message);
  void learn_of_end(int id, Connection& connection, const StartupMessage& message);
  [[nodiscard]] bool has_never_joined(const EndedLaunch& launch);
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
  StartupLimits limits_;
  Clock::time_point now_;
  std::optional<Clock::time_point> started_;  ///< the first time that was set
  Clock::time_point next_notice_;
  std::map<int, Connection> connections_;
  std::map<std::int32_t, int> by_client_;  ///< client -> connection
  std::map<std::int32_t, int>
      contenders_;          ///< client -> connection that wants to take the place of by_client_'s
  LabelCollection labels_;  ///< not answered yet
  std::int32_t finished_ = 0;
  bool begun_ =
      false;  ///< all have joined and IMPI has been answered: nobody can be replaced any more
  bool done_answered_ = false;
  std::optional<Error> failure_;
  std::map<std::int32_t, bool> ended_;  ///< client -> another launch of it may still come
  std::set<std::int32_t>
      came_;  ///< clients that have joined since kEnded last told of one of their launches
  StrangerReport strangers_;
  std::vector<ServerAction> actions_;
};

/// "1,0" or "3,1-0" in order of preference (IMPI 2.3.3). kConfiguration for anything else.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_preference(const std::string& text);

}  // namespace impishim::wire
