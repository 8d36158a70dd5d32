#include "darray/plan/shift.hpp"

#include <utility>

#include "darray/base/hash.hpp"
#include "darray/plan/planned_exchange.hpp"

namespace impishim::darray {
namespace {

std::uint64_t fingerprint(const RemapSide& destination, const RemapSide& source, int axis, Index amount, const Element& element,
                          const ShiftOptions& options) {
  Hasher hasher;
  hasher.add(destination.layout.hash());
  hasher.add(source.layout.hash());
  hasher.add(axis);
  hasher.add(amount);
  hasher.add(static_cast<Index>(element.size));
  hasher.add(static_cast<int>(options.mode));
  hasher.add(options.schedule.chunk_bytes);
  return hasher.value();
}

/// Both plans run the same way.
template <class Make>
PlannedExchange exchange_of(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
                            const Element& element, const ShiftOptions& options, std::uint64_t fingerprint, const Make& make) {
  const PlanChecks checks(communicator, options.schedule.checks);
  RankPlan plan = checks.run("a shift's description", fingerprint, [&] {
    checks.require_members(destination.layout);
    checks.require_members(source.layout);
    if (options.mode == ShiftMode::kFill) options.fill.require(element);
    return make();
  });
  return {communicator, element, options.schedule, std::move(plan), options.fill};
}

void start(PlannedExchange& exchange, const void* source, void* destination) {
  exchange.start(std::span(&source, 1), std::span(&destination, 1), {});
}

ShiftOptions cyclic() {
  ShiftOptions options;
  options.mode = ShiftMode::kCyclic;
  return options;
}

}  // namespace

struct ShiftPlan::State {
  PlannedExchange exchange;
};

ShiftPlan::ShiftPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source, int axis,
                     Index amount, const Element& element, const ShiftOptions& options)
    : state_(std::make_unique<State>(State{exchange_of(communicator, destination, source, element, options,
                                                       fingerprint(destination, source, axis, amount, element, options), [&] {
                                                         return plan_shift(communicator.rank(), communicator.systems(),
                                                                           destination, source, axis, amount, options.mode);
                                                       })})) {}

ShiftPlan::~ShiftPlan() = default;
ShiftPlan::ShiftPlan(ShiftPlan&&) noexcept = default;
ShiftPlan& ShiftPlan::operator=(ShiftPlan&&) noexcept = default;

void ShiftPlan::execute(const void* source, void* destination) {
  start(source, destination);
  wait();
}
void ShiftPlan::start(const void* source, void* destination) { darray::start(state_->exchange, source, destination); }
bool ShiftPlan::test() { return state_->exchange.test(); }
void ShiftPlan::wait() { state_->exchange.wait(); }
const Statistics& ShiftPlan::statistics() const { return state_->exchange.statistics(); }

struct SkewPlan::State {
  PlannedExchange exchange;
};

SkewPlan::SkewPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source, int axis,
                   std::span<const Index> amounts, const Element& element, const ShiftOptions& options)
    : state_(std::make_unique<State>(State{exchange_of(
          communicator, destination, source, element, options, fingerprint(destination, source, axis, 0, element, options),
          [&] { return plan_skew(communicator.rank(), destination, source, axis, amounts, options.mode); })})) {}

SkewPlan::~SkewPlan() = default;
SkewPlan::SkewPlan(SkewPlan&&) noexcept = default;
SkewPlan& SkewPlan::operator=(SkewPlan&&) noexcept = default;

void SkewPlan::execute(const void* source, void* destination) {
  start(source, destination);
  wait();
}
void SkewPlan::start(const void* source, void* destination) { darray::start(state_->exchange, source, destination); }
bool SkewPlan::test() { return state_->exchange.test(); }
void SkewPlan::wait() { state_->exchange.wait(); }
const Statistics& SkewPlan::statistics() const { return state_->exchange.statistics(); }

void shift(const Communicator& communicator, const RemapSide& destination, void* destination_data, const RemapSide& source,
           const void* source_data, int axis, Index amount, const Element& element, const ShiftOptions& options) {
  ShiftPlan(communicator, destination, source, axis, amount, element, options).execute(source_data, destination_data);
}

void cshift(const Communicator& communicator, const RemapSide& destination, void* destination_data, const RemapSide& source,
            const void* source_data, int axis, Index amount, const Element& element) {
  shift(communicator, destination, destination_data, source, source_data, axis, amount, element, cyclic());
}

void skew(const Communicator& communicator, const RemapSide& destination, void* destination_data, const RemapSide& source,
          const void* source_data, int axis, std::span<const Index> amounts, const Element& element,
          const ShiftOptions& options) {
  SkewPlan(communicator, destination, source, axis, amounts, element, options).execute(source_data, destination_data);
}

void cskew(const Communicator& communicator, const RemapSide& destination, void* destination_data, const RemapSide& source,
           const void* source_data, int axis, std::span<const Index> amounts, const Element& element) {
  skew(communicator, destination, destination_data, source, source_data, axis, amounts, element, cyclic());
}

}  // namespace impishim::darray
