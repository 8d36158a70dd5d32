/// A client's side of startup (IMPI 2.3): what it contributes, what the job agreed on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/server_stream.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// What the user set; std::int32_t -1 stands for the default (IMPI 2.3.5).
struct ClientValues {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> versions = {{0, 0}};
  std::uint32_t datalen = 65536;
  std::int32_t tag_ub = 2147483647;
  std::uint32_t ackmark = 10;
  std::uint32_t hiwater = 20;
  std::int32_t coll_xsize = -1;
  std::int32_t coll_maxlinear = -1;
  /// Reads IMPISHIM_DATALEN, IMPISHIM_ACKMARK, IMPISHIM_HIWATER, IMPISHIM_COLL_XSIZE,
  /// IMPISHIM_COLL_MAXLINEAR and checks each (kConfiguration names the variable, its value and what
  /// is allowed).
  [[nodiscard]] static Result<ClientValues> from_environment();
};

/// One host of this client, as it is announced.
struct LocalHost {
  HostId address{};
  std::uint16_t port = 0;
  std::vector<ProcId> procs;
  std::int32_t gateway = -1;  ///< as in Host; all hosts of a client have one, or none
  std::string node;           ///< what its node calls itself; empty: unknown
};

/// Where to join, and as whom.
struct JoinOptions {
  std::string server;       ///< "address:port", IPv4, [IPv6]:port or a name
  std::int32_t client = 0;  ///< 0 ... clients - 1
  ClientValues values;
  std::uint64_t representation = 0;
  std::uint64_t collectives = 0;
  bool concurrent = false;
  std::vector<std::string> fabrics;  ///< see Client
  bool fabric_required = false;
  std::vector<LocalHost> hosts;
  int timeout_ms = 60000;  ///< for connecting; waiting for the other clients is not bounded here
                           ///< but by the server
};

/// A TCP connection to "address:port" within `timeout_ms`. kConfiguration: no such address;
/// kConnection: nobody is there.
[[nodiscard]] Result<Descriptor> connect_to_server(const std::string& server, int timeout_ms);

/// Tells the server that the processes of `launch` have ended. Returns whether they have never
/// joined: those that wait for them have been told then. Takes `timeout` at most (and what
/// resolving a name takes). An error: nothing is known; the server has gone with its job, is
/// foreign, or refuses.
[[nodiscard]] Result<bool> report_ended(const std::string& server, const EndedLaunch& launch,
                                        const AuthenticationMethods& methods,
                                        std::chrono::milliseconds timeout);

/// What the clients have agreed on.
struct Agreement {
  JobMap map;
  /// Known to the impishim clients of the job; nothing where the server is foreign, since all
  /// clients then are to each other.
  std::optional<JobSecret> secret;
};

/// The connection to the rendezvous server, kept until finish(). It announces itself to the server;
/// to one of ours, which answers that, it offers the private labels, and to others what IMPI knows
/// and nothing else.
class ServerConnection {
 public:
  /// Connects, authenticates and joins: AUTH, IMPI. Blocks until all clients are there, and says on
  /// standard error for whom it waits. Connects again if the server closes without a word before
  /// the client has joined: it makes room when many connect. kTimeout: the server is silent (see
  /// ServerPatience).
  [[nodiscard]] static Result<ServerConnection> connect(const std::string& server,
                                                        std::int32_t client,
                                                        const AuthenticationMethods& methods,
                                                        int timeout_ms,
                                                        ServerPatience patience = {});
  /// COLL of every mandated label and our own, DONE; checks and negotiates. Blocks until all
  /// clients are done. kTimeout: as connect().
  [[nodiscard]] Result<Agreement> exchange(const JoinOptions& options);
  /// Sends FINI and closes.
  [[nodiscard]] Result<void> finish();
  /// Closes the connection in a child of fork(), where nothing else of it may be used.
  /// Async-signal-safe.
  void close_in_forked_child() { stream_->close_in_forked_child(); }
  /// This side's address of the connection: what other systems can probably reach.
  [[nodiscard]] Result<HostId> local_address() const;
  [[nodiscard]] std::int32_t client_count() const { return client_count_; }
  /// The server is one of ours.
  [[nodiscard]] bool server_is_ours() const { return stream_->ours(); }
  /// After exchange(), while the job connects: see ServerStream::watch() and given_up().
  [[nodiscard]] Result<int> watch() { return stream_->watch(); }
  [[nodiscard]] std::optional<Error> given_up() { return stream_->given_up(); }

 private:
  [[nodiscard]] Result<void> join(std::int32_t client, const AuthenticationMethods& methods);

  std::unique_ptr<ServerStream> stream_;
  std::int32_t client_count_ = 0;
};

}  // namespace impishim::wire
