// SPDX-License-Identifier: Apache-2.0
/// One-sided communication of a process: its windows as targets, and its own requests as an origin.
///
/// Processes of other systems are reached by one channel, those of the own system by another. A
/// thread that polls the engine calls progress() afterwards, the progress thread too, so a window
/// is served for other systems while its process computes. Only a thread that may call the vendor's
/// MPI serves the own system. Requests of one process to another arrive in order.
///
/// An origin need not wait for a lock: requests that it sends behind the one for the lock are held
/// back at the target until it holds the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/incoming_requests.hpp"
#include "wire/window/lock_queue.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {

/// What a request of this process brings back. The caller owns it, and keeps it in place until it
/// is complete.
class WindowAnswer {
 public:
  /// Returns true when the answer is here, or the engine has failed.
  [[nodiscard]] bool complete() const { return complete_.load(std::memory_order_acquire); }
  /// Returns what became of the request, once it is complete.
  [[nodiscard]] WindowStatus status() const { return status_; }

 private:
  friend class WindowService;
  std::atomic<bool> complete_{true};
  WindowStatus status_ = WindowStatus::kDone;
  WorldRank target_ = 0;
  MutableBuffer result_;  ///< where an answer's data goes
  bool packed_ = false;   ///< long data comes as bytes in the form in which it travels
  std::vector<std::byte> bytes_;
  std::unique_ptr<DataTransfer> receive_;
};

/// A window's number in the job, the same on all its processes.
using WindowId = std::uint64_t;

/// Thread-safe.
class WindowService final : public PollObserver {
 public:
  /// Says which processes are of the own system.
  using IsLocal = std::function<bool(WorldRank)>;

  /// Uses `remote` for processes of other systems, and `local` for those of the own one. `local`
  /// may be null if no request goes there.
  WindowService(WindowChannel& remote, WindowChannel* local, IsLocal is_local);
  WindowService(const WindowService&) = delete;
  WindowService& operator=(const WindowService&) = delete;

  /// Serves a window from now on. `target` outlives remove(). No process may ask for it before all
  /// have called add().
  void add(WindowId window, WindowTarget& target);
  /// Ends that. No request may be under way.
  void remove(WindowId window);

  /// Sends a put or an accumulate. The data is `data` in the origin's memory, which is free to
  /// change as soon as sent() is true for the returned number. request.window, kind, operation,
  /// element, basic or layout, displacement and count describe the target's side. Fails with
  /// kConversion if a value does not fit the representation between the systems; nothing was sent
  /// then.
  [[nodiscard]] Result<std::uint64_t> send(WorldRank target, WindowRequest request,
                                           const ConstBuffer& data);
  /// Sends a request that is answered: a get, an accumulate that fetches, a compare-and-swap, a
  /// flush, a lock or an unlock. An answer's data goes to `result`. Fails as send() does.
  [[nodiscard]] Result<void> ask(WorldRank target, WindowRequest request, const ConstBuffer& data,
                                 const MutableBuffer& result, WindowAnswer& answer);
  /// Sends kPost or kComplete.
  void tell(WorldRank target, WindowRequest request);

  /// Counts a fence that this process has passed: everything that was sent to it before has been
  /// applied. Requests of processes that have passed more fences are held back until then, since
  /// accesses behind a fence must see what came before it at their target (MPI-4.0 12.5.1).
  void pass_fence(WindowId window);

  /// Returns true if the origin's memory of a send() is free to change. A thread that may call the
  /// vendor's MPI asks about requests to the own system.
  [[nodiscard]] bool sent(std::uint64_t ticket);
  /// Returns the first error of a put or an accumulate for this window that has not been returned
  /// yet, or kDone. Complete after a flush.
  [[nodiscard]] WindowStatus take_error(WindowId window);
  /// Returns how many times a process has told this (kPost or kComplete) to this window.
  [[nodiscard]] std::uint64_t told(WindowId window, WorldRank source, WindowRequestKind kind);
  /// Returns the number of requests of a process that have accessed this window's memory, and no
  /// longer do: puts, gets and accumulates.
  [[nodiscard]] std::uint64_t applied(WindowId window, WorldRank source);
  /// Returns that number for all processes.
  [[nodiscard]] std::uint64_t applied(WindowId window);

  /// Who calls progress().
  enum class Caller : std::uint8_t {
    kAnyThread,     ///< handles what concerns other systems
    kVendorsThread  ///< may call the vendor's MPI: handles the own system, too
  };
  /// Handles what has arrived. Returns the number of requests and answers handled. Does nothing if
  /// another thread does.
  std::size_t progress(Caller caller);
  /// Serves other systems after a poll of the engine: Engine::add_poll_observer().
  std::size_t polled() override { return progress(Caller::kAnyThread); }
  /// Returns the error that ended the service, or null.
  [[nodiscard]] const Error* failure() const {
    return failed_.load(std::memory_order_acquire) ? &*failure_ : nullptr;
  }

 private:
  /// A window of this process as a target, and what is known of the others.
  struct Window {
    explicit Window(WindowTarget& target_) : target(target_) {}
    WindowTarget& target;
    std::map<WorldRank, IncomingRequests> incoming;
    LockQueue lock;
    std::map<WorldRank, std::uint64_t> lock_tickets;  ///< of the requests for the lock
    std::uint32_t fences = 0;                         ///< that this process has passed, modulo 2^32
    /// Requests of origins that wait for the lock, or have passed more fences, in their order.
    std::map<WorldRank, std::vector<std::vector<std::byte>>> held_back;
    std::map<std::pair<WorldRank, WindowRequestKind>, std::uint64_t> told;
    WindowStatus error = WindowStatus::kDone;
  };
  /// Long data on its way.
  struct Outgoing {
    WorldRank to = 0;
    std::vector<std::byte> packed;
    std::unique_ptr<DataTransfer> transfer;
  };

  [[nodiscard]] WindowChannel& channel_to(WorldRank rank) const {
    return local_ != nullptr && is_local_(rank) ? *local_ : remote_;
  }
  /// Returns true if the caller may touch what is exchanged with a process.
  [[nodiscard]] bool may_serve(Caller caller, WorldRank rank) const {
    return caller == Caller::kVendorsThread || !is_local_(rank);
  }
  std::size_t take_requests(WindowChannel& channel) IMPISHIM_REQUIRES(mutex_);
  void send_request(WorldRank target, WindowRequest& request, const ConstBuffer& data)
      IMPISHIM_REQUIRES(mutex_);
  /// Sends a message after it has set the number of fences in it.
  void send_message(WorldRank target, WindowRequest& request, std::span<const std::byte> data)
      IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] Result<void> pack(WorldRank target, const WindowRequest& request,
                                  const ConstBuffer& data) IMPISHIM_REQUIRES(mutex_);
  IncomingRequests& incoming_of(Window& window, WorldRank source) IMPISHIM_REQUIRES(mutex_);
  void handle_message(WorldRank source, std::span<const std::byte> message)
      IMPISHIM_REQUIRES(mutex_);
  void handle(WorldRank source, const ArrivedRequest& arrived) IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] bool hold_back(WorldRank source, const WindowRequest& request,
                               std::span<const std::byte> message) IMPISHIM_REQUIRES(mutex_);
  void handle_held_back() IMPISHIM_REQUIRES(mutex_);
  void handle_answer(WorldRank source, const ArrivedRequest& arrived) IMPISHIM_REQUIRES(mutex_);
  void handle_lock(Window& window, WorldRank source, const WindowRequest& request)
      IMPISHIM_REQUIRES(mutex_);
  std::size_t advance_all(Caller caller) IMPISHIM_REQUIRES(mutex_);
  void end_epochs(Window& window, WindowId id, WorldRank source,
                  const std::vector<WindowRequest>& ended) IMPISHIM_REQUIRES(mutex_);
  void reply(WorldRank origin, WindowId window, std::uint64_t ticket) IMPISHIM_REQUIRES(mutex_);
  void grant(Window& window, WindowId id, const std::vector<WorldRank>& origins)
      IMPISHIM_REQUIRES(mutex_);
  std::size_t finish_answers(Caller caller) IMPISHIM_REQUIRES(mutex_);
  void forget_asked_data(Caller caller) IMPISHIM_REQUIRES(mutex_);
  static void finish(WindowAnswer& answer);
  void fail(const Error& error) IMPISHIM_REQUIRES(mutex_);

  WindowChannel& remote_;
  WindowChannel* local_;
  IsLocal is_local_;
  Mutex mutex_;  ///< protects the channels, too
  std::unordered_map<WindowId, std::unique_ptr<Window>> windows_ IMPISHIM_GUARDED_BY(mutex_);
  std::uint64_t next_ticket_ IMPISHIM_GUARDED_BY(mutex_) = 1;
  std::unordered_map<std::uint64_t, Outgoing> outgoing_ IMPISHIM_GUARDED_BY(mutex_);
  /// Those of ask(), about which no caller asks.
  std::vector<std::uint64_t> asked_data_ IMPISHIM_GUARDED_BY(mutex_);
  /// Requests whose answers have not come, and answers whose data has not.
  std::unordered_map<std::uint64_t, WindowAnswer*> answers_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<WindowAnswer*> receiving_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<bool> had_error_{false};  ///< some put or accumulate has failed
  /// Some request has arrived that is not over, so a poll has to go through the windows.
  bool waiting_requests_ IMPISHIM_GUARDED_BY(mutex_) = false;
  // Kept for their memory, so that a short request allocates none.
  std::vector<std::byte> packed_ IMPISHIM_GUARDED_BY(mutex_);   ///< what pack() has made
  std::vector<std::byte> message_ IMPISHIM_GUARDED_BY(mutex_);  ///< what is sent
  std::vector<WindowRequest> ended_ IMPISHIM_GUARDED_BY(mutex_);
  /// Origins whose requests are held back and may be handled now.
  std::vector<std::pair<WindowId, WorldRank>> granted_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};
  std::optional<Error> failure_;  ///< written once, before `failed_`
};

}  // namespace impishim::wire
