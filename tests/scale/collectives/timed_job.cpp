// SPDX-License-Identifier: Apache-2.0
#include "tests/scale/collectives/timed_job.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/scale/collectives/timed_process.hpp"

namespace impishim::scale {

using collectives::Arrival;
using collectives::ConstData;
using collectives::Data;
using collectives::kAnyTag;
using collectives::LocalGroup;
using collectives::Membership;
using collectives::MemberTransport;
using collectives::Reduction;
using collectives::Task;
using collectives::Team;

namespace {

/// Who must have joined before a member may leave a phase.
enum class Needs : std::uint8_t { kNobody, kRoot, kAll };

std::uint64_t sum_of(std::span<const std::uint64_t> sizes) {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sizes) sum += each;
  return sum;
}

}  // namespace

/// What all processes of a run share.
class TimedJob::State {
 public:
  class Local;
  class Messages;
  struct Process;

  State(std::int32_t systems, std::int32_t procs, const NetworkTimes& times);
  ~State();
  Timing run(const MakeTask& make_task);

  void send(Process& from, std::int32_t to, std::int32_t tag, std::uint64_t bytes,
            TimedPending& pending);
  void receive(Process& at, std::int32_t from, std::int32_t tag, TimedPending& pending);
  void join(Process& member, Needs needs, bool is_root, double takes, TimedPending& pending);
  [[nodiscard]] std::size_t system_of(std::int32_t rank) const {
    return static_cast<std::size_t>(rank / procs_of_a_system);
  }

  std::int32_t procs_of_a_system;
  Network network;
  VendorTimes vendor;

 private:
  struct Room {
    std::int32_t tag = 0;
    TimedPending* pending = nullptr;
    double posted = 0;
  };
  struct Parcel {
    std::int32_t tag = 0;
    double arrives = 0;
  };
  using Pair = std::pair<std::int32_t, std::int32_t>;

  void deliver(Process& at, Pair pair, const Room& room, const Parcel& parcel);
  void let_go(Process& member, TimedPending& pending, double at);
  void make_membership(std::int32_t systems);

  std::vector<std::int32_t> masters_;
  std::vector<std::int32_t> master_of_;
  std::vector<std::vector<std::int32_t>> local_ranks_;  ///< by system
  std::vector<std::vector<std::int32_t>> ranks_;        ///< by system
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<Pair, std::deque<Room>> rooms_;                       ///< (from, to)
  std::map<Pair, std::deque<Parcel>> parcels_;                   ///< (from, to)
  std::map<std::pair<std::size_t, std::size_t>, Phase> phases_;  ///< (system, number)
  Agenda agenda_;
  collectives::Limits limits_;
  Timing timing_;
};

/// The vendor's collectives among the members of a system.
class TimedJob::State::Local final : public LocalGroup {
 public:
  Local(State& state, Process& member) : state_(state), member_(member) {}

  Pending& barrier() override { return join(Needs::kAll, -1, times().barrier()); }
  Pending& broadcast(const Data& data, std::int32_t root) override {
    return join(Needs::kRoot, root, times().broadcast(native(data)));
  }
  Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) override {
    return join(Needs::kRoot, root, times().broadcast(static_cast<double>(bytes.size())));
  }
  Pending& reduce(const ConstData& contribution, const Data& /*result*/,
                  const Reduction& /*operation*/, std::int32_t root) override {
    return to_root(root, times().reduce(native(contribution)));
  }
  Pending& allreduce(const ConstData& contribution, const Data& /*result*/,
                     const Reduction& /*operation*/) override {
    return join(Needs::kAll, -1, times().allreduce(native(contribution)));
  }
  Pending& reduce_scatter(const ConstData& contribution, const Data& /*result*/,
                          std::span<const std::uint64_t> /*counts*/,
                          const Reduction& /*operation*/) override {
    return join(Needs::kAll, -1, times().reduce_scatter(native(contribution)));
  }
  Pending& scan(const ConstData& contribution, const Data& /*result*/,
                const Reduction& /*operation*/) override {
    return join(Needs::kAll, -1, times().scan(native(contribution)));
  }
  Pending& exscan(const ConstData& contribution, const Data& result,
                  const Reduction& operation) override {
    return scan(contribution, result, operation);
  }
  Pending& gather(std::span<const std::byte> block, std::span<std::byte> /*all*/,
                  std::int32_t root) override {
    return to_root(root,
                   times().collect(static_cast<double>(block.size()) * state_.procs_of_a_system));
  }
  Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                   std::span<const std::uint64_t> /*sizes*/, std::int32_t root) override {
    return to_root(root, times().collect(static_cast<double>(std::max(block.size(), all.size()))));
  }
  Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> /*sizes*/,
                    std::span<std::byte> block, std::int32_t root) override {
    return join(Needs::kRoot, root,
                times().collect(static_cast<double>(std::max(block.size(), all.size()))));
  }
  Pending& allgatherv(std::span<const std::byte> /*block*/, std::span<std::byte> /*all*/,
                      std::span<const std::uint64_t> sizes) override {
    return join(Needs::kAll, -1, times().collect(static_cast<double>(sum_of(sizes))));
  }

 private:
  [[nodiscard]] const VendorTimes& times() const { return state_.vendor; }
  static double native(const ConstData& data) { return static_cast<double>(data.native_bytes()); }
  Pending& to_root(std::int32_t root, double takes);
  Pending& join(Needs needs, std::int32_t root, double takes);

  State& state_;
  Process& member_;
  std::deque<TimedPending> pendings_;
};

/// A member's messages.
class TimedJob::State::Messages final : public MemberTransport {
 public:
  Messages(State& state, Process& member) : state_(state), member_(member) {}

  Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override {
    return send(to, tag, data.packed_size(wire::Format::kNative));
  }
  Pending& post_send(std::int32_t to, std::int32_t tag, const ConstData& data) override {
    return send(to, tag, data.native_bytes());
  }
  Pending& post_receive(std::int32_t from, std::int32_t tag,
                        const wire::MutableBuffer& /*room*/) override {
    return receive(from, tag);
  }
  Pending& post_receive(std::int32_t from, std::int32_t tag, const Data& /*room*/) override {
    return receive(from, tag);
  }
  Pending& post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room,
                        Arrival& arrival) override {
    arrival = {tag, room.packed_size(wire::Format::kNative)};
    return receive(from, tag);
  }
  Pending& all_posted() override { return all_posted_.emplace_back(pendings_); }

 private:
  Pending& send(std::int32_t to, std::int32_t tag, std::uint64_t bytes);
  Pending& receive(std::int32_t from, std::int32_t tag);

  State& state_;
  Process& member_;
  std::deque<TimedPending> pendings_;
  std::deque<AllPosted> all_posted_;
};

struct TimedJob::State::Process {
  Process(State& state, const Membership& of, const collectives::Limits& limits)
      : membership(of),
        local(state, *this),
        messages(state, *this),
        team{membership, limits, local, messages} {}
  Membership membership;
  double clock = 0;
  std::size_t next_phase = 0;
  Local local;
  Messages messages;
  Team team;
  std::optional<Task> task;
};

Pending& TimedJob::State::Local::to_root(std::int32_t root, double takes) {
  const bool is_root = member_.membership.local_rank(member_.membership.rank) == root;
  return join(is_root ? Needs::kAll : Needs::kNobody, root, is_root ? takes : 0.0);
}

Pending& TimedJob::State::Local::join(Needs needs, std::int32_t root, double takes) {
  TimedPending& pending = pendings_.emplace_back(member_.clock, true);
  const bool is_root = member_.membership.local_rank(member_.membership.rank) == root;
  state_.join(member_, needs, is_root, takes, pending);
  return pending;
}

Pending& TimedJob::State::Messages::send(std::int32_t to, std::int32_t tag, std::uint64_t bytes) {
  TimedPending& pending = pendings_.emplace_back(member_.clock, member_.membership.is_local(to));
  state_.send(member_, to, tag, bytes, pending);
  return pending;
}

Pending& TimedJob::State::Messages::receive(std::int32_t from, std::int32_t tag) {
  TimedPending& pending = pendings_.emplace_back(member_.clock, member_.membership.is_local(from));
  state_.receive(member_, from, tag, pending);
  return pending;
}

TimedJob::State::State(std::int32_t systems, std::int32_t procs, const NetworkTimes& times)
    : procs_of_a_system(procs),
      network(times, static_cast<std::size_t>(systems) * static_cast<std::size_t>(procs),
              static_cast<std::size_t>(systems)),
      vendor(times, static_cast<std::size_t>(procs)) {
  limits_.same_representation = true;
  make_membership(systems);
}

TimedJob::State::~State() = default;

void TimedJob::State::make_membership(std::int32_t systems) {
  const std::int32_t size = systems * procs_of_a_system;
  for (std::int32_t system = 0; system < systems; ++system) {
    masters_.push_back(system * procs_of_a_system);
    local_ranks_.emplace_back(static_cast<std::size_t>(size), -1);
    ranks_.emplace_back();
    for (std::int32_t local = 0; local < procs_of_a_system; ++local) {
      const std::int32_t rank = system * procs_of_a_system + local;
      master_of_.push_back(system);
      ranks_.back().push_back(rank);
      local_ranks_.back()[static_cast<std::size_t>(rank)] = local;
    }
  }
  for (std::int32_t rank = 0; rank < size; ++rank) {
    const std::size_t system = system_of(rank);
    processes_.push_back(std::make_unique<Process>(
        *this, Membership{rank, masters_, master_of_, local_ranks_[system], ranks_[system]},
        limits_));
  }
}

Timing TimedJob::State::run(const MakeTask& make_task) {
  for (const auto& process : processes_) {
    process->task.emplace(make_task(process->membership.rank, process->team));
    agenda_.add(0, process->membership.rank);
  }
  std::size_t ended = 0;
  while (!agenda_.empty()) {
    Process& process = *processes_[static_cast<std::size_t>(agenda_.take())];
    if (process.task->done() || !process.task->step()) continue;
    ++ended;
    timing_.us = std::max(timing_.us, process.clock);
    if (auto outcome = process.task->outcome(); !outcome) timing_.failure = outcome.error().text;
  }
  if (ended < processes_.size())
    timing_.failure = fmt::format("deadlock: {} of {} tasks ended", ended, processes_.size());
  return timing_;
}

void TimedJob::State::let_go(Process& member, TimedPending& pending, double at) {
  pending.complete(at);
  agenda_.add(std::max(at, member.clock), member.membership.rank);
}

void TimedJob::State::send(Process& from, std::int32_t to, std::int32_t tag, std::uint64_t bytes,
                           TimedPending& pending) {
  const std::int32_t rank = from.membership.rank;
  const std::size_t here = system_of(rank);
  const std::size_t there = system_of(to);
  const Passage passage =
      network.send(static_cast<std::size_t>(rank), here, there, from.clock, bytes);
  from.clock += (here == there ? network.times().local : network.times().across).overhead;
  let_go(from, pending, passage.sent);
  if (here != there) {
    ++timing_.crossings;
    timing_.crossing_bytes += bytes;
  }
  const Pair pair{rank, to};
  const Parcel parcel{tag, passage.arrives};
  auto& rooms = rooms_[pair];
  for (auto room = rooms.begin(); room != rooms.end(); ++room) {
    if (room->tag != tag && room->tag != kAnyTag) continue;
    const Room found = *room;
    rooms.erase(room);
    deliver(*processes_[static_cast<std::size_t>(to)], pair, found, parcel);
    return;
  }
  parcels_[pair].push_back(parcel);
}

void TimedJob::State::receive(Process& at, std::int32_t from, std::int32_t tag,
                              TimedPending& pending) {
  const Pair pair{from, at.membership.rank};
  const Room room{tag, &pending, at.clock};
  auto& parcels = parcels_[pair];
  for (auto parcel = parcels.begin(); parcel != parcels.end(); ++parcel) {
    if (parcel->tag != tag && tag != kAnyTag) continue;
    const Parcel found = *parcel;
    parcels.erase(parcel);
    deliver(at, pair, room, found);
    return;
  }
  rooms_[pair].push_back(room);
}

void TimedJob::State::deliver(Process& at, Pair pair, const Room& room, const Parcel& parcel) {
  const bool across = system_of(pair.first) != system_of(pair.second);
  const Way& way = across ? network.times().across : network.times().local;
  let_go(at, *room.pending, std::max(parcel.arrives, room.posted) + way.overhead);
}

void TimedJob::State::join(Process& member, Needs needs, bool is_root, double takes,
                           TimedPending& pending) {
  const std::size_t system = system_of(member.membership.rank);
  Phase& phase = phases_[{system, member.next_phase++}];
  ++phase.joined;
  phase.latest = std::max(phase.latest, member.clock);
  if (is_root) phase.root = member.clock;
  if (needs == Needs::kNobody) {
    let_go(member, pending, member.clock + network.times().local.overhead);
  } else {
    phase.waits.push_back({&pending, member.membership.rank, member.clock, takes});
  }
  const bool complete = phase.joined == static_cast<std::size_t>(procs_of_a_system);
  const bool may_leave = needs == Needs::kRoot ? phase.root >= 0 : complete;
  if (!may_leave && !complete) return;
  const double begin = needs == Needs::kRoot ? phase.root : phase.latest;
  for (const Phase::Waiting& each : std::exchange(phase.waits, {}))
    let_go(*processes_[static_cast<std::size_t>(each.rank)], *each.pending,
           std::max(each.joined, begin + each.takes));
}

TimedJob::TimedJob(std::int32_t systems, std::int32_t procs_of_a_system, const NetworkTimes& times)
    : systems_(systems), procs_(procs_of_a_system), times_(times) {}

TimedJob::~TimedJob() = default;

std::int32_t TimedJob::size() const { return systems_ * procs_; }

Timing TimedJob::run(const MakeTask& make_task) {
  State state(systems_, procs_, times_);
  return state.run(make_task);
}

}  // namespace impishim::scale
