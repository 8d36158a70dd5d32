// SPDX-License-Identifier: Apache-2.0
/// The state that the parts of an engine share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/base/result.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/lost_clients.hpp"
#include "wire/trace/trace.hpp"

namespace impishim::wire {

struct Link;

/// The engine's lock protects all of it.
struct EngineState {
  explicit EngineState(std::size_t largest_buffer) : buffers(largest_buffer) {}

  /// Returns the number by which a peer refers to an operation.
  [[nodiscard]] std::uint64_t new_request_id() { return next_request_id_++; }

  BufferPool buffers;
  EngineCounters counters;
  LostClients lost;
  bool times_answers = false;
  Trace* trace = nullptr;  ///< null if nothing is traced

 private:
  std::uint64_t next_request_id_ = 1;
};

/// What threads read without the engine's lock. All members but `report_asked` change under it.
struct SharedFlags {
  /// `batches` is true while messages of this process wait in a batch.
  explicit SharedFlags(std::atomic<bool>& batches) : batches_wait(batches) {}

  /// Counts a poll of the application without the cost of an atomic increment, since every poll of
  /// every wait calls it.
  void count_application_poll() {
    application_polls.store(application_polls.load(std::memory_order_relaxed) + 1,
                            std::memory_order_relaxed);
  }

  std::atomic<bool>& batches_wait;
  std::atomic<std::uint64_t> application_polls{0};
  std::atomic<std::size_t> contested{0};  ///< receives for which a message of another system waits
  std::atomic<bool> relieving{false};     ///< the program's thread is inside a vendor call
  std::atomic<bool> watching{false};      ///< the links' descriptors are in the poller
  std::atomic<bool> always_watching{false};  ///< they stay there
  std::atomic<bool> report_asked{false};
  std::atomic<bool> survives_losses{false};  ///< the loss of another system does not end this one
  std::atomic<std::size_t> lost_clients{0};  ///< number of systems that are lost
};

/// Why the engine has stopped. Written once, under the engine's lock; any thread reads it.
class EngineFailure {
 public:
  [[nodiscard]] bool happened() const { return happened_.load(std::memory_order_relaxed); }
  /// Returns the reason, or null if the engine works.
  [[nodiscard]] const Error* error() const {
    return happened_.load(std::memory_order_acquire) ? &*error_ : nullptr;
  }
  /// Returns the exit code that came with an abort announcement, or nothing.
  [[nodiscard]] std::optional<std::int32_t> abort_code() const {
    return happened_.load(std::memory_order_acquire) ? abort_code_ : std::nullopt;
  }

  /// Sets the exit code that abort_code() returns from set() on.
  void set_abort_code(std::int32_t code) { abort_code_ = code; }
  void set(const Error& error) {
    error_ = error;
    happened_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> happened_{false};
  std::optional<Error> error_;
  std::optional<std::int32_t> abort_code_;
};

/// Ends links and the engine. The parts of the engine tell it what they find broken.
class FailureHandler {
 public:
  FailureHandler() = default;
  FailureHandler(const FailureHandler&) = delete;
  FailureHandler& operator=(const FailureHandler&) = delete;

  /// Stops the engine for good: completes every operation with the error.
  virtual void fail(const Error& error) = 0;
  /// Ends a link that cannot be read or written any more. Stops the engine if the peer has not sent
  /// FINI, or if something still waits for it.
  virtual void link_ended(Link& link, const Error& error) = 0;
  /// Returns true if the loss of the client at the other end of the link does not stop the engine.
  [[nodiscard]] virtual bool survives_end_of(const Link& link) const = 0;

 protected:
  ~FailureHandler() = default;
};

}  // namespace impishim::wire
