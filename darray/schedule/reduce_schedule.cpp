// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/reduce_schedule.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "darray/local/packer.hpp"
#include "darray/schedule/detail/execution.hpp"
#include "darray/schedule/detail/members.hpp"

namespace impishim::darray {
namespace {

// Up to this many bytes every member sends its whole contribution to every other: one step. Above
// it, each member combines one part: two steps, but fewer bytes.
constexpr Index kShort = Index{16} << 10;

}  // namespace

// The plan of a reduction. Buffers hold `count_` elements for each member. The members' blocks lie
// side by side in rank order.
struct ReduceSchedule::State {
  Communicator communicator;
  Element element;
  ScheduleOptions options;
  Members members;
  Reduction reduction;
  int root = 0;
  CombineFunction function;
  Packer source;
  Packer destination;

  State(const Communicator& communicator, const Element& element, const ScheduleOptions& options,
        Members members, Reduction reduction)
      : communicator(communicator),
        element(element),
        options(options),
        members(std::move(members)),
        reduction(reduction),
        execution(communicator) {}

  Execution execution;
  Workspace mine;    // this rank's contribution, later its result
  Workspace others;  // one block of every member
  Workspace result;
  const void* from = nullptr;
  void* to = nullptr;
  Statistics statistics;

  Index size() const { return source.selection().size(); }
  Index bytes(Index elements) const { return elements * static_cast<Index>(element.size); }
  Workspace room(Index elements) const {
    return communicator.workspace(static_cast<std::size_t>(bytes(elements)));
  }
  bool receives() const {
    if (reduction == Reduction::kToOne) return communicator.rank() == root;
    return reduction != Reduction::kExclusivePrefix || members.position() > 0;
  }

  void plan();
  void plan_short(const Communicator& group);
  void plan_long(const Communicator& group);
  void plan_by_systems();
  void plan_slices(Index most);
  struct Buffers {
    const void* source;
    void* destination;
  };
  void add_part(ReduceSchedule schedule, std::function<Buffers()> buffers);
  void fold(std::byte* blocks, Index stride, Index count, int first, int last,
            std::byte* into) const;
  void prefixes(std::byte* blocks, Index stride, Index count) const;
  std::vector<std::vector<int>> by_system() const;
};

// Computes into = blocks[first] op ... op blocks[last - 1]. Each block has `count` elements, and
// blocks start `stride` elements apart.
void ReduceSchedule::State::fold(std::byte* blocks, Index stride, Index count, int first, int last,
                                 std::byte* into) const {
  if (count == 0) return;
  std::memcpy(into, blocks + bytes(first * stride), static_cast<std::size_t>(bytes(count)));
  for (int k = first + 1; k < last; ++k) function(into, blocks + bytes(k * stride), count);
}

// Replaces every block by the combination of the blocks before it (exclusive), or of those and
// itself (inclusive). Each block has `count` elements, and blocks start `stride` elements apart.
void ReduceSchedule::State::prefixes(std::byte* blocks, Index stride, Index count) const {
  if (count == 0) return;
  const auto length = static_cast<std::size_t>(bytes(count));
  std::vector<std::byte> sum(blocks, blocks + length);
  for (int k = 1; k < members.count(); ++k) {
    std::byte* block = blocks + bytes(k * stride);
    if (reduction == Reduction::kInclusivePrefix) {
      function(sum.data(), block, count);
      std::memcpy(block, sum.data(), length);
    } else {
      const std::vector<std::byte> own(block, block + length);
      std::memcpy(block, sum.data(), length);
      function(sum.data(), own.data(), count);
    }
  }
}

void ReduceSchedule::State::plan() {
  statistics.peers = members.count() - 1;
  if (const Index most = std::max<Index>(1, options.chunk_bytes / static_cast<Index>(element.size));
      size() > most) {
    plan_slices(most);
    return;
  }
  execution.add_local([this] { source.pack(static_cast<const std::byte*>(from), mine.data()); });
  const bool prefix =
      reduction == Reduction::kExclusivePrefix || reduction == Reduction::kInclusivePrefix;
  const Communicator group = communicator.group(members.ranks());
  if (members.count() == 1) {
    mine = room(size());
    result = mine;
  } else if (bytes(size()) * members.count() <= kShort) {
    plan_short(group);
  } else if (!prefix && !options.ordered && by_system().size() > 1) {
    plan_by_systems();
  } else {
    plan_long(group);
  }
  if (receives()) {
    execution.add_local([this] { destination.unpack(static_cast<std::byte*>(to), result.data()); });
  }
  statistics.workspace_bytes += static_cast<Index>(mine.size() + others.size() + result.size());
}

void ReduceSchedule::State::plan_short(const Communicator& group) {
  mine = room(size());
  others = room(size() * members.count());
  result = room(size());
  const bool to_one = reduction == Reduction::kToOne;
  execution.add([this, group, to_one](bool blocking, MPI_Request& request) {
    if (to_one) {
      gather_step(blocking, request, group, element, mine.data(), others.data(), size(),
                  members.position_of(root));
    } else {
      all_gather_step(blocking, request, group, element, mine.data(), others.data(), size());
    }
  });
  if (receives()) {
    int last = members.count();
    if (reduction == Reduction::kExclusivePrefix) last = members.position();
    if (reduction == Reduction::kInclusivePrefix) last = members.position() + 1;
    execution.add_local(
        [this, last] { fold(others.data(), size(), size(), 0, last, result.data()); });
  }
  const bool sends = !to_one || communicator.rank() != root;
  statistics.messages = sends ? (to_one ? 1 : members.count() - 1) : 0;
  statistics.bytes = statistics.messages * bytes(size());
  for (const int member : members.ranks()) {
    if (sends && (!to_one || member == root) &&
        communicator.systems().crosses(communicator.rank(), member)) {
      ++statistics.crossing_messages;
      statistics.crossing_bytes += bytes(size());
    }
  }
}

void ReduceSchedule::State::plan_long(const Communicator& group) {
  const Index block = (size() + members.count() - 1) / members.count();
  const Index padded = block * members.count();
  // The last blocks are shorter or empty. An operator must not see the padding that fills them up.
  const Index filled = std::clamp(size() - members.position() * block, Index{0}, block);
  mine = room(padded);
  others = room(padded);
  result = room(padded);
  execution.add([this, group, block](bool blocking, MPI_Request& request) {
    all_to_all_step(blocking, request, group, element, mine.data(), others.data(), block);
  });
  if (reduction == Reduction::kToAll || reduction == Reduction::kToOne) {
    execution.add_local([this, block, filled] {
      fold(others.data(), block, filled, 0, members.count(), mine.data());
    });
    execution.add([this, group, block](bool blocking, MPI_Request& request) {
      if (reduction == Reduction::kToOne) {
        gather_step(blocking, request, group, element, mine.data(), result.data(), block,
                    members.position_of(root));
      } else {
        all_gather_step(blocking, request, group, element, mine.data(), result.data(), block);
      }
    });
  } else {
    execution.add_local([this, block, filled] { prefixes(others.data(), block, filled); });
    execution.add([this, group, block](bool blocking, MPI_Request& request) {
      all_to_all_step(blocking, request, group, element, others.data(), result.data(), block);
    });
  }
  statistics.messages = Index{2} * (members.count() - 1);
  statistics.bytes = statistics.messages * bytes(block);
  for (const int member : members.ranks()) {
    if (communicator.systems().crosses(communicator.rank(), member))
      statistics.crossing_messages += 2;
  }
  statistics.crossing_bytes = statistics.crossing_messages * bytes(block);
}

// Adds a reduction that is a part of this one.
void ReduceSchedule::State::add_part(ReduceSchedule schedule, std::function<Buffers()> buffers) {
  const auto part = std::make_shared<ReduceSchedule>(std::move(schedule));
  execution.add_part(
      [part, buffers = std::move(buffers)](bool blocking) {
        const Buffers used = buffers();
        Execution::begin(*part, used.source, used.destination, blocking);
      },
      [part](bool blocking) { return Execution::advance(*part, blocking); });
  const Index peers = statistics.peers;
  statistics += part->statistics();
  statistics.peers = peers;  // the part's peers are already counted
}

// Plans a long reduction as slices, one after the other.
void ReduceSchedule::State::plan_slices(Index most) {
  ScheduleOptions inner = options;
  inner.checks = Checks::kOff;
  for (Index first = 0; first < size(); first += most) {
    const Index count = std::min(most, size() - first);
    const Selection target = destination.selection().size() == size()
                                 ? destination.selection().slice(first, count)
                                 : Selection();
    add_part(ReduceSchedule(communicator, element, members.ranks(),
                            source.selection().slice(first, count), target, Combiner(function),
                            reduction, root, inner),
             [this] {
               return Buffers{from, to};
             });
  }
}

std::vector<std::vector<int>> ReduceSchedule::State::by_system() const {
  std::vector<std::vector<int>> result;
  std::vector<int> place(static_cast<std::size_t>(communicator.systems().count()), -1);
  for (const int rank : members.ranks()) {
    int& at = place[static_cast<std::size_t>(communicator.systems().of_rank(rank))];
    if (at < 0) {
      at = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[static_cast<std::size_t>(at)].push_back(rank);
  }
  return result;
}

// Plans a reduction in three stages. Each system reduces to its lowest rank, the leader. The
// leaders reduce among themselves. Each leader then broadcasts the result inside its system. So
// each system's combination leaves it once, and the result enters it once. With a single root, only
// the leader of the root's system gets the result.
void ReduceSchedule::State::plan_by_systems() {
  mine = room(size());
  result = room(size());
  const Selection all = contiguous_patch(0, size());
  ScheduleOptions inner = options;
  inner.checks = Checks::kOff;
  std::vector<int> leaders;
  std::vector<int> same;
  int target = 0;  // the leader of the root's system
  for (const auto& ranks : by_system()) {
    leaders.push_back(ranks.front());
    if (std::find(ranks.begin(), ranks.end(), root) != ranks.end()) target = ranks.front();
    if (std::find(ranks.begin(), ranks.end(), communicator.rank()) != ranks.end()) same = ranks;
  }
  const Combiner operation(function);
  add_part(ReduceSchedule(communicator, element, same, all, all, operation, Reduction::kToOne,
                          same.front(), inner),
           [this] {
             return Buffers{mine.data(), mine.data()};
           });
  if (communicator.rank() == same.front()) {
    inner.ordered = true;
    add_part(ReduceSchedule(communicator, element, leaders, all, all, operation, reduction, target,
                            inner),
             [this] {
               return Buffers{mine.data(), result.data()};
             });
  }
  if (reduction == Reduction::kToOne && (target != same.front() || root == target)) return;
  const Communicator group = communicator.group(same);
  execution.add([this, group](bool blocking, MPI_Request& request) {
    broadcast_step(blocking, request, group, element, result.data(), size(), 0);
  });
}

ReduceSchedule::ReduceSchedule(const Communicator& communicator, Element element,
                               std::vector<int> members, const Selection& source,
                               const Selection& destination, const Combiner& combine,
                               Reduction reduction, int root, ScheduleOptions options) {
  const auto call = [&] {
    CollectiveCall given("reduce schedule");
    given.with("element", element).with("kind of reduction", static_cast<int>(reduction));
    return given.with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, [&] {
    options.require();
    Members list(communicator, std::move(members));
    if (!list.ranks().empty() && !list.contains_me())
      fail(ErrorKind::kArgument, "rank {} is none of its members", communicator.rank());
    if (reduction == Reduction::kToOne && list.contains_me()) list.position_of(root);
    state_ = std::make_unique<State>(communicator, element, options, std::move(list), reduction);
    state_->root = root;
    state_->source = Packer(source, element.size);
    state_->destination = Packer(destination, element.size);
    state_->function = combine.function(element);
    if (!state_->function) fail(ErrorKind::kArgument, "a reduction needs an operator");
    if (state_->members.contains_me() && state_->receives() &&
        source.size() != destination.size()) {
      fail(ErrorKind::kShape, "a reduction of {} elements into {}", source.size(),
           destination.size());
    }
  });
  const std::vector<Index> sizes =
      values_of_all(communicator, options.checks, state_->bytes(state_->size()));
  agreed(communicator, options.checks, "reduce schedule", [&] {
    state_->members.require_equal(sizes);
    if (state_->members.contains_me() && state_->size() > 0) state_->plan();
  });
}

ReduceSchedule::~ReduceSchedule() {
  if (state_) state_->execution.abandon(state_);
}
ReduceSchedule::ReduceSchedule(ReduceSchedule&&) noexcept = default;
ReduceSchedule& ReduceSchedule::operator=(ReduceSchedule&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void ReduceSchedule::execute(const void* source, void* destination) {
  state_->execution.require_idle();
  state_->from = source;
  state_->to = destination;
  state_->execution.run();
}

void ReduceSchedule::start(const void* source, void* destination) {
  state_->execution.require_idle();
  state_->from = source;
  state_->to = destination;
  state_->execution.start();
}

bool ReduceSchedule::test() { return state_->execution.test(); }
void ReduceSchedule::wait() { state_->execution.wait(); }
const Statistics& ReduceSchedule::statistics() const { return state_->statistics; }

namespace {

void reduce_values(const Communicator& communicator, const Element& element, void* values,
                   Index count, const Combiner& combine, Reduction reduction) {
  std::vector<int> everybody(static_cast<std::size_t>(communicator.size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const Selection all = contiguous_patch(0, count);
  ReduceSchedule(communicator, element, std::move(everybody), all, all, combine, reduction, 0,
                 {.checks = Checks::kOff})
      .execute(values, values);
}

}  // namespace

void all_reduce(const Communicator& communicator, Element element, void* values, Index count,
                const Combiner& combine) {
  reduce_values(communicator, element, values, count, combine, Reduction::kToAll);
}

void exclusive_prefix(const Communicator& communicator, Element element, void* values, Index count,
                      const Combiner& combine) {
  reduce_values(communicator, element, values, count, combine, Reduction::kExclusivePrefix);
}

}  // namespace impishim::darray
