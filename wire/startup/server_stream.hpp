/// A client's connection to its rendezvous server as a stream of messages, with a bound for each
/// answer and a word to the user while it waits.
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

/// How long a client waits for its server.
struct ServerPatience {
  /// Of silence of a server of ours, which sends a notice more often than that while it waits for
  /// other clients; and for any server's choice of a method.
  std::chrono::milliseconds answer{60000};
  /// Of silence of a foreign server once all have joined. Before that it may be silent for as long
  /// as others stay away.
  std::chrono::milliseconds foreign_answer{120000};
  std::chrono::milliseconds report{10000};  ///< between two lines on standard error while it waits
  std::optional<std::chrono::milliseconds> all =
      std::nullopt;  ///< for everything together, from the beginning
};

class ServerStream {
 public:
  /// What is waited for: it decides on the bound and on what the user is told.
  enum class Phase : std::uint8_t { kMethod, kJoining, kLabels };

  /// `server`: its address, for messages.
  ServerStream(Descriptor socket, std::string server, ServerPatience patience);

  /// Sends all of it, and takes in what comes meanwhile. Errors: as message().
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes);
  /// Blocks until a message has come that is not for the stream itself (ours: kHello, kWaiting,
  /// kNote, kSaid). kConnection: the connection has ended; the text is the server's reason, if it
  /// gave one. kTimeout: the server was silent for too long.
  [[nodiscard]] Result<StartupMessage> message();
  /// Blocks as message() does, and skips what is not `command`.
  [[nodiscard]] Result<StartupMessage> await(StartupCommand command);
  /// Blocks until the server has chosen a method: which:Int4, len:Int4 and len bytes, unframed; or
  /// our kSaid, which is framed.
  [[nodiscard]] Result<std::int32_t> method();
  /// What follows is waited for from now on.
  void begin(Phase phase);

  /// The server has answered kHello.
  [[nodiscard]] bool ours() const { return ours_; }
  /// The server has closed and not said why.
  [[nodiscard]] bool ended_without_reason() const { return closed_ && said_.empty(); }

  /// Returns a descriptor that is readable when given_up() may know more. It belongs to the stream.
  /// kSystem: it cannot be made.
  [[nodiscard]] Result<int> watch();
  /// Takes in what the server has sent, without blocking. Returns why it has given the job up, if
  /// it has. A server that has disconnected without a word ends no job, and is not watched any
  /// longer.
  [[nodiscard]] std::optional<Error> given_up();

  [[nodiscard]] int socket() const { return socket_.get(); }
  /// Closes the descriptors in a child of fork(), where nothing else of the stream may be used.
  /// Async-signal-safe.
  void close_in_forked_child() {
    socket_.reset();
    watch_.reset();
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_for_stream(const StartupMessage& message);
  /// Returns whether anything came.
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
  bool ended_ = false;   ///< nothing more will come
  bool closed_ = false;  ///< by the server
  std::string said_;
  std::optional<WaitingNotice> notice_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point waiting_since_;
  Clock::time_point heard_;  ///< when the latest bytes came, or the phase began
  Clock::time_point next_report_;
  Descriptor watch_;  ///< an epoll descriptor with the socket in it
};

}  // namespace impishim::wire
