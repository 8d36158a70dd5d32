// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/shift/shift.hpp"

#include <utility>

#include "darray/base/hash.hpp"
#include "darray/plan/core/detail/planned_exchange.hpp"

namespace impishim::darray {
namespace {

CollectiveCall call_of(const char* operation, const RemapSide& destination, const RemapSide& source,
                       int axis, const Element& element, const ShiftOptions& options) {
  CollectiveCall call(operation);
  call.with("destination", destination.layout).with("source", source.layout).with("axis", axis);
  call.with("element", element).with("mode", static_cast<int>(options.mode));
  add_options(call, options.schedule);
  return call;
}

std::uint64_t hash_of(std::span<const Index> amounts) {
  Hasher hasher;
  for (const Index amount : amounts) hasher.add(amount);
  return hasher.value();
}

/// Checks that processes along the axis, which share their lines, have the same amounts. `hashes`
/// contains the hashes of all ranks' amounts, or is empty.
void require_equal_amounts(const Distribution& layout, int axis, int rank,
                           const std::vector<Index>& hashes) {
  const ProcessGrid& grid = layout.grid();
  const int dimension = layout.axis(axis).grid_dimension;
  const auto place = grid.place_of(rank);
  if (hashes.empty() || !place || dimension == kNotDistributed) return;
  const int first = *place - grid.coordinate(*place, dimension) * grid.stride(dimension);
  for (int k = 0; k < grid.extent(dimension); ++k) {
    const int other = grid.rank_at(first + k * grid.stride(dimension));
    if (hashes[static_cast<std::size_t>(other)] == hashes[static_cast<std::size_t>(rank)]) continue;
    fail(ErrorKind::kArgument, "the amounts of a skew along axis {} differ between ranks {} and {}",
         axis, rank, other);
  }
}

/// Returns the exchange of a shift or a skew: both are executed in the same way.
template <class Call, class Make>
std::unique_ptr<PlannedExchange> exchange_of(const Communicator& communicator,
                                             const RemapSide& destination, const RemapSide& source,
                                             const Element& element, const ShiftOptions& options,
                                             const Call& call, const Make& make) {
  const PlanChecks checks(communicator, options.schedule.checks);
  MessageList plan = checks.run(call, [&] {
    checks.require_members(destination.layout);
    checks.require_members(source.layout);
    if (options.mode == ShiftMode::kFill) options.fill.require(element);
    return make();
  });
  return std::make_unique<PlannedExchange>(communicator, element, options.schedule, std::move(plan),
                                           options.fill);
}

std::unique_ptr<PlannedExchange> shift_exchange(const Communicator& communicator,
                                                const RemapSide& destination,
                                                const RemapSide& source, int axis, Index amount,
                                                const Element& element,
                                                const ShiftOptions& options) {
  const auto call = [&] {
    return call_of("shift", destination, source, axis, element, options).with("amount", amount);
  };
  return exchange_of(communicator, destination, source, element, options, call, [&] {
    return plan_shift(communicator.rank(), communicator.systems(), destination, source, axis,
                      amount, options.mode);
  });
}

std::unique_ptr<PlannedExchange> skew_exchange(
    const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
    int axis, std::span<const Index> amounts, const Element& element, const ShiftOptions& options) {
  const auto call = [&] { return call_of("skew", destination, source, axis, element, options); };
  std::unique_ptr<PlannedExchange> exchange =
      exchange_of(communicator, destination, source, element, options, call, [&] {
        return plan_skew(communicator.rank(), destination, source, axis, amounts, options.mode);
      });
  const Checks checks = options.schedule.checks;
  const std::vector<Index> hashes =
      values_of_all(communicator, checks, static_cast<Index>(hash_of(amounts)));
  agreed(communicator, checks, "skew",
         [&] { require_equal_amounts(destination.layout, axis, communicator.rank(), hashes); });
  return exchange;
}

ShiftOptions cyclic() {
  ShiftOptions options;
  options.mode = ShiftMode::kCyclic;
  return options;
}

}  // namespace

ShiftPlan::ShiftPlan(const Communicator& communicator, const RemapSide& destination,
                     const RemapSide& source, int axis, Index amount, const Element& element,
                     const ShiftOptions& options)
    : PlannedShift(
          shift_exchange(communicator, destination, source, axis, amount, element, options)) {}

SkewPlan::SkewPlan(const Communicator& communicator, const RemapSide& destination,
                   const RemapSide& source, int axis, std::span<const Index> amounts,
                   const Element& element, const ShiftOptions& options)
    : PlannedShift(
          skew_exchange(communicator, destination, source, axis, amounts, element, options)) {}

void shift(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, int axis, Index amount,
           const Element& element, const ShiftOptions& options) {
  ShiftPlan(communicator, destination, source, axis, amount, element, options)
      .execute(source_data, destination_data);
}

void cshift(const Communicator& communicator, const RemapSide& destination, void* destination_data,
            const RemapSide& source, const void* source_data, int axis, Index amount,
            const Element& element) {
  shift(communicator, destination, destination_data, source, source_data, axis, amount, element,
        cyclic());
}

void skew(const Communicator& communicator, const RemapSide& destination, void* destination_data,
          const RemapSide& source, const void* source_data, int axis,
          std::span<const Index> amounts, const Element& element, const ShiftOptions& options) {
  SkewPlan(communicator, destination, source, axis, amounts, element, options)
      .execute(source_data, destination_data);
}

void cskew(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, int axis,
           std::span<const Index> amounts, const Element& element) {
  skew(communicator, destination, destination_data, source, source_data, axis, amounts, element,
       cyclic());
}

}  // namespace impishim::darray
