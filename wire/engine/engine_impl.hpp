// SPDX-License-Identifier: Apache-2.0
/// The implementation of the Engine: one lock, and the parts that it protects.
///
/// The parts know those above them in the list of members. `send_path` turns operations into
/// packets, `receive_path` packets into operations, and `relay` passes packets on. `dispatcher`
/// reads the links and hands packets to them; `shutdown` ends links and the engine. The parts do
/// not lock: every function of theirs runs with `mutex` held.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/poller.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/packet_dispatcher.hpp"
#include "wire/engine/shutdown.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/path/relay.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/peer/readiness.hpp"

namespace impishim::wire {

/// A message that the application owns, between MPI_Mprobe and MPI_Mrecv.
class MatchedMessage {
 public:
  explicit MatchedMessage(std::list<Message>&& message) : message_(std::move(message)) {}
  [[nodiscard]] std::list<Message> take() { return std::move(message_); }

 private:
  std::list<Message> message_;
};

class Engine::Impl final : public OutputOwner, public FailureHandler {
 public:
  /// `batches_wait` is true while messages of this process wait in a batch.
  Impl(EngineOptions options, std::atomic<bool>& batches_wait);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() = default;

  // engine.cpp
  [[nodiscard]] bool has_failed() const { return failure.happened(); }
  std::size_t poll(bool application_waits) IMPISHIM_REQUIRES(mutex);
  std::size_t poll_links() IMPISHIM_REQUIRES(mutex);
  std::size_t poll_link(Link& link) IMPISHIM_REQUIRES(mutex);
  void remove_released() IMPISHIM_REQUIRES(mutex);

  // OutputOwner, FailureHandler
  void packet_left(SendOperation& operation) override IMPISHIM_REQUIRES(mutex) {
    send_path.packet_left(operation);
  }
  void passed_on(Link& from, std::size_t bytes) override IMPISHIM_REQUIRES(mutex) {
    relay.passed_on(from, bytes);
  }
  [[nodiscard]] bool refill(Link& link) override IMPISHIM_REQUIRES(mutex) {
    return send_path.refill(link);
  }
  void fail(const Error& error) override IMPISHIM_REQUIRES(mutex) { shutdown.fail(error); }
  void link_ended(Link& link, const Error& error) override IMPISHIM_REQUIRES(mutex) {
    shutdown.link_ended(link, error);
  }
  [[nodiscard]] bool survives_end_of(const Link& link) const override IMPISHIM_REQUIRES(mutex) {
    return shutdown.survives_end_of(link);
  }

  // state_report.cpp
  static void add_host_traffic(EngineCounters& counters, const Link& link);
  void add_traffic(EngineCounters& counters) const IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::string report() IMPISHIM_REQUIRES(mutex);
  void report_if_asked() IMPISHIM_REQUIRES(mutex);

  EngineSettings settings;  ///< grows under the lock
  SharedFlags flags;
  EngineFailure failure;
  Poller poller;
  std::array<std::atomic<PollObserver*>, Engine::kMostObservers> observers{};

  Mutex mutex;
  EngineState state IMPISHIM_GUARDED_BY(mutex);
  PeerTable peers IMPISHIM_GUARDED_BY(mutex);
  Readiness readiness IMPISHIM_GUARDED_BY(mutex);
  LinkSender sender IMPISHIM_GUARDED_BY(mutex);
  Relay relay IMPISHIM_GUARDED_BY(mutex);
  SendPath send_path IMPISHIM_GUARDED_BY(mutex);
  ReceivePath receive_path IMPISHIM_GUARDED_BY(mutex);
  Shutdown shutdown IMPISHIM_GUARDED_BY(mutex);
  PacketDispatcher dispatcher IMPISHIM_GUARDED_BY(mutex);
  /// Reset at the next poll, since sockets are never skipped twice in a row.
  bool skipped_hosts IMPISHIM_GUARDED_BY(mutex) = false;
};

}  // namespace impishim::wire
