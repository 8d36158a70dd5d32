#include "darray/plan/planned_exchange.hpp"

#include <utility>

namespace impishim::darray {
namespace {

// What the plan itself has checked is not checked again by its schedules.
ScheduleOptions unchecked(ScheduleOptions options) {
  options.checks = Checks::kOff;
  return options;
}

/// As many elements as those, all of them the one element of another buffer.
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

PlannedExchange::PlannedExchange(const Communicator& communicator, const Element& element, ScheduleOptions options,
                                 RankPlan plan, const FillValue& fill)
    : schedule_(communicator, element, unchecked(options)), value_(fill.bytes()) {
  for (auto& [peer, elements] : plan.sends) schedule_.add_send(peer, elements);
  for (auto& [peer, elements] : plan.receives) schedule_.add_receive(peer, elements);
  for (auto& [source, destination] : plan.local) schedule_.add_local(source, destination);
  schedule_.build();
  statistics_ = schedule_.statistics();
  if (plan.multicast) {
    const RankPlan::Multicast& multicast = *plan.multicast;
    const bool root = communicator.rank() == multicast.root;
    tree_.emplace(communicator, element, multicast.root, multicast.members, root ? multicast.elements : Selection(),
                  root ? Selection() : multicast.elements, unchecked(options));
    statistics_ += tree_->statistics();
  }
  if (!plan.fills.empty()) fill_.emplace(repeated_value(plan.fills), plan.fills, element.size, false);
}

void PlannedExchange::fill(std::span<void* const> destinations) const {
  if (!fill_) return;
  for (void* destination : destinations) fill_->run(value_.data(), static_cast<std::byte*>(destination), {});
}

void PlannedExchange::start(std::span<const void* const> sources, std::span<void* const> destinations,
                            const Combiner& combine) {
  schedule_.start(sources, destinations, combine);
  fill(destinations);
  spread_.clear();
  if (tree_) spread_.assign(destinations.begin(), destinations.end());
  stage_ = Stage::kExchanging;
}

void PlannedExchange::start_backward(std::span<void* const> sources, std::span<const void* const> destinations,
                                     const Combiner& combine) {
  schedule_.start_backward(sources, destinations, combine);
  spread_.clear();
  stage_ = Stage::kExchanging;
}

bool PlannedExchange::advance(bool blocking) {
  if (stage_ == Stage::kIdle) return true;
  if (stage_ == Stage::kExchanging) {
    if (blocking) {
      schedule_.wait();
    } else if (!schedule_.test()) {
      return false;
    }
    stage_ = Stage::kSpreading;
    next_ = 0;
  }
  if (!spread(blocking)) return false;
  stage_ = Stage::kIdle;
  return true;
}

bool PlannedExchange::spread(bool blocking) {
  while (next_ < spread_.size()) {
    void* const data = spread_[next_];
    if (tree_runs_) {
      if (blocking) {
        tree_->wait();
      } else if (!tree_->test()) {
        return false;
      }
      tree_runs_ = false;
      ++next_;
    } else if (blocking) {
      tree_->execute(data, data);
      ++next_;
    } else {
      tree_->start(data, data);
      tree_runs_ = true;
    }
  }
  return true;
}

void PlanChecks::require_members(const Distribution& layout) const {
  for (int place = 0; place < layout.grid().size(); ++place) {
    const int rank = layout.grid().rank_at(place);
    if (rank >= communicator_.size()) {
      fail(ErrorKind::kArgument, "a layout has rank {}: the communicator has {} ranks", rank, communicator_.size());
    }
  }
}

}  // namespace impishim::darray
