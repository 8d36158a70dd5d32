// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/tree_schedule.hpp"

#include <algorithm>
#include <optional>

#include "darray/local/packer.hpp"
#include "darray/schedule/detail/execution.hpp"
#include "darray/schedule/detail/members.hpp"
#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray {

void barrier(const Communicator& communicator) {
  check_mpi(MPI_Barrier(communicator.get()), "MPI_Barrier");
}

struct TreeSchedule::State {
  Communicator communicator;
  Element element;
  ScheduleOptions options;
  Members members;
  int root;
  Selection source;
  Selection destination;

  State(const Communicator& communicator, const Element& element, const ScheduleOptions& options,
        Members members, int root)
      : communicator(communicator),
        element(element),
        options(options),
        members(std::move(members)),
        root(root),
        forward(communicator) {}

  std::optional<Communicator> group;
  Packer packer;  // the root's source, or another member's destination
  std::optional<LocalCopy> own;
  Workspace buffer;
  Execution forward;
  const void* from = nullptr;
  void* to = nullptr;
  Statistics statistics;
  bool reversible = true;  // the root contributes to a backward execution

  bool is_root() const { return communicator.rank() == root; }

  // Elements that lie side by side are sent from and received into the user's memory, without a
  // copy.
  std::byte* data() const {
    const auto first = packer.selection().contiguous();
    if (!first) return buffer.data();
    std::byte* base =
        is_root() ? static_cast<std::byte*>(const_cast<void*>(from)) : static_cast<std::byte*>(to);
    return base + *first * static_cast<Index>(element.size);
  }

  void plan() {
    packer = Packer(is_root() ? source : destination, element.size);
    const bool staged = !packer.selection().contiguous();
    if (staged) buffer = communicator.workspace(packer.bytes());
    group = communicator.group(members.ranks());
    if (is_root() && staged) {
      forward.add_local(
          [this] { packer.pack(static_cast<const std::byte*>(from), buffer.data()); });
    }
    const Index size = packer.selection().size();
    const Index most = std::max<Index>(1, options.chunk_bytes / static_cast<Index>(element.size));
    for (Index first = 0; first < size; first += most) {
      forward.add(
          [this, first, count = std::min(most, size - first)](bool blocking, MPI_Request& request) {
            broadcast_step(blocking, request, *group, element,
                           data() + first * static_cast<Index>(element.size), count,
                           members.position_of(root));
          });
    }
    if (is_root() && !destination.empty()) {
      own.emplace(source, destination, element.size, false);
      forward.add_local([this] {
        own->run(static_cast<const std::byte*>(from), static_cast<std::byte*>(to), {});
      });
    } else if (!is_root() && staged) {
      forward.add_local([this] { packer.unpack(static_cast<std::byte*>(to), buffer.data()); });
    }
    count();
  }

  // Counts this rank's children. In its own system they are those of a binomial tree. The root has
  // one more child in every other system.
  void count() {
    const Systems& systems = communicator.systems();
    const int mine = systems.of_rank(communicator.rank());
    std::vector<int> same;
    int others = 0;
    std::vector<bool> seen(static_cast<std::size_t>(systems.count()), false);
    for (const int rank : members.ranks()) {
      const int system = systems.of_rank(rank);
      if (system == mine) same.push_back(rank);
      if (system != mine && !seen[static_cast<std::size_t>(system)]) ++others;
      seen[static_cast<std::size_t>(system)] = true;
    }
    if (systems.of_rank(root) == mine)
      std::rotate(same.begin(), std::find(same.begin(), same.end(), root), same.end());
    const auto position =
        static_cast<Index>(std::find(same.begin(), same.end(), communicator.rank()) - same.begin());
    Index children = 0;
    for (Index bit = 1; position + bit < static_cast<Index>(same.size()) && (position & bit) == 0;
         bit *= 2)
      ++children;
    const auto bytes = static_cast<Index>(packer.bytes());
    statistics.crossing_messages = is_root() ? others : 0;
    statistics.crossing_bytes = statistics.crossing_messages * bytes;
    statistics.messages = children + statistics.crossing_messages;
    statistics.bytes = statistics.messages * bytes;
    statistics.received_messages = is_root() ? 0 : 1;
    statistics.received_bytes = statistics.received_messages * bytes;
    statistics.peers = statistics.messages + statistics.received_messages;
    statistics.local_bytes = own ? static_cast<Index>(own->bytes()) : 0;
    statistics.workspace_bytes = static_cast<Index>(buffer.size());
    statistics.direct_bytes = buffer.size() == 0 ? statistics.bytes + statistics.received_bytes : 0;
  }
};

TreeSchedule::TreeSchedule(const Communicator& communicator, Element element, int root,
                           std::vector<int> members, const Selection& source,
                           const Selection& destination, ScheduleOptions options) {
  // The root is not compared, because each group of members has its own.
  const auto call = [&] {
    return CollectiveCall("tree schedule")
        .with("element", element)
        .with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, [&] {
    options.require();
    Members list(communicator, members);
    if (list.contains_me()) list.position_of(root);
    if (list.contains_me() && communicator.rank() == root && !destination.empty() &&
        source.size() != destination.size()) {
      fail(ErrorKind::kShape, "the root has {} source elements for {} of its own destination",
           source.size(), destination.size());
    }
    state_ = std::make_unique<State>(communicator, element, options, std::move(list), root);
    state_->source = source;
    state_->destination = destination;
  });
  const bool is_root = state_->is_root();
  const Index bytes = (is_root ? source : destination).size() * static_cast<Index>(element.size);
  const std::vector<Index> sizes = values_of_all(communicator, options.checks, bytes);
  const std::vector<Index> own =
      values_of_all(communicator, options.checks, is_root && destination.empty() ? 0 : 1);
  agreed(communicator, options.checks, "tree schedule", [&] {
    if (!state_->members.contains_me()) return;
    state_->members.require_equal(sizes);
    state_->reversible =
        own.empty() ? !is_root || !destination.empty() : own[static_cast<std::size_t>(root)] != 0;
    state_->plan();
  });
}

TreeSchedule::~TreeSchedule() {
  if (state_) state_->forward.abandon(state_);
}
TreeSchedule::TreeSchedule(TreeSchedule&&) noexcept = default;
TreeSchedule& TreeSchedule::operator=(TreeSchedule&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

void TreeSchedule::execute(const void* source, void* destination) {
  state_->forward.require_idle();
  state_->from = source;
  state_->to = destination;
  state_->forward.run();
}

void TreeSchedule::execute_backward(void* source, const void* destination,
                                    const Combiner& combine) {
  State& state = *state_;
  if (!state.members.contains_me()) return;
  if (!state.reversible) {
    fail(ErrorKind::kUnsupported,
         "the root of a tree that runs backwards needs destination elements of its own");
  }
  // The operator is known only at execution. Planning a reduction is cheap.
  ScheduleOptions options = state.options;
  options.checks = Checks::kOff;
  ReduceSchedule(state.communicator, state.element, state.members.ranks(), state.destination,
                 state.is_root() ? state.source : Selection(), combine, Reduction::kToOne,
                 state.root, options)
      .execute(destination, source);
}

void TreeSchedule::start(const void* source, void* destination) {
  state_->forward.require_idle();
  state_->from = source;
  state_->to = destination;
  state_->forward.start();
}

bool TreeSchedule::test() { return state_->forward.test(); }
void TreeSchedule::wait() { state_->forward.wait(); }
const Statistics& TreeSchedule::statistics() const { return state_->statistics; }

}  // namespace impishim::darray
