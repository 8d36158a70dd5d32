// SPDX-License-Identifier: Apache-2.0
/// A client's connection to its rendezvous server as a stream of messages. It has a time limit for
/// each answer, and reports to the user while it waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {

/// Time limits of a client that waits for its server.
struct ServerPatience {
  /// Longest silence of an impishim server. Such a server sends notices more often than that while
  /// it waits for other clients. Also the longest time until any server chooses a method.
  std::chrono::milliseconds answer{60000};
  /// Longest silence of a foreign server after all clients have joined. Before that there is no
  /// limit, because it may be silent until the last client joins.
  std::chrono::milliseconds foreign_answer{120000};
  std::chrono::milliseconds report{10000};  ///< between two lines on standard error while it waits
  /// Longest silence of an impishim server after FINI.
  std::chrono::milliseconds leaving{10000};
  /// For the whole exchange, from the beginning.
  std::optional<std::chrono::milliseconds> all = std::nullopt;
};

class ServerStream {
 public:
  /// What the stream waits for. It selects the time limit and the text for the user.
  enum class Phase : std::uint8_t { kMethod, kJoining, kLabels, kLeaving };

  /// `server` is the server's address, for messages.
  ServerStream(Descriptor socket, std::string server, ServerPatience patience);

  /// Encrypts the connection: both ends prove that they know the secret, or have a certificate that
  /// is trusted. Call it before any other function. Blocks at most `timeout_ms`. Fails as
  /// make_tls_channels() and terms_with_server() do; the text says what may differ. With
  /// certificates, message() may be what tells that the server refuses this end's.
  [[nodiscard]] Result<void> encrypt(const SharedSecret& shared, int timeout_ms);

  /// Sends all bytes, and reads what arrives meanwhile. Fails as message() does.
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes);
  /// Blocks until a message arrives that the stream does not handle itself. (It handles our
  /// commands kHello, kWaiting, kNote and kSaid.) Fails with kConnection if the connection has
  /// ended; the text is the server's reason if it gave one. Fails with kTimeout if the server was
  /// silent for too long.
  [[nodiscard]] Result<StartupMessage> message();
  /// Blocks as message() does until `command` arrives, and skips other messages.
  [[nodiscard]] Result<StartupMessage> await(StartupCommand command);
  /// Blocks until the server has chosen a method. The answer is unframed: which:Int4, len:Int4 and
  /// len bytes. Our command kSaid may arrive instead, which is framed.
  [[nodiscard]] Result<std::int32_t> method();
  /// Reads what has arrived, without blocking. Fails as message() does if the stream has ended.
  [[nodiscard]] Result<void> check_open();
  /// Blocks until the server has ended the stream in order, and skips messages. Fails as message()
  /// does, also if the connection was reset.
  [[nodiscard]] Result<void> await_end();
  /// Lets the server be silent for `time`, without a report to the user.
  void be_patient(std::chrono::milliseconds time);
  /// Starts a new phase; the time limit and reports begin again.
  void begin(Phase phase);

  /// Returns true if the server has answered kHello, so it is an impishim server.
  [[nodiscard]] bool ours() const { return ours_; }
  /// Returns the token of the server's relay, if the server has answered kHello with one.
  [[nodiscard]] const std::optional<RelayToken>& relay() const { return relay_; }
  /// Returns true if the server has closed the connection without a reason.
  [[nodiscard]] bool ended_without_reason() const { return closed_ && said_.empty(); }

  /// Returns a descriptor that becomes readable when given_up() should be called. The stream owns
  /// it. Fails with kSystem if it cannot be created.
  [[nodiscard]] Result<int> watch();
  /// Reads what the server has sent, without blocking. Returns the reason if the server has given
  /// the job up. A server that disconnects without a reason does not end the job, and is no longer
  /// watched.
  [[nodiscard]] std::optional<Error> given_up();

  [[nodiscard]] bool encrypted() const { return encrypted_ != nullptr; }
  /// Tells the server that nothing more will be sent.
  void shutdown_output();
  /// Returns the socket, which must not be written to or read from.
  [[nodiscard]] int socket() const { return socket_number_; }
  /// Closes the descriptors in a child of fork(); the child must not use anything else of the
  /// stream. Async-signal-safe.
  void close_in_forked_child() {
    socket_.reset();
    if (encrypted_) encrypted_->close_in_forked_child();
    watch_.reset();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// As try_send() of a Channel; the number is errno, or 0 if it is not known.
  [[nodiscard]] Result<std::size_t> send_some(std::span<const std::byte> bytes, int& error);
  [[nodiscard]] Result<std::size_t> receive_some(std::span<std::byte> room, int& error);
  [[nodiscard]] bool is_for_stream(const StartupMessage& message);
  /// Returns true if any bytes arrived.
  [[nodiscard]] Result<bool> read_available();
  [[nodiscard]] Result<void> wait_for(short events);
  [[nodiscard]] int watched_descriptor() const {
    return encrypted_ ? encrypted_->descriptor() : socket_.get();
  }
  [[nodiscard]] Error dead_machine() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> bound() const;
  [[nodiscard]] std::string awaited() const;

  Descriptor socket_;  ///< not valid if the connection is encrypted
  std::unique_ptr<Channel>
      encrypted_;  ///< owns the socket; null if the connection is not encrypted
  int socket_number_;
  std::string server_;
  ServerPatience patience_;
  StartupDecoder decoder_;
  Phase phase_ = Phase::kMethod;
  bool ours_ = false;
  std::optional<RelayToken> relay_;
  bool ended_ = false;     ///< true if nothing more will arrive
  bool closed_ = false;    ///< true if the server closed it
  bool in_order_ = false;  ///< true if it did so by the end of the stream, not by a reset
  std::string said_;
  std::optional<WaitingNotice> notice_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point waiting_since_;
  Clock::time_point heard_;  ///< time at which the latest bytes arrived, or the phase began
  Clock::time_point next_report_;
  Descriptor watch_;  ///< an epoll descriptor that contains the socket
};

}  // namespace impishim::wire
