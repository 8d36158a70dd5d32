// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/halo/halo.hpp"

#include <algorithm>

#include "darray/plan/core/detail/planned_exchange.hpp"

namespace impishim::darray {
namespace {

CollectiveCall call_of(const Distribution& layout, const Element& element,
                       const HaloOptions& options) {
  std::vector<int> modes;
  std::vector<Index> widths;
  for (const HaloAxis& axis : options.axes) {
    modes.push_back(static_cast<int>(axis.mode));
    widths.push_back(axis.widths ? axis.widths->lower : Index{-1});
    widths.push_back(axis.widths ? axis.widths->upper : Index{-1});
  }
  CollectiveCall call("halo");
  call.with("layout", layout).with("modes of the axes", std::span<const int>(modes));
  call.with("widths of the axes", std::span<const Index>(widths))
      .with("corners", options.corners)
      .with("element", element);
  add_options(call, options.schedule);
  return call;
}

std::unique_ptr<PlannedExchange> halo_exchange(const Communicator& communicator,
                                               const Distribution& layout, const Element& element,
                                               const HaloOptions& options) {
  const PlanChecks checks(communicator, options.schedule.checks);
  MessageList plan = checks.run(
      [&] { return call_of(layout, element, options); },
      [&] {
        checks.require_members(layout);
        const bool fills = std::ranges::any_of(
            options.axes, [](const HaloAxis& axis) { return axis.mode == HaloMode::kFill; });
        if (fills) options.fill.require(element);
        return plan_halo(communicator.rank(), layout, options);
      });
  return std::make_unique<PlannedExchange>(communicator, element, options.schedule, std::move(plan),
                                           options.fill);
}

}  // namespace

HaloPlan::HaloPlan(const Communicator& communicator, const Distribution& layout,
                   const Element& element, const HaloOptions& options)
    : Planned(halo_exchange(communicator, layout, element, options)) {}

HaloPlan::HaloPlan(MPI_Comm comm, const Distribution& layout, const Element& element,
                   const HaloOptions& options)
    : HaloPlan(Communicator(comm), layout, element, options) {}

void HaloPlan::execute(void* data) {
  const void* const source = data;
  Planned::execute(std::span(&source, 1), std::span(&data, 1));
}

void HaloPlan::execute(std::span<void* const> arrays) {
  const std::vector<const void*> sources(arrays.begin(), arrays.end());
  Planned::execute(sources, arrays);
}

void HaloPlan::reduce_back(void* data, const Combiner& combine) {
  start_reduce_back(data, combine);
  wait();
}

void HaloPlan::start_reduce_back(void* data, const Combiner& combine) {
  const void* const ghosts = data;
  exchange().start_backward(std::span(&data, 1), std::span(&ghosts, 1), combine);
}

void write_halo(const Communicator& communicator, const Distribution& layout, void* data,
                const Element& element, const HaloOptions& options) {
  HaloPlan(communicator, layout, element, options).execute(data);
}

}  // namespace impishim::darray
