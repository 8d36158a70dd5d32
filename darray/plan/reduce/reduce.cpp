// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/reduce/reduce.hpp"

#include <cstring>
#include <numeric>

#include "darray/base/address.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/plan/reduce/detail/reduce_group.hpp"
#include "darray/schedule/detail/execution.hpp"
#include "darray/schedule/reduce_schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"

namespace impishim::darray {
namespace {

std::vector<int> all_axes(const Distribution& distribution) {
  std::vector<int> axes(distribution.axes().size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

/// An execution has three parts. First the contributions are combined. Then members without
/// contributions receive the result. Finally, if the result may come from no elements, the members
/// ask each other whether there were any.
struct ReducePlan::State {
  Communicator communicator;
  Checks checks;
  ReduceGroup group;
  ReduceOperator operation;
  std::optional<ReduceSchedule> combine;
  std::optional<TreeSchedule> tell;
  std::optional<ReduceSchedule> ask;
  Statistics statistics;

  Execution execution;
  // State of the execution in progress.
  std::byte* results = nullptr;
  std::unique_ptr<bool[]> had_elements;
  bool asking = false;

  State(const Communicator& communicator, Checks checks, ReduceGroup group,
        ReduceOperator operation)
      : communicator(communicator),
        checks(checks),
        group(std::move(group)),
        operation(std::move(operation)),
        execution(communicator) {}

  void plan(ScheduleOptions options);
  void plan_parts(ScheduleOptions options);
  void reduce_locally(const void* source, Mask mask);
  void find_elements(Mask mask);
  void check_mask(Mask mask) const;
  [[nodiscard]] CollectiveCall call() const;
  void run(const void* source, void* destination, Mask mask, bool blocking,
           const std::function<CollectiveCall()>& call, const std::function<void()>& check);
  void ask_for_elements(bool blocking);
  void require_elements() const;
};

void ReducePlan::State::plan(ScheduleOptions options) {
  // All ranks make the same plan, and the arguments have been checked.
  options.checks = Checks::kOff;
  had_elements = std::make_unique<bool[]>(static_cast<std::size_t>(group.results));
  if (!group.alone) plan_parts(options);
  const auto add = [this](auto& schedule) {
    if (!schedule) return;
    execution.add_schedule(*schedule, [this, &schedule](bool blocking) {
      Execution::begin(*schedule, results, results, blocking);
    });
  };
  add(combine);
  add(tell);
  if (operation.doubtful) {
    execution.add_part(
        [this](bool blocking) { ask_for_elements(blocking); },
        [this](bool blocking) { return !asking || !ask || Execution::advance(*ask, blocking); });
  }
  execution.add_local([this] { require_elements(); });
}

void ReducePlan::State::plan_parts(ScheduleOptions options) {
  const Selection all = contiguous_patch(0, group.results);
  const bool everybody = operation.has_identity();
  const bool takes_part = everybody || group.contributes;
  const std::vector<int> none;
  combine.emplace(communicator, operation.accumulator,
                  takes_part ? (everybody ? group.members : group.contributors) : none, all, all,
                  operation.combine, Reduction::kToAll, 0, options);
  statistics += combine->statistics();
  if (!everybody) {
    std::vector<int> told;
    const int root = group.contributors.empty() ? 0 : group.contributors.front();
    const bool is_told = !group.contributes || communicator.rank() == root;
    if (!group.contributors.empty() && is_told) {
      for (const int member : group.members) {
        const auto& list = group.contributors;
        if (member == root || std::find(list.begin(), list.end(), member) == list.end())
          told.push_back(member);
      }
    }
    if (told.size() < 2) told.clear();
    tell.emplace(communicator, operation.accumulator, root, told, all,
                 communicator.rank() == root ? Selection() : all, options);
    statistics += tell->statistics();
  }
  if (operation.doubtful) {
    ask.emplace(communicator, element_of<bool>(), group.members, all, all, Combine::kMax,
                Reduction::kToAll, 0, options);
  }
}

void ReducePlan::State::check_mask(Mask mask) const {
  if (mask.empty()) return;
  if (static_cast<Index>(mask.size()) != group.part.size) {
    fail(ErrorKind::kShape, "a mask of {} values, but the rank owns {} elements", mask.size(),
         group.part.size);
  }
  if (!operation.has_identity())
    fail(ErrorKind::kArgument, "an operator without an identity takes no mask: give it one");
}

void ReducePlan::State::reduce_locally(const void* source, Mask mask) {
  if (group.contributes) {
    const auto* first =
        address_at(source, group.part.offset * static_cast<Index>(operation.source.size));
    operation.reduce(group.piece, first, mask.empty() ? nullptr : mask.data(), results);
  } else if (operation.has_identity()) {
    for (Index k = 0; k < group.results; ++k) {
      std::memcpy(results + k * static_cast<Index>(operation.accumulator.size),
                  operation.identity.data(), operation.accumulator.size);
    }
  }
  if (operation.doubtful) find_elements(mask);
}

void ReducePlan::State::find_elements(Mask mask) {
  if (group.contributes && !mask.empty()) {
    // Treats the mask as the elements of a separate piece.
    ReducePiece piece = group.piece;
    for (auto* list : {&piece.kept, &piece.reduced}) {
      for (ReduceDimension& dimension : *list) dimension.stride = dimension.other;
    }
    static const ReduceOperator any = reduce_operator(Reducer::kAny, Scalar::kBool);
    any.reduce(piece, mask.data(), nullptr, had_elements.get());
  } else {
    std::fill_n(had_elements.get(), group.results, group.contributes);
  }
}

/// Asks the other members whether there were elements, if the result may come from none.
void ReducePlan::State::ask_for_elements(bool blocking) {
  asking = group.results > 0 && operation.doubtful(results, group.results);
  if (asking && ask) Execution::begin(*ask, had_elements.get(), had_elements.get(), blocking);
}

CollectiveCall ReducePlan::State::call() const {
  return CollectiveCall("execution of a reduction").with("operator", operation.name);
}

/// Keeps what a user's operator throws until the end, because the other ranks wait for this rank's
/// part.
void ReducePlan::State::run(const void* source, void* destination, Mask mask, bool blocking,
                            const std::function<CollectiveCall()>& call,
                            const std::function<void()>& check) {
  execution.require_idle();
  // Agrees on errors: a rank without elements has an empty mask, which is always valid. It would
  // otherwise wait for ranks that have thrown.
  agreed(communicator, checks, call, [&] {
    check_mask(mask);
    check();
  });
  results = static_cast<std::byte*>(destination);
  const auto reduce = [&] { reduce_locally(source, mask); };
  if (blocking) {
    execution.run(reduce);
  } else {
    execution.start(reduce);
  }
}

void ReducePlan::State::require_elements() const {
  if (group.results == 0) return;
  const bool nothing =
      operation.doubtful
          ? asking && !std::all_of(had_elements.get(), had_elements.get() + group.results,
                                   [](bool had) { return had; })
          : !operation.has_identity() && group.contributors.empty();
  if (nothing)
    fail(ErrorKind::kArgument,
         "a reduction of no elements by an operator that has no value for it");
}

ReducePlan::ReducePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes,
                       ReduceOperator operation, ReduceOptions options) {
  const Communicator communicator(comm);
  const std::string operator_name = operation.name;
  const auto call = [&] {
    CollectiveCall given(options.operation);
    given.with("operator", operator_name)
        .with("axes", std::span<const int>(axes))
        .with("array", source);
    given.with("known everywhere", options.known == Known::kEverywhere);
    add_options(given, options.schedule);
    return given;
  };
  agreed(communicator, options.schedule.checks, call, [&] {
    require_ranks(source, communicator);
    ReduceGroup group(source, axes, options.known, communicator.rank(), communicator.size());
    state_ = std::make_unique<State>(communicator, options.schedule.checks, std::move(group),
                                     std::move(operation));
  });
  state_->plan(options.schedule);
}

ReducePlan::ReducePlan(MPI_Comm comm, const Distribution& source, ReduceOperator operation)
    : ReducePlan(comm, source, all_axes(source), std::move(operation),
                 ReduceOptions{.known = Known::kEverywhere}) {}

ReducePlan::~ReducePlan() = default;
ReducePlan::ReducePlan(ReducePlan&&) noexcept = default;
ReducePlan& ReducePlan::operator=(ReducePlan&&) noexcept = default;

const DistributionPtr& ReducePlan::result() const { return state_->group.result; }
const Statistics& ReducePlan::statistics() const { return state_->statistics; }

void ReducePlan::execute(const void* source, void* destination, Mask mask) {
  execute(
      source, destination, mask, [this] { return state_->call(); }, [] {});
}
void ReducePlan::execute(const void* source, void* destination, Mask mask,
                         const std::function<CollectiveCall()>& call,
                         const std::function<void()>& check) {
  state_->run(source, destination, mask, true, call, check);
}
void ReducePlan::start(const void* source, void* destination, Mask mask) {
  state_->run(
      source, destination, mask, false, [this] { return state_->call(); }, [] {});
}

bool ReducePlan::test() { return state_->execution.test(); }
void ReducePlan::wait() { state_->execution.wait(); }

}  // namespace impishim::darray
