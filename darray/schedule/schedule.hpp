// SPDX-License-Identifier: Apache-2.0
/// Exchanges that are planned once and run many times. This is what block schedules and word
/// schedules have in common.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "darray/communicator/agree.hpp"
#include "darray/communicator/communicator.hpp"
#include "darray/communicator/element.hpp"
#include "darray/local/selection.hpp"

namespace impishim::darray {

class Exchange;

struct ScheduleOptions {
  Index chunk_bytes = Index{16} << 20;  // a message above this is sent in pieces; at most 1 GiB
  bool bounded = false;  // limits the workspace to two chunks (for each array of a round);
                         // messages then go one after the other
  bool ordered = false;  // unpack by rank of the sender: if an element arrives twice, the highest
                         // rank's value stays
  Checks checks = Checks::kOn;  // build() compares the counts of both sides, which is collective

  /// Throws Error(kArgument) if `chunk_bytes` is out of range.
  void require() const;
};

/// The work of one forward execution on this rank, for one array and without an operator. With an
/// operator, nothing is received directly into the user's memory.
struct Statistics {
  Index messages = 0;  // sent
  Index bytes = 0;
  Index received_messages = 0;
  Index received_bytes = 0;
  Index local_bytes = 0;        // copied inside this rank
  Index crossing_messages = 0;  // messages sent to ranks of another system
  Index crossing_bytes = 0;
  Index peers = 0;            // other ranks that this rank sends to or receives from
  Index workspace_bytes = 0;  // packed messages in both directions
  Index direct_bytes = 0;     // sent from, or received into, the user's memory

  /// Adds the statistics of a second execution that runs as part of the first. A rank that is a
  /// peer of both counts twice.
  Statistics& operator+=(const Statistics& other);
};

/// The operator of an execution: one of Combine, or a function.
class Combiner {
 public:
  Combiner(Combine operation = Combine::kReplace)
      : operation_(operation) {}  // NOLINT: an operation converts implicitly
  Combiner(CombineFunction function)
      : function_(std::move(function)) {}  // NOLINT: so does a function
  bool replaces() const { return !function_ && operation_ == Combine::kReplace; }
  /// Returns the function that combines elements; it is empty for kReplace. A named operation
  /// combines every item of an element separately. Throws Error(kType) if the operation does not
  /// exist for the element's type.
  CombineFunction function(const Element& element) const;

 private:
  Combine operation_ = Combine::kReplace;
  CombineFunction function_;
};

/// Sends, receives and local copies between the ranks of a communicator. Elements are given by
/// offsets in a source and a destination buffer, whose addresses are given at execution. A forward
/// execution moves elements from sources to destinations; a backward execution moves them from
/// destinations to sources. Source and destination may be one buffer if no element is both read and
/// written.
///
/// All ranks of the communicator construct their schedules in the same order, because tags are
/// numbered. They may start the schedules that are in progress at the same time in any order. A
/// schedule runs one execution at a time, and must not be destroyed between start and wait.
///
/// Messages to one rank are merged into one. Every rank posts receives first, then sends in rotated
/// order, then copies locally, then unpacks what arrives. Executions use no collectives. Executions
/// that do use them are started in the same order on all ranks; see ReduceSchedule.
class Schedule {
 public:
  Schedule(MPI_Comm comm, Element element, ScheduleOptions options = {});
  Schedule(const Communicator& communicator, Element element, ScheduleOptions options = {});
  ~Schedule();
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;

  /// Adds source elements for `peer`. The elements added for one peer, in order, are paired with
  /// the elements which that peer adds as receives from this rank, in order. Only the totals need
  /// to be equal. The peer may be this rank itself. Throws Error(kArgument) if the rank is invalid,
  /// or after build().
  void add_send(int peer, Selection elements);
  void add_receive(int peer, Selection elements);
  /// Adds elements that this rank copies. Throws Error(kShape) if the sizes differ.
  void add_local(Selection source, Selection destination);

  /// Ends the additions. Local without checks. With checks, all ranks compare what they send and
  /// receive, which is collective. Throws Error(kLayout) if a rank sends a peer a number of
  /// elements that the peer does not expect.
  void build();

  /// Moves elements from sources to destinations. `source` and `destination` are the addresses of
  /// the elements with offset 0. Throws Error(kArgument) if build() has not been called or an
  /// execution is in progress. Throws Error(kMpi) if an MPI call fails. Throws Error(kType) if the
  /// operator does not exist for the elements' type.
  void execute(const void* source, void* destination, const Combiner& combine = {});
  /// Moves elements from destinations to sources.
  void execute_backward(void* source, const void* destination, const Combiner& combine = {});
  /// Starts an execution, which test() or wait() completes. Until then the buffers belong to the
  /// schedule: the program must not change what is sent, and must not read what is written.
  void start(const void* source, void* destination, const Combiner& combine = {});
  void start_backward(void* source, const void* destination, const Combiner& combine = {});
  /// Advances the execution. Returns true if it is complete, or if none is in progress. An
  /// exception of a user's operator is thrown by test() or wait() when all messages are complete.
  /// The execution is then complete as well.
  bool test();
  void wait();
  /// Returns true if no execution is in progress.
  [[nodiscard]] bool idle() const { return active_ == nullptr; }

  /// Exchanges several arrays in one round: one message per peer carries all of them. Also throws
  /// Error(kArgument) if the numbers of sources and destinations differ.
  void execute(std::span<const void* const> sources, std::span<void* const> destinations,
               const Combiner& combine = {});
  void execute_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                        const Combiner& combine = {});
  void start(std::span<const void* const> sources, std::span<void* const> destinations,
             const Combiner& combine = {});
  void start_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                      const Combiner& combine = {});

  /// Valid after build().
  const Statistics& statistics() const { return statistics_; }
  const Element& element() const { return element_; }
  const Communicator& communicator() const { return communicator_; }

 private:
  struct Flow {
    Selection sent;      // elements of the source
    Selection received;  // elements of the destination
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
  // The requests and workspace for each kind of execution. The key is the direction (true is
  // backward), the number of arrays, and whether there is an operator.
  std::map<std::tuple<bool, int, bool>, std::unique_ptr<Exchange>> exchanges_;
  Exchange* active_ = nullptr;
};

}  // namespace impishim::darray
