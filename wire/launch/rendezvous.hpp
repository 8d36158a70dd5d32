/// The rendezvous server on its sockets: what `impirun -server` runs (IMPI 2.3).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/poller.hpp"
#include "wire/startup/startup_server.hpp"

namespace impishim::wire {

struct RendezvousOptions {
  std::int32_t clients = 1;
  std::uint16_t port = 0;     ///< 0: the kernel's choice
  bool this_machine = false;  ///< serve on the loopback address only
  std::string address;        ///< for the clients; empty: found out
  int timeout_ms = -1;        ///< until all clients have joined; -1: no bound
  bool verbose =
      false;  ///< tell at once who has joined; otherwise only if joining takes longer than kQuietMs
  int ended_clients = -1;  ///< a descriptor: each byte read is the number of a client whose
                           ///< processes have ended; -1: none
  AuthenticationMethods methods;
  std::vector<std::int32_t> preference = {kAuthKey, kAuthNone};
  StartupLimits limits;
};

/// Who has joined is of interest only if some are late.
constexpr int kQuietMs = 2000;

/// Serves one job. What it has to tell goes to standard error, a line each.
class Rendezvous {
 public:
  /// Listens. kSystem names the port that cannot be had.
  [[nodiscard]] static Result<Rendezvous> open(const RendezvousOptions& options);
  /// "address:port" for the clients.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Blocks until every client has sent FINI, or all have ended without ever joining. kTimeout
  /// names the clients that have not come; kConnection the one that was lost. All have ended
  /// without joining: success where `ended_clients` told of them, kConnection where they did
  /// themselves.
  [[nodiscard]] Result<void> serve();

 private:
  using Clock = StartupServer::Clock;

  struct Connection {
    Descriptor socket;
    std::vector<std::byte> output;
    bool closing = false;
    std::optional<Clock::time_point>
        probed;  ///< since when an answer of the peer's machine is waited for
    std::optional<Clock::time_point>
        drop_at;  ///< of a closing one: its peer need not be waited for any longer
  };

  explicit Rendezvous(const RendezvousOptions& options);
  [[nodiscard]] Result<void> listen();
  [[nodiscard]] Result<void> check_time_left(Clock::time_point deadline);
  void speak_if_late();
  [[nodiscard]] Result<void> handle_events(std::chrono::microseconds timeout);
  [[nodiscard]] std::chrono::microseconds time_to_next(Clock::time_point deadline) const;
  void accept_one();
  void stop_accepting_for_a_while();
  void accept_again();
  [[nodiscard]] bool evict_stranger();
  void read_ended_clients();
  void handle(int id, std::uint32_t events);
  void read_from(int id, Connection& connection);
  void write_to(int id, Connection& connection);
  void probe(Connection& connection);
  void check_connections();
  void drop(int id);
  void act();
  [[nodiscard]] bool carry_out(ServerAction& action);
  void say_goodbye();

  RendezvousOptions options_;
  StartupServer server_;
  Descriptor listener_;
  std::string address_;
  Poller poller_;
  std::map<int, Connection> connections_;
  Clock::time_point started_;
  int next_id_ = 1;
  std::size_t probes_ = 0;  ///< connections that are probed
  Clock::time_point next_check_;
  std::optional<Clock::time_point> accept_again_at_;
  bool told_of_descriptors_ = false;
};

}  // namespace impishim::wire
