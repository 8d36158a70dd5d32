// SPDX-License-Identifier: Apache-2.0
// Extremes with their places: first reduces the values, then finds the lowest place of each result.
#include <algorithm>
#include <limits>

#include "darray/base/address.hpp"
#include "darray/local/detail/operator_families.hpp"
#include "darray/local/strided_view.hpp"
#include "darray/plan/reduce/detail/reduce_group.hpp"
#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray {
namespace {

constexpr Index kNoPlace = std::numeric_limits<Index>::max();

// An axis of the piece that is searched.
struct SearchAxis {
  Index extent = 0;
  Index stride = 0;          // of elements
  Index mask = 0;            // of mask values
  Index result = 0;          // of results; 0 for a reduced axis
  std::vector<Index> terms;  // of the place; empty for an axis that stays
};

template <class T>
bool same(const T& a, const T& b) {
  return a == b || (a != a && b != b);
}

template <class T>
class Search {
 public:
  Search(const std::vector<SearchAxis>& axes, const T* data, const bool* mask, const T* extremes,
         Index* places)
      : axes_(axes), data_(data), mask_(mask), extremes_(extremes), places_(places) {}

  void run(std::size_t axis, Index at, Index mask, Index result, Index place) {
    if (axis == axes_.size()) {
      visit(at, mask, result, place);
      return;
    }
    const SearchAxis& mine = axes_[axis];
    for (Index k = 0; k < mine.extent; ++k) {
      const Index term = mine.terms.empty() ? 0 : mine.terms[static_cast<std::size_t>(k)];
      run(axis + 1, at + k * mine.stride, mask + k * mine.mask, result + k * mine.result,
          place + term);
    }
  }

 private:
  void visit(Index at, Index mask, Index result, Index place) {
    if (place >= places_[result] || !same(data_[at], extremes_[result])) return;
    if (mask_ == nullptr || mask_[mask]) places_[result] = place;
  }

  const std::vector<SearchAxis>& axes_;
  const T* data_;
  const bool* mask_;
  const T* extremes_;
  Index* places_;
};

}  // namespace

struct LocatePlan::State {
  ReduceGroup group;
  Scalar scalar;
  ReducePlan extremes;
  std::vector<AxisOrder> orders;
  std::vector<Index>
      place_strides;  // for each axis; places are numbered over the reduced axes only
  std::vector<SearchAxis> axes;
  std::vector<Index> places;
  std::optional<ReduceSchedule> lowest;

  State(ReduceGroup planned, const Distribution& source, Scalar scalar, ReducePlan plan,
        const Communicator& communicator);
  void check_buffers(const std::vector<Index*>& indices) const;
  void search(const void* source, const void* values, Mask mask);
};

LocatePlan::State::State(ReduceGroup planned, const Distribution& source, Scalar scalar,
                         ReducePlan plan, const Communicator& communicator)
    : group(std::move(planned)),
      scalar(scalar),
      extremes(std::move(plan)),
      orders(axis_orders(source, communicator.rank())),
      place_strides(group.is_reduced.size(), 0) {
  const std::vector<Index> mask_strides = StridedView<bool>::row_major(group.part.extents);
  axes.resize(group.is_reduced.size());
  Index place = 1;
  Index result = 1;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    SearchAxis& mine = axes[axis];
    mine = {group.part.extents[axis], group.part.strides[axis], mask_strides[axis], 0, {}};
    if (group.is_reduced[axis]) {
      place_strides[axis] = place;
      for (const Index number : orders[axis].numbers) mine.terms.push_back(number * place);
      place *= std::max<Index>(1, orders[axis].extent);
    } else {
      mine.result = result;
      result *= mine.extent;
    }
  }
  places.resize(static_cast<std::size_t>(group.results));
  if (!group.alone) {
    const Selection all = contiguous_patch(0, group.results);
    lowest.emplace(communicator, element_of<Index>(), group.members, all, all, Combine::kMin,
                   Reduction::kToAll, 0, ScheduleOptions{.checks = Checks::kOff});
  }
}

void LocatePlan::State::check_buffers(const std::vector<Index*>& indices) const {
  if (indices.size() != group.axes.size()) {
    fail(ErrorKind::kShape, "{} buffers of indices for {} reduced axes: give one for each axis",
         indices.size(), group.axes.size());
  }
  if (!places.empty() && std::find(indices.begin(), indices.end(), nullptr) != indices.end()) {
    fail(ErrorKind::kArgument,
         "a buffer of indices is null, but the rank has {} results: give room for as many indices",
         places.size());
  }
}

void LocatePlan::State::search(const void* source, const void* values, Mask mask) {
  std::fill(places.begin(), places.end(), kNoPlace);
  if (!group.contributes) return;
  with_scalar(scalar, [&]<class T>(std::type_identity<T>) {
    const auto* data = static_cast<const T*>(static_cast<const void*>(
        address_at(source, group.part.offset * static_cast<Index>(sizeof(T)))));
    Search<T>(axes, data, mask.empty() ? nullptr : mask.data(), static_cast<const T*>(values),
              places.data())
        .run(0, 0, 0, 0, 0);
  });
}

LocatePlan::LocatePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes,
                       Scalar scalar, Extreme extreme, ReduceOptions options) {
  const Communicator communicator(comm);
  if (options.operation == ReduceOptions().operation) options.operation = "location of an extreme";
  ReducePlan extremes(
      comm, source, axes,
      reduce_operator(extreme == Extreme::kMin ? Reducer::kMin : Reducer::kMax, scalar), options);
  ReduceGroup group(source, std::move(axes), options.known, communicator.rank(),
                    communicator.size());
  state_ =
      std::make_unique<State>(std::move(group), source, scalar, std::move(extremes), communicator);
}

LocatePlan::~LocatePlan() = default;
LocatePlan::LocatePlan(LocatePlan&&) noexcept = default;
LocatePlan& LocatePlan::operator=(LocatePlan&&) noexcept = default;

const DistributionPtr& LocatePlan::result() const { return state_->extremes.result(); }

void LocatePlan::execute(const void* source, void* values, const std::vector<Index*>& indices,
                         Mask mask) {
  State& state = *state_;
  state.extremes.execute(
      source, values, mask,
      [&] {
        return CollectiveCall("execution of a location of an extreme")
            .with("axes", std::span<const int>(state.group.axes));
      },
      [&] { state.check_buffers(indices); });
  state.search(source, values, mask);
  if (state.lowest) state.lowest->execute(state.places.data(), state.places.data());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const auto axis = static_cast<std::size_t>(state.group.axes[k]);
    const AxisOrder& order = state.orders[axis];
    for (std::size_t result = 0; result < state.places.size(); ++result) {
      indices[k][result] =
          order.global(state.places[result] / state.place_strides[axis] % order.extent);
    }
  }
}

}  // namespace impishim::darray
