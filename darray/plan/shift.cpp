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
  add_options(hasher, options.schedule);
  return hasher.value();
}

std::uint64_t hash_of(std::span<const Index> amounts) {
  Hasher hasher;
  for (const Index amount : amounts) hasher.add(amount);
  return hasher.value();
}

/// Processes along the axis share their lines. `hashes`: of all ranks' amounts, or none.
void require_equal_amounts(const Distribution& layout, int axis, int rank, const std::vector<Index>& hashes) {
  const ProcessGrid& grid = layout.grid();
  const int dimension = layout.axis(axis).grid_dimension;
  const auto place = grid.place_of(rank);
  if (hashes.empty() || !place || dimension == kNotDistributed) return;
  const int first = *place - grid.coordinate(*place, dimension) * grid.stride(dimension);
  for (int k = 0; k < grid.extent(dimension); ++k) {
    const int other = grid.rank_at(first + k * grid.stride(dimension));
    if (hashes[static_cast<std::size_t>(other)] == hashes[static_cast<std::size_t>(rank)]) continue;
    fail(ErrorKind::kArgument, "the amounts of a skew along axis {} differ between ranks {} and {}", axis, rank, other);
  }
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

ShiftOptions cyclic() {
  ShiftOptions options;
  options.mode = ShiftMode::kCyclic;
  return options;
}

}  // namespace

PlannedShift::PlannedShift(PlannedExchange exchange) : exchange_(std::make_unique<PlannedExchange>(std::move(exchange))) {}
PlannedShift::~PlannedShift() = default;
PlannedShift::PlannedShift(PlannedShift&&) noexcept = default;
PlannedShift& PlannedShift::operator=(PlannedShift&&) noexcept = default;

void PlannedShift::execute(const void* source, void* destination) {
  exchange_->execute(std::span(&source, 1), std::span(&destination, 1), {});
}
void PlannedShift::start(const void* source, void* destination) {
  exchange_->start(std::span(&source, 1), std::span(&destination, 1), {});
}
bool PlannedShift::test() { return exchange_->test(); }
void PlannedShift::wait() { exchange_->wait(); }
const Statistics& PlannedShift::statistics() const { return exchange_->statistics(); }

ShiftPlan::ShiftPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source, int axis,
                     Index amount, const Element& element, const ShiftOptions& options)
    : PlannedShift(exchange_of(communicator, destination, source, element, options,
                               fingerprint(destination, source, axis, amount, element, options), [&] {
                                 return plan_shift(communicator.rank(), communicator.systems(), destination, source, axis,
                                                   amount, options.mode);
                               })) {}

SkewPlan::SkewPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source, int axis,
                   std::span<const Index> amounts, const Element& element, const ShiftOptions& options)
    : PlannedShift(exchange_of(
          communicator, destination, source, element, options, fingerprint(destination, source, axis, 0, element, options),
          [&, hashes = values_of_all(communicator, options.schedule.checks, static_cast<Index>(hash_of(amounts)))] {
            RankPlan plan = plan_skew(communicator.rank(), destination, source, axis, amounts, options.mode);
            require_equal_amounts(destination.layout, axis, communicator.rank(), hashes);
            return plan;
          })) {}

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
