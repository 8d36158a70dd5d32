// SPDX-License-Identifier: Apache-2.0
#include "shim/job/stand_watch.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "shim/job/job.hpp"
#include "wire/base/log.hpp"

namespace impishim::shim {
namespace {

using Clock = std::chrono::steady_clock;

/// The time without a stand after which the progress thread goes back to sleep.
constexpr std::chrono::seconds kWatchOn{1};

bool stands(std::uint64_t changes) { return changes % 2 != 0; }

/// Returns a text that names the operation that waits for the thread and the remedy. Empty if no
/// such operation is known.
std::string text_of(Job& job, const VendorCallKind& call) {
  std::string waiting;
  std::string cure = call.collective
                         ? "set IMPISHIM_NATIVE_COLLECTIVES=polled, or use MPI_THREAD_MULTIPLE"
                         : "complete that operation before this call";
  if (const auto message = job.engine->unanswered()) {
    waiting = fmt::format(
        "a message of {} bytes with tag {} from rank {} of the job waits for a receive from "
        "MPI_ANY_SOURCE",
        message->bytes, message->tag, message->source);
    if (message->standard)
      cure += fmt::format(", or set IMPISHIM_EARLY_MESSAGE_LIMIT to at least {}", message->bytes);
  } else if (const char* collective = job.outstanding.held_up(); collective != nullptr) {
    waiting = fmt::format("{}, outstanding on a communicator that spans systems, is not moved on",
                          collective);
  }
  if (waiting.empty()) return waiting;
  return fmt::format(
      "{} inside this system has lasted {} s, and meanwhile {}; if the program hangs: {}",
      call.function, job.diagnostics.stand_seconds, waiting, cure);
}

}  // namespace

bool StandWatch::enter(const VendorCallKind& call) {
  if (stands(changes_.load(std::memory_order_relaxed))) return false;
  call_.store(&call, std::memory_order_relaxed);
  changes_.fetch_add(1);
  return true;
}

void StandWatch::leave() { changes_.fetch_add(1); }

bool StandWatch::tick(Job& job) {
  const std::uint64_t changes = changes_.load();
  const auto now = Clock::now();
  if (changes != seen_) {
    seen_ = changes;
    seen_since_ = now;
    return true;
  }
  if (!stands(changes)) return now - seen_since_ < kWatchOn;
  watch(job, changes);
  return true;
}

/// Called when the thread has been in the same call since the last tick.
void StandWatch::watch(Job& job, std::uint64_t stand) {
  if (!job.engine->relieving()) {
    job.engine->relieve();
    // If the thread has left the call meanwhile, it may have ended the relief before it started.
    if (changes_.load() != stand) return job.engine->end_relief();
  }
  if (told_ || Clock::now() - seen_since_ < std::chrono::seconds(job.diagnostics.stand_seconds))
    return;
  const std::string text = text_of(job, *call_.load(std::memory_order_relaxed));
  if (text.empty() || changes_.load() != stand) return;
  told_ = true;
  log_line(LogArea::kShim, LogLevel::kWarn, text);
}

}  // namespace impishim::shim
