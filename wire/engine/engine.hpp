// SPDX-License-Identifier: Apache-2.0
/// The engine: moves packets between this process's operations and its channels, matches, relays,
/// acknowledges.
///
/// Driven by poll(), from a thread that waits in an MPI call and from the progress thread alike;
/// all functions are thread-safe and none blocks (wait_for_event() excepted, and at its end the
/// job's announcement of it, for at most 0.1 s). It never calls into upper layers: results are read
/// from the operations.
///
/// Failure: a link that ends without FINI, or a packet that IMPI forbids, stops the engine for
/// good; failure() then tells why, every pending operation completes with that error, and new ones
/// fail at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/engine/operation.hpp"
#include "wire/engine/relay_options.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A message that its sender waits for an answer to, and that only the program's thread can match.
struct UnansweredMessage {
  WorldRank source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  bool standard = false;  ///< a standard-mode one, too long for what is left of
                          ///< RelayOptions::early_message_limit
};

/// What an Engine is made of. `here` is this process's world rank.
struct EngineOptions {
  JobMap job;
  WorldRank here = 0;
  std::vector<HostChannel> host_channels;  ///< those whose representative this process is
  std::vector<LocalChannel>
      local_channels;  ///< to procs of this host that relay for us or for which we relay
  /// How payloads to and from each client are represented; indexed by client.
  std::vector<Format> format_of_client;
  RelayOptions relay;
};

/// A message taken out of the unexpected queue by Engine::match_probe (MPI_Mprobe).
class MatchedMessage;
struct MatchedMessageDeleter {
  void operator()(MatchedMessage* message) const;
};
using MatchedMessagePointer = std::unique_ptr<MatchedMessage, MatchedMessageDeleter>;

/// Packets, control ones included, and their bytes with headers.
struct HopTraffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

/// Counters since start, for statistics and tests.
struct EngineCounters {
  HopTraffic local_origin;     ///< sent to processes of this host, which pass it on
  HopTraffic local_relay;      ///< from other hosts, passed on to processes of this host
  HopTraffic remote_origin;    ///< sent to other hosts
  HopTraffic remote_relay;     ///< from processes of this host, passed on to other hosts
  HopTraffic local_received;   ///< by way of processes of this host
  HopTraffic remote_received;  ///< from other hosts
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t packets_relayed = 0;
  std::uint64_t payload_bytes_sent = 0;
  std::uint64_t payload_bytes_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t unexpected_messages = 0;
  std::uint64_t unexpected_bytes_peak = 0;
  std::uint64_t flow_control_stalls = 0;
  HopTraffic
      copied;  ///< payloads copied from one place in this process to another, and their bytes
  std::uint64_t relay_stalls =
      0;                          ///< packets that waited until the next process had relayed enough
  std::uint64_t relay_bytes = 0;  ///< now held here to be passed on
  std::uint64_t relay_bytes_peak = 0;  ///< most of them so far
  std::uint64_t send_calls = 0;        ///< system calls made to send on host channels
  std::uint64_t receive_calls = 0;     ///< system calls made to receive on host channels
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Starts an operation; it may be complete on return. Order of starts on one thread is the order
  /// of messages. Failures are told by the operation's result. MPI-3.1 3.4, 3.5; IMPI 3.7.
  void start(SendOperation& operation);
  void start(ReceiveOperation& operation);

  /// Sends a standard-mode message of up to kLongestShort bytes without an operation: it is written
  /// where its batch lies, which leaves as that of start() would. False: nothing has been done, and
  /// start() has to do it, since the message is longer, has to wait for credit, or goes to a
  /// process with another representation, or the engine has failed.
  [[nodiscard]] bool send_short(const ShortMessage& message);
  static constexpr std::size_t kLongestShort = 1024;

  /// Receives a message that match_probe() took. `operation.context`, source and tag are ignored.
  void start_matched(ReceiveOperation& operation, MatchedMessagePointer message);

  /// From now on arrivals of unmatched messages in `context` end await_arrival().
  void watch(ContextId context);
  /// Sleeps until the number of such arrivals is no longer `seen`, the engine has failed, or
  /// stop_awaiting() was called; returns the number. The engine is driven by others meanwhile.
  [[nodiscard]] std::uint64_t await_arrival(std::uint64_t seen);
  /// Ends every await_arrival().
  void stop_awaiting();

  /// Asks for a send to be withdrawn; it completes, cancelled or not, as any operation
  /// (IMPI 3.7.4).
  void cancel(SendOperation& operation);
  /// Withdraws a receive that has not matched: it completes at once with result.cancelled.
  /// Otherwise nothing changes. A contested one must be settled first.
  void cancel(ReceiveOperation& operation);

  /// The first unmatched message for (context, source, tag), which stays where it is (MPI_Iprobe).
  [[nodiscard]] std::optional<Envelope> probe(ContextId context, std::int32_t source,
                                              std::int32_t tag);
  /// The same, taken out of the queue (MPI_Improbe). `envelope` is set if a message is returned.
  [[nodiscard]] MatchedMessagePointer match_probe(ContextId context, std::int32_t source,
                                                  std::int32_t tag, Envelope& envelope);

  /// Number of receives with a native twin that a message of another system waits for. Cheap: one
  /// relaxed load.
  [[nodiscard]] std::size_t contested_count() const;
  /// One contested receive that nobody else is settling, or null. The caller must cancel its native
  /// twin and call settle().
  [[nodiscard]] ReceiveOperation* contested();
  /// Whether a message waits for this receive; with threads, what contested() returned may be over
  /// or even started anew.
  [[nodiscard]] bool is_contested(const ReceiveOperation& operation);
  /// The outcome for a receive returned by contested(): `native_won` if the twin could not be
  /// cancelled; the engine then forgets the operation without completing it, and the message goes
  /// to the next receive. Otherwise the message matches.
  void settle(ReceiveOperation& operation, bool native_won);
  /// The native twin has completed by itself: forget the operation. It is not completed. A message
  /// that contested it goes to the next receive.
  void withdraw(ReceiveOperation& operation);

  /// The program's thread stands in a call of the vendor's and may stay there: from now on messages
  /// that nobody has asked for are acknowledged as they are for a thread that waits in poll(), and
  /// long ones of standard mode that contest a receive come to memory of the engine's, so that
  /// their senders go on. Until end_relief().
  void relieve();
  void end_relief();
  [[nodiscard]] bool relieving() const;
  /// Messages are here that nobody has asked for and that are not acknowledged.
  [[nodiscard]] bool holds_unasked();
  /// Acknowledges them, as for a thread that waits in poll().
  void take_unasked();
  /// The first message that contests a receive, or waits behind one that does, and that relieve()
  /// does not help.
  [[nodiscard]] std::optional<UnansweredMessage> unanswered();

  /// Sends and receives what is possible now; returns the number of events handled.
  /// `application_waits`: called by a thread that found nothing to complete, so messages that
  /// nobody has asked for yet are acknowledged too (they may be blocking the one that is asked
  /// for); otherwise they count as received only when they match, which bounds memory while a rank
  /// computes.
  std::size_t poll(bool application_waits);

  /// Sleeps until a channel has something, at most `timeout`. Returns at once if something is
  /// there.
  void wait_for_event(std::chrono::microseconds timeout);
  static constexpr std::chrono::microseconds kForever{-1};
  /// Fails the engine if the machine at a channel's other end has stopped answering. To be called
  /// every kSilenceCheckInterval by one thread.
  void check_peers_answer();
  /// Closes the channels' descriptors in a child of fork(), where nothing else of the engine may be
  /// used. Async-signal-safe.
  void close_in_forked_child();
  /// For a process that has polled for a while and will go on: the kernel need not announce what
  /// arrives, until the next sleep.
  void stop_watching();
  /// Ends a wait_for_event() in another thread.
  void wake();

  /// Short messages that the program began in quick succession wait here to leave together. They
  /// leave at the next poll, or by send_batches() at no cost where there are none: for a caller
  /// that may not poll for a while. The progress thread sends what is left.
  void send_batches() {
    if (holds_batches()) send_batches_now();
  }
  [[nodiscard]] bool holds_batches() const { return batches_wait_.load(std::memory_order_relaxed); }

  /// Changes whenever a thread that waits in an MPI call polls, or begins a batch; the progress
  /// thread stays out of the way while it does.
  [[nodiscard]] std::uint64_t application_polls() const;

  /// Nothing is queued for output and no send is pending.
  [[nodiscard]] bool idle();
  /// Announces the end of this process's traffic. The host's representative sends FINI to the other
  /// hosts when all its procs have closed (IMPI 3.8). Poll until closed().
  void close();
  [[nodiscard]] bool closed();
  /// Tells every reachable impishim process that the job is over; best effort, at most 0.1 s where
  /// channels are full.
  void announce_abort(std::int32_t exit_code, const std::string& text);

  /// Why the engine stopped, or null.
  [[nodiscard]] const Error* failure() const;
  /// The operation is complete by itself. A failure of the engine completes all operations, too:
  /// whoever then told others that this one is over would have them go on with data that never
  /// came.
  [[nodiscard]] bool carried_out(const Operation& operation) const {
    return operation.complete() && (!operation.result.error || failure() == nullptr);
  }
  /// Exit code that came with an abort announcement, or nothing.
  [[nodiscard]] std::optional<std::int32_t> abort_code() const;

  /// Forgets the unmatched messages of a freed communicator's context.
  void forget_context(ContextId context);

  [[nodiscard]] const JobMap& job() const;
  [[nodiscard]] EngineCounters counters();

  /// What this process waits for and holds, several lines: queues of each link, credits, messages
  /// held back, unexpected ones.
  [[nodiscard]] std::string report();
  /// Whoever polls next writes report() to standard error; wakes the progress thread. May be called
  /// from a signal handler.
  void ask_for_report();

 private:
  class Impl;
  void send_batches_now();
  /// Waits, bounded, until what tells the others of the end has left.
  void drain_output();
  std::atomic<bool> batches_wait_{
      false};  ///< looked at before every blocking call, so not behind another pointer
  std::unique_ptr<Impl> impl_;
};

}  // namespace impishim::wire
