// SPDX-License-Identifier: Apache-2.0
/// A client's connection to its rendezvous server as a stream of messages. It has a time limit for
/// each answer, and reports to the user while it waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/startup/startup_message.hpp"

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
  /// For the whole exchange, from the beginning.
  std::optional<std::chrono::milliseconds> all = std::nullopt;
};

class ServerStream {
 public:
  /// What the stream waits for. It selects the time limit and the text for the user.
  enum class Phase : std::uint8_t { kMethod, kJoining, kLabels };

  /// `server` is the server's address, for messages.
  ServerStream(Descriptor socket, std::string server, ServerPatience patience);

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
  /// Starts a new phase; the time limit and reports begin again.
  void begin(Phase phase);

  /// Returns true if the server has answered kHello, so it is an impishim server.
  [[nodiscard]] bool ours() const { return ours_; }
  /// Returns true if the server has closed the connection without a reason.
  [[nodiscard]] bool ended_without_reason() const { return closed_ && said_.empty(); }

  /// Returns a descriptor that becomes readable when given_up() should be called. The stream owns
  /// it. Fails with kSystem if it cannot be created.
  [[nodiscard]] Result<int> watch();
  /// Reads what the server has sent, without blocking. Returns the reason if the server has given
  /// the job up. A server that disconnects without a reason does not end the job, and is no longer
  /// watched.
  [[nodiscard]] std::optional<Error> given_up();

  [[nodiscard]] int socket() const { return socket_.get(); }
  /// Closes the descriptors in a child of fork(); the child must not use anything else of the
  /// stream. Async-signal-safe.
  void close_in_forked_child() {
    socket_.reset();
    watch_.reset();
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_for_stream(const StartupMessage& message);
  /// Returns true if any bytes arrived.
  [[nodiscard]] Result<bool> read_available();
  [[nodiscard]] Result<void> wait_for(short events);
  [[nodiscard]] Error dead_machine() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> bound() const;
  [[nodiscard]] std::string awaited() const;

  Descriptor socket_;
  std::string server_;
  ServerPatience patience_;
  StartupDecoder decoder_;
  Phase phase_ = Phase::kMethod;
  bool ours_ = false;
  bool ended_ = false;   ///< true if nothing more will arrive
  bool closed_ = false;  ///< true if the server closed it
  std::string said_;
  std::optional<WaitingNotice> notice_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point waiting_since_;
  Clock::time_point heard_;  ///< time at which the latest bytes arrived, or the phase began
  Clock::time_point next_report_;
  Descriptor watch_;  ///< an epoll descriptor that contains the socket
};

}  // namespace impishim::wire
