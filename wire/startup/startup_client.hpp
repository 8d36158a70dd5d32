// SPDX-License-Identifier: Apache-2.0
/// A client's side of startup (IMPI 2.3): what it contributes, and what the job agrees on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/server_stream.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The values that the user set. -1 in a std::int32_t stands for the default (IMPI 2.3.5).
struct ClientValues {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> versions = {{0, 0}};
  std::uint32_t datalen = 65536;
  std::int32_t tag_ub = 2147483647;
  std::uint32_t ackmark = 10;
  std::uint32_t hiwater = 20;
  std::int32_t coll_xsize = -1;
  std::int32_t coll_maxlinear = -1;
  /// Reads and checks IMPISHIM_DATALEN, IMPISHIM_ACKMARK, IMPISHIM_HIWATER, IMPISHIM_COLL_XSIZE,
  /// IMPISHIM_COLL_MAXLINEAR and IMPISHIM_TAG_UB. Fails with kConfiguration; the text names the
  /// variable, its value and the allowed range.
  [[nodiscard]] static Result<ClientValues> from_environment();
};

/// One host of this client, as it is announced.
struct LocalHost {
  HostId address{};
  std::uint16_t port = 0;
  std::vector<ProcId> procs;
  std::int32_t gateway = -1;  ///< as in Host; either all hosts of a client have a gateway, or none
  std::string node;           ///< the node's own name; empty if unknown
  std::vector<HostId> more_addresses{};  ///< as in Host; at most kMostAddresses - 1
};

/// The server to join, and the data to join with.
struct JoinOptions {
  std::string server;       ///< "address:port", IPv4, [IPv6]:port or a name
  std::int32_t client = 0;  ///< 0 ... clients - 1
  ClientValues values;
  std::uint64_t representation = 0;
  std::uint64_t collectives = 0;
  ClientTraits traits;
  std::vector<std::string> fabrics;  ///< see Client
  bool fabric_required = false;
  std::vector<LocalHost> hosts;
  /// For connecting; only the server limits how long the client waits for other clients.
  int timeout_ms = 60000;
};

/// Returns a TCP connection to "address:port", established within `timeout_ms`. Fails with
/// kConfiguration if there is no such address, and with kConnection if the server cannot be
/// reached.
[[nodiscard]] Result<Descriptor> connect_to_server(const std::string& server, int timeout_ms);

/// Connects to the server, proves that this end may, and announces it and what it is by `command`,
/// which is a framed message and replaces IMPI. Blocks for `timeout_ms` to connect, and as
/// `patience` says after that. Fails as ServerConnection::connect() does.
[[nodiscard]] Result<std::unique_ptr<ServerStream>> address_server(
    const std::string& server, const AuthenticationMethods& methods,
    std::span<const std::byte> command, int timeout_ms, const ServerPatience& patience);

/// Reports to the server that the processes of `launch` have ended. Returns true if they never
/// joined; then the server has told the clients that wait for them. Blocks for at most `timeout`,
/// plus the time to resolve a name. After an error nothing is known: the server may have ended with
/// its job, may be foreign, or may refuse the report.
[[nodiscard]] Result<bool> report_ended(const std::string& server, const EndedLaunch& launch,
                                        const AuthenticationMethods& methods,
                                        std::chrono::milliseconds timeout);

/// What the clients have agreed on.
struct Agreement {
  JobMap map;
  /// Known only to the impishim clients of the job. Nothing if the server is foreign, because then
  /// all clients treat each other as foreign.
  std::optional<JobSecret> secret;
};

/// The connection to the rendezvous server, kept until finish(). It announces itself to the server.
/// An impishim server answers the announcement and is offered the private labels. Other servers get
/// only what IMPI defines.
class ServerConnection {
 public:
  /// Connects, authenticates and joins (AUTH, IMPI). Blocks until all clients have joined, and
  /// reports on standard error which clients it waits for. Connects again if the server closes the
  /// connection without a reason before the client has joined, because a server does that to make
  /// room when many clients connect. Fails with kTimeout if the server is silent (see
  /// ServerPatience).
  [[nodiscard]] static Result<ServerConnection> connect(const std::string& server,
                                                        std::int32_t client,
                                                        const AuthenticationMethods& methods,
                                                        int timeout_ms,
                                                        ServerPatience patience = {});
  /// Sends one label of ours and returns its answer: the data of all clients that have sent it.
  /// Blocks until all clients have sent it or a later one. Labels must ascend. Fails with kProtocol
  /// if the server is foreign, and with kTimeout as connect() does.
  [[nodiscard]] Result<CollectedLabel> exchange_label(std::uint32_t label,
                                                      std::span<const std::byte> data);
  /// Tells the other clients the size of this system, before exchange(). Returns the sizes of all
  /// clients that tell theirs, in the order of the clients: none if the server is foreign. Blocks
  /// until all have told it or have sent another label. Fails with kTimeout as connect() does.
  [[nodiscard]] Result<std::vector<SystemSize>> exchange_sizes(const SystemSize& own);
  /// Sends COLL for every mandatory label and for our own labels, then DONE. Checks and negotiates
  /// the answers. Blocks until all clients are done. Fails with kConfiguration if systems on
  /// several machines would talk in clear and this system's user has not said IMPISHIM_TLS=off;
  /// with a foreign system, that is only a warning. Fails with kTimeout as connect() does.
  [[nodiscard]] Result<Agreement> exchange(const JoinOptions& options);
  /// Tells the server, after exchange(), whether this client goes on when another one is lost. Has
  /// no effect if the server is foreign. Fails with kConnection or kTimeout if the connection is
  /// lost.
  [[nodiscard]] Result<void> tell_going_on(bool goes_on);
  /// Sends FINI and closes the connection. An impishim server confirms it; if the connection turns
  /// out to be lost, connects again, for at most `may_return`, to say it then. Fails with
  /// kConnection or kTimeout if the server may not know that this client has finished.
  [[nodiscard]] Result<void> finish(std::chrono::seconds may_return = {});
  /// Closes the connection in a child of fork(); the child must not use anything else of it.
  /// Async-signal-safe.
  void close_in_forked_child() { stream_->close_in_forked_child(); }
  /// Returns this side's address of the connection, which other systems can probably reach.
  [[nodiscard]] Result<HostId> local_address() const;
  [[nodiscard]] std::int32_t client_count() const { return client_count_; }
  /// Returns true if this system's user has a secret or certificates, so that the job is to be
  /// encrypted.
  [[nodiscard]] bool encrypted() const { return stream_->encrypted(); }
  /// Returns true if the server is an impishim server.
  [[nodiscard]] bool server_is_ours() const { return stream_->ours(); }
  /// Returns the token of the server's relay, or nothing if it has none.
  [[nodiscard]] const std::optional<RelayToken>& relay() const { return stream_->relay(); }
  /// These two may be called after exchange(), while the job connects: see ServerStream::watch()
  /// and given_up().
  [[nodiscard]] Result<int> watch() { return stream_->watch(); }
  [[nodiscard]] std::optional<Error> given_up() { return stream_->given_up(); }

 private:
  [[nodiscard]] Result<void> join(std::int32_t client, const AuthenticationMethods& methods);

  [[nodiscard]] Result<void> say_fini();
  [[nodiscard]] Result<void> return_to_server();

  std::unique_ptr<ServerStream> stream_;
  std::string server_;
  std::int32_t client_ = 0;
  std::int32_t client_count_ = 0;
  bool may_be_clear_ = false;  ///< true if the user has said that nothing is to be encrypted
};

}  // namespace impishim::wire
