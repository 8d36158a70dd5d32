// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/detail/planned_exchange.hpp"

#include <utility>

namespace impishim::darray {
namespace {

// The plan has checked the arguments already, so its schedules do not check them again.
ScheduleOptions unchecked(ScheduleOptions options) {
  options.checks = Checks::kOff;
  return options;
}

/// Returns a selection of as many elements as `elements` has. Each of them is element 0 of another
/// buffer.
Selection repeated_value(const Selection& elements) {
  Selection value;
  for (const Selection::Piece& piece : elements.pieces()) {
    Patch patch{0, {{Selection::size_of(piece), 0}}};
    if (const auto* regular = std::get_if<Patch>(&piece)) {
      patch.dimensions = regular->dimensions;
      for (Dimension& dimension : patch.dimensions) dimension.stride = 0;
    }
    value.add(std::move(patch));
  }
  return value;
}

}  // namespace

PlannedExchange::PlannedExchange(const Communicator& communicator, const Element& element,
                                 ScheduleOptions options, MessageList plan, const FillValue& fill)
    : schedule_(communicator, element, unchecked(options)),
      value_(fill.bytes()),
      execution_(communicator) {
  for (auto& [peer, elements] : plan.sends) schedule_.add_send(peer, std::move(elements));
  for (auto& [peer, elements] : plan.receives) schedule_.add_receive(peer, std::move(elements));
  for (auto& [source, destination] : plan.local)
    schedule_.add_local(std::move(source), std::move(destination));
  schedule_.build();
  statistics_ = schedule_.statistics();
  if (plan.multicast) {
    const MessageList::Multicast& multicast = *plan.multicast;
    const bool root = communicator.rank() == multicast.root;
    tree_.emplace(communicator, element, multicast.root, multicast.members,
                  root ? multicast.elements : Selection(), root ? Selection() : multicast.elements,
                  unchecked(options));
    statistics_ += tree_->statistics();
    // Starting the exchange needs no turn: begin() has done it.
    execution_.add_schedule(schedule_, [](bool) {});
    execution_.add_part([this](bool blocking) { begin_spreading(blocking); },
                        [this](bool blocking) { return spread(blocking); });
  }
  if (!plan.fills.empty())
    fill_.emplace(repeated_value(plan.fills), plan.fills, element.size, false);
}

void PlannedExchange::fill(std::span<void* const> destinations) const {
  if (!fill_) return;
  for (void* destination : destinations)
    fill_->run(value_.data(), static_cast<std::byte*>(destination), {});
}

void PlannedExchange::require_idle() const {
  execution_.require_idle();
  if (!schedule_.idle())
    fail(ErrorKind::kArgument, "an execution of this plan is in progress: wait for it first");
}

void PlannedExchange::begin(std::span<const void* const> sources,
                            std::span<void* const> destinations, const Combiner& combine) {
  require_idle();
  schedule_.start(sources, destinations, combine);
  fill(destinations);
  if (tree_) spread_.assign(destinations.begin(), destinations.end());
}

void PlannedExchange::execute(std::span<const void* const> sources,
                              std::span<void* const> destinations, const Combiner& combine) {
  begin(sources, destinations, combine);
  if (tree_) {
    execution_.run();
  } else {
    schedule_.wait();
  }
}

void PlannedExchange::start(std::span<const void* const> sources,
                            std::span<void* const> destinations, const Combiner& combine) {
  begin(sources, destinations, combine);
  if (tree_) execution_.start();
}

void PlannedExchange::start_backward(std::span<void* const> sources,
                                     std::span<const void* const> destinations,
                                     const Combiner& combine) {
  require_idle();
  schedule_.start_backward(sources, destinations, combine);
}

/// Advances the execution in progress, which is the schedule alone if it runs backward or the plan
/// has no tree.
bool PlannedExchange::advance(bool blocking) {
  if (!execution_.under_way()) return Execution::advance(schedule_, blocking);
  if (!blocking) return execution_.test();
  execution_.wait();
  return true;
}

/// Begins to broadcast the arrays, which have arrived at the tree's root.
void PlannedExchange::begin_spreading(bool blocking) {
  next_ = 0;
  failure_ = {};
  if (!blocking) return;
  for (; next_ < spread_.size(); ++next_)
    failure_.guard([&] { tree_->execute(spread_[next_], spread_[next_]); });
}

/// Broadcasts the rest of the arrays. Always uses the nonblocking tree: the other ranks do not know
/// if this rank waits or tests.
bool PlannedExchange::spread(bool blocking) {
  while (next_ < spread_.size()) {
    if (!tree_runs_) {
      failure_.guard([&] { tree_->start(spread_[next_], spread_[next_]); });
      tree_runs_ = true;
    }
    bool over = true;
    failure_.guard([&] { over = Execution::advance(*tree_, blocking); });
    if (!over) return false;
    tree_runs_ = false;
    ++next_;
  }
  failure_.rethrow();
  return true;
}

void PlanChecks::require_members(const Distribution& layout) const {
  for (int place = 0; place < layout.grid().size(); ++place) {
    const int rank = layout.grid().rank_at(place);
    if (rank >= communicator_.size()) {
      fail(ErrorKind::kArgument, "a layout has rank {}: the communicator has {} ranks", rank,
           communicator_.size());
    }
  }
}

}  // namespace impishim::darray
