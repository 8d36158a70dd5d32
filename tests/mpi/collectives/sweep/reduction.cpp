// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: what every process contributes, and what serial computation makes of it.
#include "tests/mpi/collectives/sweep/reduction.hpp"

#include <cstdlib>
#include <numeric>

namespace sweep {
namespace {

/// What is reduced.
struct Work {
  const Layout* layout;
  Op op;
  std::size_t items;
};

std::size_t draw_items(Draft& draft, const Layout& layout) {
  constexpr std::size_t kItems[] = {0, 1, 2, 5, 17, 100, 400, 1500};
  const std::size_t drawn = kItems[draft.shared.below(std::size(kItems))];
  return draft.big ? (std::size_t{4} << 20) / layout.dense_size() : drawn;
}

Work draw_user_work(Draft& draft) {
  const Op op = draft.shared.below(3) == 0 ? Op::kUserSum : Op::kUserAffine;
  const Layout* layout = &layouts().single(basic(MPI_UINT64_T));
  switch (draft.shared.below(3)) {
    case 0:
      layout = &layouts().gapped_pair();
      break;
    case 1:
      layout = &layouts().derived({&basic(MPI_UINT32_T)}, 2, draft.shared);
      break;
    default:
      break;
  }
  return {layout, op, draw_items(draft, *layout)};
}

Work draw_work(Draft& draft) {
  if (draft.shared.below(4) == 0) return draw_user_work(draft);
  const auto first = static_cast<std::uint64_t>(Op::kMax);
  const auto last = static_cast<std::uint64_t>(Op::kMaxloc);
  const auto op = static_cast<Op>(first + draft.shared.below(last - first + 1));
  std::vector<const Basic*> allowed;
  for (const Basic& type : basics()) {
    if (type.allows(op)) allowed.push_back(&type);
  }
  const Layout& layout = layouts().single(*allowed[draft.shared.below(allowed.size())]);
  return {&layout, op, draw_items(draft, layout)};
}

bool is_user(Op op) { return op == Op::kUserSum || op == Op::kUserAffine; }

/// `group` tells the two sides of an intercommunicator apart.
Dense contribution(const Work& work, std::uint64_t seed, int group, int rank) {
  const std::uint64_t key =
      mix(mix(seed, static_cast<std::uint64_t>(group)), static_cast<std::uint64_t>(rank));
  return content(work.layout->map, work.items * work.layout->map.size(), key,
                 is_user(work.op) ? Op::kMove : work.op);
}

/// Of ranks 0 to `count` - 1, in their order; `items` of it from `first` on.
Dense reduced(const Work& work, std::uint64_t seed, int group, int count, std::size_t first,
              std::size_t items) {
  Dense total = contribution(work, seed, group, 0);
  for (int rank = 1; rank < count; ++rank) {
    Dense next = contribution(work, seed, group, rank);
    combine(*work.layout, work.items, work.op, total, next);
    total = std::move(next);
  }
  const std::size_t item = work.layout->dense_size();
  const auto begin = total.begin() + static_cast<std::ptrdiff_t>(first * item);
  return {begin, begin + static_cast<std::ptrdiff_t>(items * item)};
}

/// The groups whose members contribute what this process gets, and that it contributes to.
int own_group(const Space& space) { return space.inter() && !space.first_group() ? 1 : 0; }
int giving_group(const Space& space) { return space.inter() ? 1 - own_group(space) : 0; }

class Reducer {
 public:
  Reducer(Draft& draft, const Work& work) : draft_(draft), work_(work) {
    Arguments& arguments = draft.operation.arguments;
    arguments.op = is_user(work.op) ? create_user_operation(work.op) : predefined(work.op);
    draft.operation.op = work.op;
    draft.operation.bytes = work.items * work.layout->dense_size();
    arguments.receive_count = static_cast<int>(work.items);
    arguments.receive_type = work.layout->handle;
    draft.operation.user_operation = is_user(work.op);
    draft.operation.text += std::string(" ") + sweep::name(work.op) + " " +
                            work.layout->map.front()->name + " (" + work.layout->kind + ")";
  }

  /// This process contributes: from the send buffer, or in place from the receive buffer.
  void contribute(bool in_place) {
    Operation& operation = draft_.operation;
    operation.in_place = in_place;
    auto& parts = in_place ? operation.present : operation.sent;
    parts.push_back({block(work_.items),
                     [work = work_, group = own_group(draft_.space), rank = draft_.space.rank](
                         std::uint64_t seed) { return contribution(work, seed, group, rank); }});
  }

  /// It gets `items` from `first` on of the reduction of `count` ranks' contributions.
  void get(int count, std::size_t first, std::size_t items) {
    draft_.operation.received.push_back(
        {block(items),
         [work = work_, group = giving_group(draft_.space), count, first,
          items](std::uint64_t seed) { return reduced(work, seed, group, count, first, items); }});
  }

  /// The receive buffer may become anything.
  void leave_open() { draft_.operation.open.push_back(block(work_.items)); }

 private:
  [[nodiscard]] Block block(std::size_t items) const { return {work_.layout, items, 0}; }

  Draft& draft_;
  Work work_;
};

void reduce(Draft& draft) {
  const Root root = draw_root(draft);
  const Work work = draw_work(draft);
  const bool in_place = draw_in_place(draft) && root.is_root;
  Reducer reducer(draft, work);
  draft.operation.arguments.root = root.argument;
  if (!draft.space.inter() || (!root.is_root && !root.bystander)) reducer.contribute(in_place);
  if (root.is_root) reducer.get(draft.space.peers(), 0, work.items);
}

void allreduce(Draft& draft) {
  const Work work = draw_work(draft);
  Reducer reducer(draft, work);
  reducer.contribute(draw_in_place(draft));
  reducer.get(draft.space.peers(), 0, work.items);
}

/// Counts of the group's members with this sum.
std::vector<std::size_t> draw_counts(Draft& draft, std::size_t sum, bool equal) {
  const auto size = draft.space.members.size();
  std::vector<std::size_t> counts(size, equal ? sum / size : 0);
  if (equal) return counts;
  Random random(mix(draft.shared.next(), static_cast<std::uint64_t>(own_group(draft.space))));
  for (std::size_t left = sum; left > 0;) {
    const std::size_t part = std::min<std::size_t>(left, 1 + random.below(sum / 2 + 1));
    counts[random.below(size)] += part;
    left -= part;
  }
  return counts;
}

void reduce_scatter(Draft& draft, bool equal) {
  const Space& space = draft.space;
  Work work = draw_work(draft);
  // In both groups the same number of items is cut into equal blocks.
  if (equal)
    work.items = work.items / (draft.big ? 16 : 1) * space.members.size() *
                 (space.inter() ? space.remote.size() : 1);
  const std::vector<std::size_t> counts = draw_counts(draft, work.items, equal);
  const auto rank = static_cast<std::size_t>(space.rank);
  const bool in_place = draw_in_place(draft);
  Reducer reducer(draft, work);
  reducer.contribute(in_place);
  for (const std::size_t count : counts)
    draft.operation.arguments.receive_counts.add(static_cast<std::int64_t>(count));
  draft.operation.arguments.receive_count = static_cast<int>(counts[rank]);
  if (in_place) reducer.leave_open();
  reducer.get(space.peers(),
              std::accumulate(counts.begin(), counts.begin() + space.rank, std::size_t{0}),
              counts[rank]);
}

void scan(Draft& draft, bool exclusive) {
  const Work work = draw_work(draft);
  Reducer reducer(draft, work);
  reducer.contribute(draw_in_place(draft));
  const int rank = draft.space.rank;
  if (exclusive && rank == 0) return reducer.leave_open();
  reducer.get(exclusive ? rank : rank + 1, 0, work.items);
}

}  // namespace

void draft_reduction(Draft& draft) {
  switch (draft.operation.function) {
    case Function::kReduce:
      return reduce(draft);
    case Function::kAllreduce:
      return allreduce(draft);
    case Function::kReduceScatter:
      return reduce_scatter(draft, false);
    case Function::kReduceScatterBlock:
      return reduce_scatter(draft, true);
    case Function::kScan:
      return scan(draft, false);
    case Function::kExscan:
      return scan(draft, true);
    default:
      std::abort();
  }
}

}  // namespace sweep
