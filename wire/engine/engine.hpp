// SPDX-License-Identifier: Apache-2.0
/// The engine: moves packets between this process's operations and its channels, matches, relays,
/// and acknowledges.
///
/// Both a thread that waits in an MPI call and the progress thread drive it by poll(). All
/// functions are thread-safe. None blocks, with one exception: wait_for_event(), which at its end
/// may announce the end of the job for at most 0.1 s. The engine never calls into upper layers:
/// they read results from the operations.
///
/// Failure: a link that ends without FINI, or a packet that IMPI forbids, stops the engine for
/// good. failure() then returns the reason. Every pending operation completes with that error, and
/// new operations fail at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/message/operation.hpp"
#include "wire/path/unanswered_message.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/relay_options.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

class Trace;

/// Everything that an Engine is made of. `here` is this process's world rank.
struct EngineOptions {
  JobMap job;
  WorldRank here = 0;
  /// Channels to the hosts for which this process is the representative.
  std::vector<HostChannel> host_channels;
  /// Channels to procs of this host that relay for us or for which we relay.
  std::vector<LocalChannel> local_channels;
  /// Representation of payloads to and from each client; indexed by client.
  std::vector<Format> format_of_client;
  RelayOptions relay;
  bool times_answers = false;  ///< EngineCounters::answers are counted
  Trace* trace = nullptr;      ///< of what happens to packets; null: none. Outlives the engine
};

/// A message taken out of the unexpected queue by Engine::match_probe (MPI_Mprobe).
class MatchedMessage;
struct MatchedMessageDeleter {
  void operator()(MatchedMessage* message) const;
};
using MatchedMessagePointer = std::unique_ptr<MatchedMessage, MatchedMessageDeleter>;

/// Does work that polls of an engine bring.
class PollObserver {
 public:
  PollObserver() = default;
  PollObserver(const PollObserver&) = delete;
  PollObserver& operator=(const PollObserver&) = delete;

  /// Called after a poll, on the thread that polled, without the engine's lock. Must not block or
  /// poll. Returns the number of events handled.
  virtual std::size_t polled() = 0;

 protected:
  ~PollObserver() = default;
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts an operation; it may be complete on return. Messages keep the order in which one thread
  /// starts their operations. The operation's result reports failures. MPI-3.1 3.4, 3.5; IMPI 3.7.
  void start(SendOperation& operation);
  void start(ReceiveOperation& operation);

  /// Sends a standard-mode message of up to kLongestShort bytes without an operation. The function
  /// writes the message directly into its batch; the batch is sent like one of start(). Returns
  /// false if nothing was done and start() must send the message: it is longer, must wait for
  /// credit, or goes to a process with another representation, or the engine has failed.
  [[nodiscard]] bool send_short(const ShortMessage& message);
  static constexpr std::size_t kLongestShort = 1024;

  /// Receives a message that match_probe() took. `operation.context`, source and tag are ignored.
  void start_matched(ReceiveOperation& operation, MatchedMessagePointer message);

  /// Makes arrivals of unmatched messages in `context` end await_arrival() from now on.
  void watch(ContextId context);
  /// Sleeps until the number of such arrivals differs from `seen`, the engine has failed, or
  /// stop_awaiting() was called. Returns the number. Other threads must drive the engine meanwhile.
  [[nodiscard]] std::uint64_t await_arrival(std::uint64_t seen);
  /// Ends every await_arrival().
  void stop_awaiting();

  /// Asks the peer to cancel a send. The send completes, cancelled or not, like any operation (IMPI
  /// 3.7.4).
  void cancel(SendOperation& operation);
  /// Cancels a receive that has not matched: it completes at once with result.cancelled. Otherwise
  /// nothing changes. A contested receive must be settled first.
  void cancel(ReceiveOperation& operation);

  /// Returns the first unmatched message for (context, source, tag) without removing it
  /// (MPI_Iprobe).
  [[nodiscard]] std::optional<Envelope> probe(ContextId context, std::int32_t source,
                                              std::int32_t tag);
  /// Removes that message from the queue and returns it (MPI_Improbe). Sets `envelope` if a message
  /// is returned.
  [[nodiscard]] MatchedMessagePointer match_probe(ContextId context, std::int32_t source,
                                                  std::int32_t tag, Envelope& envelope);

  /// Returns the number of receives with a native twin for which a message of another system waits.
  /// Cheap: one relaxed load.
  [[nodiscard]] std::size_t contested_count() const;
  /// Returns one contested receive that no other thread is settling, or null. The caller must
  /// cancel its native twin and call settle().
  [[nodiscard]] ReceiveOperation* contested();
  /// Returns true if a message waits for this receive. With several threads, the receive that
  /// contested() returned may be complete or even started again.
  [[nodiscard]] bool is_contested(const ReceiveOperation& operation);
  /// Settles a receive that contested() returned. `native_won` is true if the twin could not be
  /// cancelled. The engine then forgets the operation without completing it, and the message goes
  /// to the next receive. Otherwise the message matches.
  void settle(ReceiveOperation& operation, bool native_won);
  /// Forgets the operation without completing it, because its native twin has completed by itself.
  /// A message that contested it goes to the next receive.
  void withdraw(ReceiveOperation& operation);

  /// Tells the engine that the program's thread is inside a vendor call and may stay there. Until
  /// end_relief(), unexpected messages are acknowledged as for a thread that waits in poll(). Long
  /// standard-mode messages that contest a receive are received into memory of the engine, so that
  /// their senders make progress.
  void relieve();
  void end_relief();
  [[nodiscard]] bool relieving() const;
  /// Returns true if there are unexpected messages that are not acknowledged.
  [[nodiscard]] bool holds_unasked();
  /// Acknowledges the unexpected messages, as for a thread that waits in poll().
  void take_unasked();
  /// Returns the first message that contests a receive, or waits behind such a message, and that
  /// relieve() does not help.
  [[nodiscard]] std::optional<UnansweredMessage> unanswered();

  /// Sends and receives what is possible now; returns the number of events handled.
  /// `application_waits` is true if the caller is a thread that found nothing to complete.
  /// Unexpected messages are then acknowledged too, because they may block the message that the
  /// thread waits for. Otherwise they count as received only when they match, which bounds memory
  /// while a rank computes.
  std::size_t poll(bool application_waits);

  /// Calls `observer` after each poll from now on. There is room for kMostObservers.
  void add_poll_observer(PollObserver& observer);
  /// Ends that. The observer stays in place until no thread polls.
  void remove_poll_observer(PollObserver& observer);
  static constexpr std::size_t kMostObservers = 2;

  /// Sleeps until a channel has input or room, at most `timeout`. Returns at once if a channel is
  /// ready.
  void wait_for_event(std::chrono::microseconds timeout);
  static constexpr std::chrono::microseconds kForever{-1};
  /// Fails the engine if the peer machine of a channel has stopped answering. One thread must call
  /// it every kSilenceCheckInterval.
  void check_peers_answer();
  /// Closes the channels' descriptors in a child of fork(), where no other function of the engine
  /// may be used. Async-signal-safe.
  void close_in_forked_child();
  /// Tells the kernel that it need not announce input until the next sleep. For a process that has
  /// polled for a while and will continue to poll.
  void stop_watching();
  /// Ends a wait_for_event() in another thread.
  void wake();

  /// Sends the short messages that the program began in quick succession and that wait here as a
  /// batch. The next poll sends them too. This function is for a caller that may not poll for a
  /// while; it costs nothing if there is no batch. The progress thread sends the rest.
  void send_batches() {
    if (holds_batches()) send_batches_now();
  }
  [[nodiscard]] bool holds_batches() const { return batches_wait_.load(std::memory_order_relaxed); }

  /// Returns a number that changes whenever a thread that waits in an MPI call polls, or begins a
  /// batch. While it changes, the progress thread does not poll.
  [[nodiscard]] std::uint64_t application_polls() const;

  /// Returns true if nothing is queued for output and no send is pending.
  [[nodiscard]] bool idle();
  /// Announces the end of this process's traffic. The host's representative sends FINI to the other
  /// hosts when all its procs have closed (IMPI 3.8). The caller must poll until closed().
  void close();
  [[nodiscard]] bool closed();
  /// Tells every reachable impishim process that the job ends. Best effort: takes at most 0.1 s
  /// where channels are full.
  void announce_abort(std::int32_t exit_code, const std::string& text);

  /// Returns the reason why the engine stopped, or null.
  [[nodiscard]] const Error* failure() const;
  /// Returns true if the operation is complete by itself. A failure of the engine also completes
  /// all operations. A caller that then reported this operation as complete would let others
  /// continue with data that never arrived.
  [[nodiscard]] bool carried_out(const Operation& operation) const {
    return operation.complete() && (!operation.result.error || failure() == nullptr);
  }
  /// Returns the exit code that came with an abort announcement, or nothing.
  [[nodiscard]] std::optional<std::int32_t> abort_code() const;

  /// Sets whether this process goes on when another client is lost. At first it does not: the loss
  /// of a client fails the engine. Otherwise only the operations that need the client end, with
  /// kLost.
  void survive_losses(bool survive);
  /// Returns the number of lost clients. Cheap: one load.
  [[nodiscard]] std::size_t lost_count() const;
  /// Returns their numbers, ascending.
  [[nodiscard]] std::vector<std::int32_t> lost_clients();
  /// Returns the text of a lost client's error.
  [[nodiscard]] std::string loss_text(std::int32_t client);
  /// Closes sources of a context: `ranks` are the ranks of a lost client's processes in it.
  /// Receives that wait for them, or for any source, end with the client's error, and so do later
  /// ones that no message is there for. A receive with a native twin becomes contested instead.
  /// The engine knows no communicators, so its caller must do this for each one.
  void close_sources(ContextId context, std::int32_t client, std::span<const std::int32_t> ranks);
  /// Lets receives from any source wait again in spite of the closed ones.
  void open_any_source(ContextId context);
  /// Returns the error that a receive which had to wait would end with, or nothing.
  [[nodiscard]] std::optional<Error> closed_source(ContextId context, std::int32_t source);

  /// Forgets the unmatched messages of a freed communicator's context, except those whose senders
  /// wait for a match and can cancel them.
  void forget_context(ContextId context);

  /// Returns the job as it is now; the reference stays valid when it grows.
  [[nodiscard]] const JobMap& job() const;

  /// Returns the job itself, without the processes that extend() has added.
  [[nodiscard]] const JobMap& job_at_start() const;

  /// Adds the processes of another job: `job` is the job with them (JobMap::extended), `formats`
  /// are the representations of all its clients, and `channels` lead to the new hosts.
  void extend(JobMap job, std::vector<Format> formats, std::vector<HostChannel> channels);
  /// Ends the traffic with a host that extend() has added, once all that was sent to it has left.
  /// Its channel is closed when the peer has done the same. No message to it may follow.
  void release(std::int32_t host);
  [[nodiscard]] EngineCounters counters();
  /// Returns what is in the queues now, and the traffic with each other client.
  [[nodiscard]] EngineLoad load();

  /// Returns several lines on what this process waits for and holds: each link's queues, credits,
  /// messages held back, unexpected messages.
  [[nodiscard]] std::string report();
  /// Makes the next thread that polls write report() to standard error, and wakes the progress
  /// thread. May be called from a signal handler.
  void ask_for_report();

 private:
  class Impl;
  void send_batches_now();
  /// Blocks, for a bounded time, until the packets that announce the end have left.
  void drain_output();
  /// Read before every blocking call, so not behind another pointer.
  std::atomic<bool> batches_wait_{false};
  std::unique_ptr<Impl> impl_;
};

}  // namespace impishim::wire
