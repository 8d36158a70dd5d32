// SPDX-License-Identifier: Apache-2.0
/// Executes the message list of a plan: a schedule, a tree for copies, and values to fill in. Not
/// for users.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/local/packer.hpp"
#include "darray/plan/core/message_list.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/schedule/detail/execution.hpp"
#include "darray/schedule/schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"

namespace impishim::darray {

/// Does not move, since its execution refers to it.
class PlannedExchange {
 public:
  /// Local, except at the first use of a set of copies. `fill` has the size of an element if the
  /// plan fills elements.
  PlannedExchange(const Communicator& communicator, const Element& element, ScheduleOptions options,
                  MessageList plan, const FillValue& fill = {});

  /// Does the same as start() and wait(), but uses the faster blocking collectives. These do not
  /// match nonblocking ones, so all ranks call execute() or none does.
  void execute(std::span<const void* const> sources, std::span<void* const> destinations,
               const Combiner& combine);
  /// Starts an execution. Plans with copies are started in the same order on all ranks. Throws
  /// Error(kArgument) if an execution is in progress.
  void start(std::span<const void* const> sources, std::span<void* const> destinations,
             const Combiner& combine);
  /// Sends destinations to sources, with the schedule only. For plans without copies.
  void start_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                      const Combiner& combine);
  bool test() { return advance(false); }
  void wait() { advance(true); }
  void require_idle() const;
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  void begin(std::span<const void* const> sources, std::span<void* const> destinations,
             const Combiner& combine);
  bool advance(bool blocking);
  void begin_spreading(bool blocking);
  bool spread(bool blocking);
  void fill(std::span<void* const> destinations) const;

  Schedule schedule_;
  std::optional<TreeSchedule> tree_;
  std::vector<std::byte> value_;
  std::optional<LocalCopy> fill_;
  Statistics statistics_;

  /// Of plans with a tree: the exchange, then the tree for each array.
  Execution execution_;
  std::vector<void*> spread_;  // arrays that the tree broadcasts after the exchange
  std::size_t next_ = 0;
  bool tree_runs_ = false;
  FirstFailure failure_;  // of the tree for one of the arrays
};

/// Checked construction of a plan. `make` checks the arguments and plans, and may throw. All ranks
/// then agree on its error and compare their arguments, which `call` describes.
class PlanChecks {
 public:
  PlanChecks(const Communicator& communicator, Checks checks)
      : communicator_(communicator), checks_(checks) {}
  template <class Call, class Make>
  MessageList run(const Call& call, const Make& make) const {
    MessageList plan;
    agreed(communicator_, checks_, call, [&] { plan = make(); });
    return plan;
  }
  /// Throws Error(kArgument) if the layout's grid has ranks outside of the communicator.
  void require_members(const Distribution& layout) const;

 private:
  const Communicator& communicator_;
  Checks checks_;
};

}  // namespace impishim::darray
