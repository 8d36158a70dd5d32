// SPDX-License-Identifier: Apache-2.0
/// Sends and receives as the engine sees them. The caller owns an operation, fills in its public
/// fields, and starts it on the Engine. The operation, its buffer and its layout must stay in place
/// until complete() is true.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/result.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

using ContextId = std::uint64_t;

/// The context of messages of the library itself: short ones, which the counters of messages and of
/// payload bytes leave out. No communicator has it; ids that one process assigns start above it.
inline constexpr ContextId kLibraryContext = ContextId{1} << 62U;

/// Contexts of services (windows, files), from here on. Ranks of their messages are world ranks,
/// and a receiver counts the process that has sent a message by its own numbers, whatever the
/// message says: jobs that are connected number each other's processes differently.
inline constexpr ContextId kServiceContexts = ContextId{1} << 63U;

/// The context of messages that compare clocks, which no trace shows.
inline constexpr ContextId kClockContext = kServiceContexts + 32;

inline constexpr std::int32_t kAnySource = -1;  ///< source of a receive or probe: any sender
inline constexpr std::int32_t kAnyTag = -1;     ///< tag of a receive or probe: any tag

/// The result of a finished operation, or of a probe.
struct Envelope {
  std::int32_t source = kAnySource;  ///< rank in the communicator (pk_lsrank)
  std::int32_t tag = kAnyTag;
  std::uint64_t wire_bytes = 0;  ///< bytes of the whole message as packed on the wire
  /// Bytes received, in this machine's representation; for a probe: the best estimate.
  std::uint64_t native_bytes = 0;
  bool cancelled = false;
  /// KTruncation, kConversion, kConnection ...; the other fields are still set.
  std::optional<Error> error;
};

class SendPath;
class ReceivePath;

/// Common part of operations: completion, which any thread may read.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Returns true once the engine no longer uses the operation. `result` may then be read, and the
  /// operation reused or destroyed.
  [[nodiscard]] bool complete() const { return complete_.load(std::memory_order_acquire); }

  Envelope result;
  void* owner = nullptr;  ///< for the caller; the engine does not use it

 protected:
  ~Operation() = default;
  friend class SendPath;
  friend class ReceivePath;
  void begin() { complete_.store(false, std::memory_order_relaxed); }
  void finish() { complete_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> complete_{true};
};

enum class SendMode : std::uint8_t {
  kStandard,     ///< complete when the buffer may be reused (also ready and buffered sends)
  kSynchronous,  ///< complete when a receive has matched
};

/// A message to another system's process.
class SendOperation : public Operation {
 public:
  WorldRank destination = 0;
  ContextId context = 0;
  std::int32_t source_rank = 0;  ///< the sender's rank in the communicator
  std::int32_t tag = 0;
  SendMode mode = SendMode::kStandard;
  ConstBuffer buffer;

 private:
  friend class SendPath;
  enum class Phase : std::uint8_t {
    kIdle,
    kHeldByFlowControl,
    kQueued,
    kAwaitingSyncAck,
    kStreaming,
    kDone
  };
  Phase phase_ = Phase::kIdle;
  bool cancelling_ = false;
  bool question_held_ = false;  ///< its CANCEL waits for credit
  std::uint32_t packets_queued_ = 0;
  std::chrono::steady_clock::time_point asked_at_{};  ///< only where answers are timed
  std::uint64_t request_id_ = 0;
  std::uint64_t peer_request_id_ = 0;
  PackCursor cursor_;
};

/// A message that needs no operation: Engine::send_short().
struct ShortMessage {
  WorldRank destination = 0;
  ContextId context = 0;
  std::int32_t source_rank = 0;  ///< the sender's rank in the communicator
  std::int32_t tag = 0;
  std::span<const std::byte> bytes;  ///< in this machine's representation
  /// The sender expects to send more soon: the message waits in its batch, until the next message
  /// that does not wait, the next poll, or Engine::send_batches().
  bool may_wait = false;
};

/// A receive that messages of other systems may match.
class ReceiveOperation : public Operation {
 public:
  ContextId context = 0;
  std::int32_t source = kAnySource;  ///< rank in the communicator, or kAnySource
  std::int32_t tag = kAnyTag;
  MutableBuffer buffer;
  /// The same receive is also posted to the vendor's MPI (MPI_ANY_SOURCE). A message that would
  /// match makes the operation *contested* instead of matching it; see Engine::contested() and
  /// Engine::settle(). Set it before start(). Post the twin after start() only if it is still set:
  /// a message that has arrived already matches at once and clears it.
  bool has_native_twin = false;

 private:
  friend class ReceivePath;
  enum class Phase : std::uint8_t { kIdle, kPosted, kContested, kReceiving, kDone };
  Phase phase_ = Phase::kIdle;
  bool early_ = false;  ///< the engine's own receive of an EarlyMessage, which owns it
  WorldRank sender_ = -1;
  std::uint64_t arrived_ = 0;
  UnpackCursor cursor_;
};

}  // namespace impishim::wire
