// SPDX-License-Identifier: Apache-2.0
/// The rendezvous server and its sockets: the main part of `impirun -server` and of
/// a process that is its own server (IMPI 2.3).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/poller.hpp"
#include "wire/relay/relay_service.hpp"
#include "wire/startup/startup_server.hpp"
#include "wire/tls/tls_certificates.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {

struct RendezvousOptions {
  std::int32_t clients = 1;
  std::uint16_t port = 0;     ///< 0: the kernel chooses the port
  bool this_machine = false;  ///< true: serve on the loopback address only
  std::string address;        ///< for the clients; empty: determined automatically
  int timeout_ms = -1;        ///< until all clients have joined; -1: no limit
  /// true: report at once which clients have joined; false: only if joining takes longer than
  /// kQuietMs
  bool verbose = false;
  bool relays = false;  ///< true: joins hosts that cannot connect to each other (relay_service.hpp)
  /// A socket; each byte read from it is the number of a client whose processes have ended, and
  /// each written to it that of a lost client without which the others go on; -1: none.
  int ended_clients = -1;
  std::string name = "impirun";  ///< before each report
  /// IMPISHIM_RECONNECT: seconds within which a client that was lost after startup may return;
  /// kReconnectAuto: only one of another machine.
  std::int32_t reconnect = kReconnectAuto;
  AuthenticationMethods methods;
  std::vector<std::int32_t> preference = {kAuthKey, kAuthNone};
  StartupLimits limits;
};

/// Time after which the server reports which clients have joined. Before that, they are of no
/// interest.
constexpr int kQuietMs = 2000;

/// The server of one job. It writes its reports to standard error, one line each.
class Rendezvous {
 public:
  /// Opens the listening socket. Fails with kSystem; the text names the port. Fails as
  /// TlsCertificates::load() does if there are certificates.
  [[nodiscard]] static Result<Rendezvous> open(const RendezvousOptions& options);
  /// Returns "address:port" for the clients.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Blocks until every client has sent FINI, or until all have ended without joining. Fails with
  /// kTimeout if clients have not come; the text names them. Fails with kConnection if a client was
  /// lost; the text names it. If the others went on without it, it fails with kLost when they have
  /// finished. If all have ended without joining, the result is success if
  /// `ended_clients` reported their ends, and kConnection if they reported themselves.
  [[nodiscard]] Result<void> serve();

 private:
  using Clock = StartupServer::Clock;

  struct Connection {
    Descriptor socket;
    std::unique_ptr<TlsSession> session;  ///< null if the connection is not encrypted
    std::vector<std::byte> output;        ///< not yet encrypted
    std::string peer;
    bool has_begun = false;  ///< true if it has sent something
    bool closing = false;
    /// Time since which the server waits for an answer of the peer's machine.
    std::optional<Clock::time_point> probed;
    /// Only while closing: time at which the server stops waiting for the peer.
    std::optional<Clock::time_point> drop_at;
  };

  explicit Rendezvous(const RendezvousOptions& options);
  void tell(const std::string& text) const;
  [[nodiscard]] Result<void> listen();
  [[nodiscard]] Result<void> open_relay();
  [[nodiscard]] Result<void> check_time_left(Clock::time_point deadline);
  void speak_if_late();
  [[nodiscard]] Result<void> handle_events(std::chrono::microseconds timeout);
  [[nodiscard]] std::chrono::microseconds time_to_next(Clock::time_point deadline) const;
  [[nodiscard]] std::chrono::seconds time_to_return(const Descriptor& socket,
                                                    const SocketAddress& from) const;
  void accept_one();
  void stop_accepting_for_a_while();
  void accept_again();
  [[nodiscard]] bool evict_stranger();
  void read_ended_clients();
  void handle(int id, std::uint32_t events);
  void read_from(int id, Connection& connection);
  void give_to_relay(int id, Connection& connection, std::span<const std::byte> bytes);
  void serve_relay();
  // The following are in rendezvous_encryption.cpp.
  [[nodiscard]] Result<void> load_certificates();
  [[nodiscard]] Result<std::unique_ptr<TlsSession>> encrypted_session() const;
  void decrypt(int id, Connection& connection, std::span<const std::byte> bytes);
  void refuse(int id, Connection& connection, const Error& reason);
  [[nodiscard]] static std::span<const std::byte> next_output(Connection& connection);
  void write_to(int id, Connection& connection);
  void probe(Connection& connection);
  void check_connections();
  void drop(int id);
  void act();
  [[nodiscard]] bool carry_out(ServerAction& action);
  void say_goodbye();

  RendezvousOptions options_;
  StartupServer server_;
  std::shared_ptr<const TlsCertificates> certificates_;  ///< null: a secret, or no encryption
  Descriptor listener_;
  std::string address_;
  Poller poller_;
  std::optional<RelayService> relay_;
  std::map<int, Connection> connections_;
  Clock::time_point started_;
  int next_id_ = 1;
  std::size_t probes_ = 0;  ///< number of connections with a running probe
  Clock::time_point next_check_;
  std::optional<Clock::time_point> accept_again_at_;
  bool told_of_descriptors_ = false;
};

}  // namespace impishim::wire
