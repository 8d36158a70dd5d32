// SPDX-License-Identifier: Apache-2.0
/// The end of traffic: FINI (IMPI 3.8, 2.4), abort, failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/peer/readiness.hpp"

namespace impishim::wire {

/// Ends links and the engine. All functions run with the engine's lock held.
class Shutdown {
 public:
  /// The parts of the engine that end.
  struct Parts {
    const EngineSettings& settings;
    EngineState& state;
    SharedFlags& flags;
    EngineFailure& failure;
    PeerTable& peers;
    Readiness& readiness;
    LinkSender& sender;
    SendPath& send_path;
    ReceivePath& receive_path;
  };
  explicit Shutdown(const Parts& parts) : parts_(parts) {}

  /// Announces the end of this process's traffic; a later advance() continues.
  void close();
  /// Sends the FINI packets that may be sent now. FINI on a local link ends the traffic of this
  /// process; FINI on a host link ends the traffic of all procs of this host. Each FINI is queued
  /// behind everything that was sent before it.
  void advance();
  [[nodiscard]] bool closing() const { return closing_; }
  /// Ends the link to a direct host; a later advance_released() continues.
  void release(std::int32_t host);
  /// Returns the links that have ended, and forgets them.
  [[nodiscard]] std::vector<Link*> advance_released();
  [[nodiscard]] bool has_released() const { return !released_.empty(); }
  /// Returns true if all links are closed. Host links are read to their end: closing a connection
  /// with unread bytes would reset it before the peer has read everything.
  [[nodiscard]] bool closed() const;

  /// Tells every reachable process of this library that the job ends.
  void announce_abort(std::int32_t exit_code, const std::string& text);
  /// Handles such an announcement, whose text is the payload that has arrived on `link`.
  void abort_arrived(Link& link);
  /// Sends the rest of the abort announcements, and of a packet before them. Returns the number of
  /// packets that left.
  [[nodiscard]] std::size_t flush_after_failure();

  /// Handles a LOST packet. Returns kProtocol if it names no client of this job.
  [[nodiscard]] Result<void> loss_arrived(const Link& link);
  [[nodiscard]] bool has_losses() const { return !losses_.empty(); }
  /// Handles the losses that were found since the last call. No packet may be half handled.
  void advance_losses();

  /// Do what FailureHandler says.
  void link_ended(Link& link, const Error& error);
  [[nodiscard]] bool survives_end_of(const Link& link) const;
  void fail(const Error& error);

 private:
  /// A client that is lost, and how this process has heard of it.
  struct Loss {
    std::int32_t client;
    std::string text;
  };
  // loss.cpp
  [[nodiscard]] bool may_survive() const;
  [[nodiscard]] std::int32_t client_at(const Link& link) const;
  [[nodiscard]] std::int32_t own_client() const {
    return parts_.settings.job.proc(parts_.settings.here).client;
  }
  void lose(const Loss& loss);
  void go_on_without(const Loss& loss);
  void end_this_client(const Loss& loss);
  void announce_loss(Link& link, std::int32_t client);
  void close_lost(Link& link, std::int32_t client);

  void announce_abort_over(Link& link, std::int32_t exit_code, const std::string& text);
  void send_fini(Link& link);
  /// Goes on with the end of a link. Returns true when the link is closed.
  bool advance_link(Link& link);

  Parts parts_;
  bool closing_ = false;
  std::vector<Loss> losses_;     ///< not handled yet
  std::vector<Link*> released_;  ///< links to direct hosts that have not ended yet
};

}  // namespace impishim::wire
