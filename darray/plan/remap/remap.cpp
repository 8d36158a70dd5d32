// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/remap.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "darray/plan/core/detail/planned_exchange.hpp"
#include "darray/plan/remap/detail/axis_pairs.hpp"

namespace impishim::darray {
namespace {

void add_side(CollectiveCall& call, const char* layout, const char* section,
              const RemapSide& side) {
  std::vector<Index> triplets;
  for (const auto& [start, count, step] : side.section)
    triplets.insert(triplets.end(), {start, count, step});
  call.with(layout, side.layout).with(section, std::span<const Index>(triplets));
}

CollectiveCall call_of(const char* operation, const RemapSide& destination, const RemapSide& source,
                       const Element& element, const RemapOptions& options) {
  CollectiveCall call(operation);
  add_side(call, "destination", "section of the destination", destination);
  add_side(call, "source", "section of the source", source);
  call.with("permutation", std::span<const int>(options.permutation));
  call.with("duplicates", static_cast<int>(options.duplicates))
      .with("element", element)
      .with("backward", options.backward);
  add_options(call, options.schedule);
  return call;
}

/// Returns true if the backward remap is not the reverse of the forward one: an element comes from
/// one of several places, or goes to several places.
bool is_shared(const Distribution& layout) {
  return layout.is_replicated() || std::ranges::any_of(layout.axes(), [](const Axis& axis) {
           return has_shared_labels(axis.map);
         });
}

ScheduleOptions schedule_options(const RemapOptions& options) {
  ScheduleOptions result = options.schedule;
  if (options.duplicates == Duplicates::kAll) result.ordered = true;
  return result;
}

std::vector<int> inverse(const std::vector<int>& permutation, int source_axes) {
  if (permutation.empty()) return {};
  std::vector<int> result(static_cast<std::size_t>(source_axes), kRepeated);
  for (std::size_t axis = 0; axis < permutation.size(); ++axis) {
    if (permutation[axis] != kRepeated)
      result[static_cast<std::size_t>(permutation[axis])] = static_cast<int>(axis);
  }
  return result;
}

/// Returns true if source elements are repeated along an axis. Such a remap cannot run backward.
bool repeats_elements(const RemapSide& destination, const std::vector<int>& permutation) {
  for (std::size_t axis = 0; axis < permutation.size(); ++axis) {
    if (permutation[axis] != kRepeated) continue;
    const Index count = destination.section.empty() ? destination.layout.shape()[axis]
                                                    : destination.section[axis].count;
    if (count != 1) return true;
  }
  return false;
}

}  // namespace

struct RemapPlan::State {
  State(const Communicator& communicator, const Element& element, ScheduleOptions options,
        MessageList plan)
      : forward(communicator, element, options, std::move(plan)) {}

  PlannedExchange forward;
  std::optional<PlannedExchange> backward;  // empty: `forward` runs its schedule backward
  bool reversible = true;
  bool runs_backward = false;

  [[nodiscard]] PlannedExchange& running() {
    return runs_backward && backward ? *backward : forward;
  }

  void run_backward(void* source, const void* destination, const Combiner& combine, bool blocking) {
    running().require_idle();
    if (!reversible) {
      fail(ErrorKind::kUnsupported,
           "this remap runs forwards only: it repeats elements, or is planned without a way back");
    }
    runs_backward = true;
    if (backward && blocking) {
      backward->execute(std::span(&destination, 1), std::span(&source, 1), combine);
    } else if (backward) {
      backward->start(std::span(&destination, 1), std::span(&source, 1), combine);
    } else {
      forward.start_backward(std::span(&source, 1), std::span(&destination, 1), combine);
      if (blocking) forward.wait();
    }
  }
};

RemapPlan::RemapPlan(const Communicator& communicator, const RemapSide& destination,
                     const RemapSide& source, const Element& element, const RemapOptions& options) {
  const PlanChecks checks(communicator, options.schedule.checks);
  const int rank = communicator.rank();
  const auto call = [&] { return call_of("remap", destination, source, element, options); };
  MessageList plan = checks.run(call, [&] {
    checks.require_members(destination.layout);
    checks.require_members(source.layout);
    return plan_remap(rank, communicator.systems(), destination, source, options);
  });
  const ScheduleOptions schedule = schedule_options(options);
  state_ = std::make_unique<State>(communicator, element, schedule, std::move(plan));
  state_->reversible = options.backward && !repeats_elements(destination, options.permutation);
  if (!state_->reversible || (!is_shared(destination.layout) && !is_shared(source.layout))) return;
  RemapOptions back = options;
  back.permutation = inverse(options.permutation, source.layout.dimensions());
  state_->backward.emplace(
      communicator, element, schedule,
      plan_remap(rank, communicator.systems(), source, destination, back, Coverage::kSome));
}

RemapPlan::RemapPlan(MPI_Comm comm, const RemapSide& destination, const RemapSide& source,
                     const Element& element, const RemapOptions& options)
    : RemapPlan(Communicator(comm), destination, source, element, options) {}

RemapPlan::RemapPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}

RemapPlan RemapPlan::reshape(const Communicator& communicator, const RemapSide& destination,
                             const RemapSide& source, const Element& element,
                             const RemapOptions& options) {
  const PlanChecks checks(communicator, options.schedule.checks);
  const int rank = communicator.rank();
  const Systems& systems = communicator.systems();
  const auto call = [&] { return call_of("reshape", destination, source, element, options); };
  MessageList plan = checks.run(call, [&] {
    if (!options.permutation.empty())
      fail(ErrorKind::kUnsupported, "a reshape permutes no axes: transpose first");
    checks.require_members(destination.layout);
    checks.require_members(source.layout);
    return plan_reshape(rank, systems, destination, source);
  });
  auto state = std::make_unique<State>(communicator, element, options.schedule, std::move(plan));
  state->reversible = options.backward;
  if (options.backward && (is_shared(destination.layout) || is_shared(source.layout))) {
    state->backward.emplace(communicator, element, options.schedule,
                            plan_reshape(rank, systems, source, destination));
  }
  return RemapPlan(std::move(state));
}

RemapPlan::~RemapPlan() = default;
RemapPlan::RemapPlan(RemapPlan&&) noexcept = default;
RemapPlan& RemapPlan::operator=(RemapPlan&&) noexcept = default;

void RemapPlan::execute(std::span<const void* const> sources, std::span<void* const> destinations,
                        const Combiner& combine) {
  state_->running().require_idle();
  state_->forward.execute(sources, destinations, combine);
}

void RemapPlan::execute(const void* source, void* destination, const Combiner& combine) {
  execute(std::span(&source, 1), std::span(&destination, 1), combine);
}

void RemapPlan::execute_backward(void* source, const void* destination, const Combiner& combine) {
  state_->run_backward(source, destination, combine, true);
}

void RemapPlan::start(const void* source, void* destination, const Combiner& combine) {
  state_->running().require_idle();
  state_->forward.start(std::span(&source, 1), std::span(&destination, 1), combine);
  state_->runs_backward = false;
}

void RemapPlan::start_backward(void* source, const void* destination, const Combiner& combine) {
  state_->run_backward(source, destination, combine, false);
}

bool RemapPlan::test() { return state_->running().test(); }
void RemapPlan::wait() { state_->running().wait(); }
const Statistics& RemapPlan::statistics() const { return state_->forward.statistics(); }

void remap(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, const Element& element,
           RemapOptions options) {
  options.backward = false;
  RemapPlan(communicator, destination, source, element, options)
      .execute(source_data, destination_data);
}

void reshape(const Communicator& communicator, const RemapSide& destination, void* destination_data,
             const RemapSide& source, const void* source_data, const Element& element,
             RemapOptions options) {
  options.backward = false;
  RemapPlan::reshape(communicator, destination, source, element, options)
      .execute(source_data, destination_data);
}

}  // namespace impishim::darray
