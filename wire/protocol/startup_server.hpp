/// The rendezvous server's side of startup (IMPI 2.3): collects, concatenates, sends back. Bytes in, actions out; no sockets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/protocol/startup_client.hpp"
#include "wire/protocol/startup_message.hpp"

namespace impishim::wire {

/// What the server wants done, in order.
struct ServerAction {
  enum class Kind : std::uint8_t {
    kSend,   ///< `bytes` to `connection`
    kClose,  ///< `connection`, after what was sent to it
    kTell,   ///< `text` to the user
  };
  Kind kind;
  int connection = -1;
  std::vector<std::byte> bytes;
  std::string text;
  bool progress = false;  ///< kTell: the user need not see it if all goes well and fast
};

class StartupServer {
 public:
  /// `preference`: methods from the most preferred one on; those that `methods` does not enable are passed over.
  StartupServer(std::int32_t clients, AuthenticationMethods methods, std::vector<std::int32_t> preference);

  /// A new connection from `peer` ("192.0.2.7 port 4711"); the caller chooses the number.
  void connected(int connection, std::string peer);
  void received(int connection, std::span<const std::byte> bytes);
  /// The peer has closed, or the connection has failed.
  void disconnected(int connection);
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
  [[nodiscard]] bool nobody_came() const { return joined() == 0 && static_cast<std::int32_t>(ended_.size()) == clients_; }
  /// This connection is that of a client, not of a stranger or of one that has still to say who it is.
  [[nodiscard]] bool is_member(int connection) const;
  /// The job has begun and cannot go on. The clients have been told.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  enum class Stage : std::uint8_t { kAuth, kKey, kImpi, kJoined, kDone, kFinished, kTurnedAway };
  struct Connection {
    std::string peer;
    Stage stage = Stage::kAuth;
    StartupDecoder decoder;
    std::int32_t client = -1;
    std::optional<std::uint32_t> last_label;
    bool said_anything = false;
  };

  [[nodiscard]] bool step(int id, Connection& connection);
  void handle(int id, Connection& connection, const StartupMessage& message);
  void authenticate(int id, Connection& connection, const StartupMessage& message);
  void check_key(int id, Connection& connection, std::uint64_t key);
  void join(int id, Connection& connection, const StartupMessage& message);
  void collect(int id, Connection& connection, const StartupMessage& message);
  void answer_labels();
  void answer_done();
  void send(int id, std::vector<std::byte> bytes);
  void tell(std::string text);
  void turn_away(int id, Connection& connection, const std::string& reason);
  void forget(const Connection& connection);
  void look_for_missing();
  void fail(Error error);

  std::int32_t clients_;
  AuthenticationMethods methods_;
  std::vector<std::int32_t> preference_;
  std::map<int, Connection> connections_;
  std::map<std::int32_t, int> by_client_;                                           ///< client -> connection
  std::map<std::uint32_t, std::map<std::int32_t, std::vector<std::byte>>> labels_;  ///< not answered yet
  std::int32_t finished_ = 0;
  bool done_answered_ = false;
  std::optional<Error> failure_;
  std::set<std::int32_t> ended_;
  std::vector<ServerAction> actions_;
};

/// "1,0" or "3,1-0" in order of preference (IMPI 2.3.3). kConfiguration for anything else.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_preference(const std::string& text);

}  // namespace impishim::wire
