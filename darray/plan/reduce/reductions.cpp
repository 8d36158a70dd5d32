// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/reduce/reductions.hpp"

#include <numeric>

#include "darray/base/address.hpp"
#include "darray/plan/reduce/detail/reduce_group.hpp"
#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray {

void reduce(MPI_Comm comm, const Distribution& distribution, const void* data,
            const ReduceOperator& operation, void* result, Mask mask, std::string name) {
  ReduceOptions options{.known = Known::kEverywhere};
  if (!name.empty()) options.operation = std::move(name);
  std::vector<int> axes(distribution.axes().size());
  std::iota(axes.begin(), axes.end(), 0);
  ReducePlan(comm, distribution, std::move(axes), operation, std::move(options))
      .execute(data, result, mask);
}

Index flat_index(const Distribution& distribution, std::span<const Index> indices) {
  Index flat = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    flat = flat * distribution.shape()[axis] + indices[axis];
  return flat;
}

namespace detail {

void locate(MPI_Comm comm, const Distribution& distribution, const void* data, Scalar scalar,
            Extreme extreme, void* value, std::vector<Index>& indices, Mask mask) {
  std::vector<int> axes(distribution.axes().size());
  std::iota(axes.begin(), axes.end(), 0);
  indices.assign(axes.size(), 0);
  std::vector<Index*> places;
  for (Index& index : indices) places.push_back(&index);
  LocatePlan(comm, distribution, axes, scalar, extreme, {.known = Known::kEverywhere})
      .execute(data, value, places, mask);
}

void dot(MPI_Comm comm, const Distribution& left, const void* left_data, std::size_t left_size,
         const Distribution& right, const void* right_data, std::size_t right_size,
         const Element& result_element, const CombineFunction& combine, const DotFunction& local,
         void* result) {
  const Communicator communicator(comm);
  const int rank = communicator.rank();
  const auto call = [&] {
    CollectiveCall given("dot product");
    return given.with("left", left).with("right", right).with("element", result_element);
  };
  agreed(communicator, Checks::kOn, call, [&] {
    require_ranks(left, communicator);
    if (!left.same_pieces(right))
      fail(ErrorKind::kLayout, "the two arrays of a dot product are not aligned");
  });
  // Only the primary copy counts. On other ranks the result stays zero.
  if (left.is_primary(rank)) {
    const OwnedPart mine = owned_part(left, rank);
    const OwnedPart other = owned_part(right, rank);
    const ReducePiece piece =
        reduce_piece(mine, other.strides, std::vector<bool>(left.axes().size(), true));
    const auto* left_first = address_at(left_data, mine.offset * static_cast<Index>(left_size));
    const auto* right_first = address_at(right_data, other.offset * static_cast<Index>(right_size));
    local(piece, left_first, right_first, result);
  }
  all_reduce(communicator, result_element, result, 1, combine);
}

}  // namespace detail
}  // namespace impishim::darray
