// SPDX-License-Identifier: Apache-2.0
// Exchanges that are planned once and run many times: what block schedules and word schedules have
// in common.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "darray/local/selection.hpp"
#include "darray/schedule/agree.hpp"
#include "darray/schedule/communicator.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

class Exchange;

struct ScheduleOptions {
  Index chunk_bytes = Index{16} << 20;  // a message above this is sent in pieces; at most 1 GiB
  bool bounded = false;  // workspace of at most two chunks (for each array of a round), for
                         // exchanges one after the other
  bool ordered =
      false;  // unpack by rank of the sender: where elements arrive twice, the highest rank's stays
  Checks checks = Checks::kOn;  // build() compares both sides' counts. Collective

  /// Errors: kArgument for an impossible size of chunks.
  void require() const;
};

/// What one forward execution does on this rank, for one array and without an operator (which
/// receives nothing in place).
struct Statistics {
  Index messages = 0;  // sent
  Index bytes = 0;
  Index received_messages = 0;
  Index received_bytes = 0;
  Index local_bytes = 0;        // copied inside this rank
  Index crossing_messages = 0;  // of those sent: to ranks of another system
  Index crossing_bytes = 0;
  Index peers = 0;            // other ranks that this one sends to or receives from
  Index workspace_bytes = 0;  // packed messages, both ways
  Index direct_bytes = 0;     // sent from, or received in, the user's memory

  /// Of two executions that make one. A rank that is a peer of both counts twice.
  Statistics& operator+=(const Statistics& other);
};

/// An operator at execution: one of Combine, or a function.
class Combiner {
 public:
  Combiner(Combine operation = Combine::kReplace)
      : operation_(operation) {}  // NOLINT: an operator is one
  Combiner(CombineFunction function)
      : function_(std::move(function)) {}  // NOLINT: so is a function
  bool replaces() const { return !function_ && operation_ == Combine::kReplace; }
  /// Of elements; empty for kReplace. Named operations combine every item of an element by itself.
  /// Errors: kType.
  CombineFunction function(const Element& element) const;

 private:
  Combine operation_ = Combine::kReplace;
  CombineFunction function_;
};

/// Sends, receives and local copies between the ranks of a communicator, by offsets of elements in
/// a source and a destination buffer whose addresses come at execution. Forwards, elements go from
/// sources to destinations; backwards, from destinations to sources. Source and destination may be
/// one buffer if no element is both read and written.
///
/// All ranks of the communicator construct their schedules in the same order, since tags are
/// numbered; and start those that are under way at the same time in any order. One execution of a
/// schedule at a time. Messages to one rank are merged into one. Every rank posts receives first,
/// then sends in rotated order, then copies locally, then unpacks what arrives. A schedule must not
/// be destroyed between start and wait. (No collectives are used in executions; those that do are
/// started in the same order on all ranks: see ReduceSchedule.)
class Schedule {
 public:
  Schedule(MPI_Comm comm, Element element, ScheduleOptions options = {});
  Schedule(const Communicator& communicator, Element element, ScheduleOptions options = {});
  ~Schedule();
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;

  /// Source elements for `peer`. What is added for one peer, in order, meets what that peer adds to
  /// receive from here, in order; only the totals need be equal. This rank itself may be a peer.
  /// Errors: kArgument for a rank that is none, and after build().
  void add_send(int peer, Selection elements);
  void add_receive(int peer, Selection elements);
  /// Elements that this rank copies. Errors: kShape when the sizes differ.
  void add_local(Selection source, Selection destination);

  /// Ends the additions. Local without checks; with them, all ranks compare what they send and
  /// receive. Errors: kLayout when a rank sends a peer another number of elements than that
  /// expects.
  void build();

  /// Sources to destinations. `source` and `destination` are the addresses of elements with offset
  /// 0. Errors: kArgument when build() has not been called or an execution is under way, kMpi,
  /// kType for an operator that the elements do not have.
  void execute(const void* source, void* destination, const Combiner& combine = {});
  /// Destinations to sources.
  void execute_backward(void* source, const void* destination, const Combiner& combine = {});
  /// The same in two parts. Between them the buffers belong to the schedule: what is sent must not
  /// be changed, what is written not read.
  void start(const void* source, void* destination, const Combiner& combine = {});
  void start_backward(void* source, const void* destination, const Combiner& combine = {});
  /// Moves the execution on; true when it is done (or none is under way). What a user's operator
  /// throws comes from here or wait(), when all messages are over: the execution is over then as
  /// well.
  bool test();
  void wait();

  /// Several arrays in one round: one message per peer carries all. As many sources as
  /// destinations. Errors also: kArgument.
  void execute(std::span<const void* const> sources, std::span<void* const> destinations,
               const Combiner& combine = {});
  void execute_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                        const Combiner& combine = {});
  void start(std::span<const void* const> sources, std::span<void* const> destinations,
             const Combiner& combine = {});
  void start_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                      const Combiner& combine = {});

  /// After build().
  const Statistics& statistics() const { return statistics_; }
  const Element& element() const { return element_; }
  const Communicator& communicator() const { return communicator_; }

 private:
  struct Flow {
    Selection sent;      // of the source
    Selection received;  // in the destination
  };
  void begin(std::span<const void* const> from, std::span<void* const> to, const Combiner& combine,
             bool backward);
  Flow& flow(int peer);
  Exchange& exchange(bool backward, int arrays, bool combining);
  Index elements_per_message(int arrays) const;
  void require_open() const;
  void check_totals();
  void count();

  Communicator communicator_;
  Element element_;
  ScheduleOptions options_;
  int tag_;
  bool built_ = false;
  std::map<int, Flow> flows_;  // by peer
  std::vector<std::pair<Selection, Selection>> local_;
  Statistics statistics_;
  // Requests and workspace of each way of running: backwards or not, so many arrays, with an
  // operator or not.
  std::map<std::tuple<bool, int, bool>, std::unique_ptr<Exchange>> exchanges_;
  Exchange* active_ = nullptr;
};

}  // namespace impishim::darray
