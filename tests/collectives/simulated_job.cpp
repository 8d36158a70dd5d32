#include "simulated_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

namespace impishim::collectives::test {
namespace {

/// A message under way.
struct Parcel {
  Message message;
  wire::Format format = wire::Format::kExternal32;
  std::vector<std::byte> bytes;
  bool matched = false;
};

/// A receive that waits.
struct Room {
  std::int32_t from = 0;
  std::int32_t tag = 0;
  wire::MutableBuffer buffer;
  bool filled = false;
};

/// One phase of one client: members join it in their own time.
struct LocalPhase {
  std::string kind;
  std::size_t joined = 0;
  std::vector<std::vector<std::byte>> blocks;  ///< by local rank
  bool root_joined = false;
};

}  // namespace

class SimulatedLocal;
class SimulatedLeaders;

struct Member {
  Shape shape;
  std::vector<std::int32_t> local_ranks;
  std::unique_ptr<SimulatedLocal> local;
  std::unique_ptr<SimulatedLeaders> leaders;
  std::unique_ptr<Team> team;
};

class SimulatedJob::State {
 public:
  std::vector<std::int32_t> master_of;
  std::vector<std::int32_t> masters;
  std::vector<std::vector<std::int32_t>> ranks_of_client;
  SendEnds send_ends = SendEnds::kAtOnce;
  std::vector<Member> members;
  std::vector<Message> messages;
  std::string failure;
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<std::shared_ptr<Parcel>>> under_way;  // (from, to)
  std::vector<std::deque<LocalPhase>> phases;                                                      // by client

  void fail(const std::string& text) {
    if (failure.empty()) failure = text;
  }

  /// Pairs of clients differ in how they talk, as impishim and foreign ones do.
  [[nodiscard]] wire::Format format_between(std::int32_t a, std::int32_t b) const {
    const auto sum = master_of[static_cast<std::size_t>(a)] + master_of[static_cast<std::size_t>(b)];
    return sum % 2 == 0 ? wire::Format::kExternal32 : wire::Format::kWide;
  }

  LocalPhase& phase(std::int32_t client, std::size_t number, const std::string& kind) {
    auto& all = phases[static_cast<std::size_t>(client)];
    if (all.size() <= number) all.resize(number + 1);
    LocalPhase& phase = all[number];
    if (phase.kind.empty()) phase.kind = kind;
    if (phase.kind != kind) fail(fmt::format("client {}: {} meets {}", client, kind, phase.kind));
    phase.blocks.resize(ranks_of_client[static_cast<std::size_t>(client)].size());
    return phase;
  }
};

/// One member's view of its client's phases.
class SimulatedLocal final : public LocalGroup, private Pending {
 public:
  SimulatedLocal(SimulatedJob::State& state, const Shape& shape) : state_(state), shape_(shape) {}

  Pending& barrier() override {
    join("barrier");
    finished_ = [this] { return phase().joined == locals(); };
    return *this;
  }

  Pending& broadcast(const Data& data, std::int32_t root) override {
    join(fmt::format("broadcast from {} of {} bytes", root, ConstData(data).native_bytes()));
    if (my_local_rank() == root) {
      put(ConstData(data));
      phase().root_joined = true;
    }
    finished_ = [this, data, root] {
      if (!phase().root_joined) return false;
      if (my_local_rank() != root) unpack(phase().blocks[static_cast<std::size_t>(root)], data);
      return true;
    };
    return *this;
  }

  Pending& reduce(const ConstData& contribution, const Data& result, const Reduction& operation, std::int32_t root) override {
    join(fmt::format("reduce to {} of {} bytes", root, contribution.native_bytes()));
    if (!operation.commutative()) state_.fail("the local group was given a reduction in order");
    put(contribution);
    finished_ = [this, result, &operation, root] {
      if (my_local_rank() != root) return true;
      if (phase().joined != locals()) return false;
      unpack(phase().blocks[0], result);
      const TypedRoom operand(*result.type, result.count);
      for (std::size_t i = 1; i < locals(); ++i) {
        unpack(phase().blocks[i], operand.data());
        operation.combine(operand.data().base, result.base, result.count);
      }
      return true;
    };
    return *this;
  }

  Pending& gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root) override {
    join(fmt::format("gather to {} of {} bytes", root, block.size()));
    phase().blocks[static_cast<std::size_t>(my_local_rank())].assign(block.begin(), block.end());
    finished_ = [this, all, root] {
      if (my_local_rank() != root) return true;
      if (phase().joined != locals()) return false;
      auto to = all.begin();
      for (const auto& each : phase().blocks) to = std::ranges::copy(each, to).out;
      if (to != all.end()) state_.fail("the gather's target has a wrong size");
      return true;
    };
    return *this;
  }

 private:
  bool done() override {
    if (!finished_) return true;
    if (!finished_()) return false;
    finished_ = nullptr;
    return true;
  }
  Result<void> outcome() override { return {}; }
  [[nodiscard]] bool in_vendor() const override { return true; }

  void join(const std::string& kind) {
    if (finished_) state_.fail("two phases at once");
    number_ = next_++;
    ++state_.phase(shape_.my_client(), number_, kind).joined;
  }
  LocalPhase& phase() { return state_.phases[static_cast<std::size_t>(shape_.my_client())][number_]; }
  [[nodiscard]] std::size_t locals() const { return shape_.spanning_ranks.size(); }
  [[nodiscard]] std::int32_t my_local_rank() const { return shape_.local_rank(shape_.rank); }
  void put(const ConstData& data) {
    const PackedBlock block(data);
    phase().blocks[static_cast<std::size_t>(my_local_rank())].assign(block.bytes().begin(), block.bytes().end());
  }

  SimulatedJob::State& state_;
  const Shape& shape_;
  std::size_t number_ = 0;
  std::size_t next_ = 0;
  std::function<bool()> finished_;
};

/// One member's messages.
class SimulatedLeaders final : public LeaderGroup, private Pending {
 public:
  SimulatedLeaders(SimulatedJob::State& state, const Shape& shape) : state_(state), shape_(shape) {}

  void post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override {
    if (shape_.is_local(to)) state_.fail(fmt::format("{} sends to {} of its own client", shape_.rank, to));
    auto parcel = std::make_shared<Parcel>();
    parcel->message = {shape_.rank, to, tag, data.count * data.layout->basic_count()};
    parcel->format = state_.format_between(shape_.rank, to);
    parcel->bytes.resize(data.packed_size(parcel->format));
    wire::PackCursor cursor(data, parcel->format);
    if (!cursor.pack(parcel->bytes)) state_.fail("a message does not pack");
    state_.messages.push_back(parcel->message);
    state_.under_way[{shape_.rank, to}].push_back(parcel);
    if (state_.send_ends == SendEnds::kAtMatch) sent_.push_back(parcel);
  }

  void post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) override {
    if (shape_.is_local(from)) state_.fail(fmt::format("{} receives from {} of its own client", shape_.rank, from));
    rooms_.push_back({from, tag, room, false});
  }

  Pending& all_posted() override { return *this; }

 private:
  bool done() override {
    for (Room& room : rooms_) fill(room);
    return std::ranges::all_of(rooms_, &Room::filled) &&
           std::ranges::all_of(sent_, [](const auto& parcel) { return parcel->matched; });
  }
  Result<void> outcome() override {
    rooms_.clear();
    sent_.clear();
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return false; }

  void fill(Room& room) {
    auto& parcels = state_.under_way[{room.from, shape_.rank}];
    if (room.filled || parcels.empty()) return;
    Parcel& parcel = *parcels.front();
    if (parcel.message.tag != room.tag) state_.fail(fmt::format("tag {} meets {}", parcel.message.tag, room.tag));
    if (parcel.bytes.size() != room.buffer.packed_size(parcel.format)) state_.fail("a message has a wrong size");
    wire::UnpackCursor cursor(room.buffer, parcel.format);
    if (!cursor.unpack(parcel.bytes)) state_.fail("a message does not unpack");
    parcel.matched = true;
    room.filled = true;
    parcels.pop_front();
  }

  SimulatedJob::State& state_;
  const Shape& shape_;
  std::vector<Room> rooms_;
  std::vector<std::shared_ptr<Parcel>> sent_;
};

SimulatedJob::SimulatedJob(std::vector<std::int32_t> client_of, SendEnds send_ends) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.send_ends = send_ends;
  std::map<std::int32_t, std::int32_t> number_of;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(client_of.size()); ++rank) {
    const auto [entry, first] =
        number_of.emplace(client_of[static_cast<std::size_t>(rank)], static_cast<std::int32_t>(state.masters.size()));
    if (first) {
      state.masters.push_back(rank);
      state.ranks_of_client.emplace_back();
    }
    state.master_of.push_back(entry->second);
    state.ranks_of_client[static_cast<std::size_t>(entry->second)].push_back(rank);
  }
  state.members.resize(client_of.size());
  for (std::int32_t rank = 0; rank < size(); ++rank) {
    Member& member = state.members[static_cast<std::size_t>(rank)];
    const auto& mine = state.ranks_of_client[static_cast<std::size_t>(state.master_of[static_cast<std::size_t>(rank)])];
    member.local_ranks.assign(client_of.size(), -1);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      member.local_ranks[static_cast<std::size_t>(mine[i])] = static_cast<std::int32_t>(i);
    }
    member.shape = {rank, state.masters, state.master_of, member.local_ranks, mine};
  }
}

SimulatedJob::~SimulatedJob() = default;

bool SimulatedJob::run(const std::function<Task(std::int32_t rank, const Team& team)>& make_task) {
  State& state = *state_;
  state.messages.clear();
  state.failure.clear();
  state.phases.assign(state.masters.size(), {});
  std::vector<Task> tasks;
  for (Member& member : state.members) {
    member.local = std::make_unique<SimulatedLocal>(state, member.shape);
    member.leaders = std::make_unique<SimulatedLeaders>(state, member.shape);
    member.team = std::make_unique<Team>(Team{member.shape, limits, *member.local, *member.leaders});
    tasks.push_back(make_task(member.shape.rank, *member.team));
  }
  std::size_t ended = 0;
  while (ended < tasks.size() && state.failure.empty()) {
    bool moved = false;
    ended = 0;
    for (Task& task : tasks) {
      const bool waited = task.awaited() != nullptr;
      const bool could_go_on = !task.done() && (!waited || task.awaited()->done());
      moved = moved || could_go_on;
      if (task.step()) ++ended;
    }
    if (!moved && ended < tasks.size()) state.fail(fmt::format("deadlock: {} of {} tasks ended", ended, tasks.size()));
  }
  for (const Task& task : tasks) {
    if (state.failure.empty() && !task.outcome()) state.fail(task.outcome().error().text);
  }
  for (const auto& [pair, parcels] : state.under_way) {
    if (!parcels.empty()) state.fail(fmt::format("{} messages left from {} to {}", parcels.size(), pair.first, pair.second));
  }
  return state.failure.empty();
}

std::int32_t SimulatedJob::size() const { return static_cast<std::int32_t>(state_->members.size()); }
const Shape& SimulatedJob::shape(std::int32_t rank) const { return state_->members[static_cast<std::size_t>(rank)].shape; }
const std::vector<Message>& SimulatedJob::messages() const { return state_->messages; }
const std::string& SimulatedJob::failure() const { return state_->failure; }

std::vector<std::int32_t> blocks_of_ranks(std::int32_t clients) {
  std::vector<std::int32_t> client_of;
  for (std::int32_t client = 0; client < clients; ++client) client_of.insert(client_of.end(), 1 + (client + 1) % 3, client);
  return client_of;
}

std::vector<std::int32_t> dealt_ranks(std::int32_t clients) {
  std::vector<std::int32_t> client_of;
  for (std::int32_t rank = 0; rank < 2 * clients + 1; ++rank) client_of.push_back((rank * rank + rank / clients) % clients);
  return client_of;
}

void for_each_job(const std::function<void(SimulatedJob& job)>& check) {
  for (std::int32_t clients = 1; clients <= 17; ++clients) {
    for (const SendEnds ends : {SendEnds::kAtOnce, SendEnds::kAtMatch}) {
      for (const auto& client_of : {blocks_of_ranks(clients), dealt_ranks(clients)}) {
        SimulatedJob job(client_of, ends);
        SCOPED_TRACE(fmt::format("{} clients, {} ranks, sends end {}, rank 1 in client {}", clients, job.size(),
                                 ends == SendEnds::kAtOnce ? "at once" : "at the match",
                                 client_of.size() > 1 ? client_of[1] : 0));
        check(job);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

ElementType plain_type(wire::BasicType type) {
  const wire::TypeLayout& layout = wire::TypeLayout::basic(type);
  return {&layout, nullptr, 0, layout.extent(), 0};
}

ElementType gapped_type(wire::BasicType type) {
  const auto size = static_cast<std::ptrdiff_t>(wire::element_size(type, wire::Format::kNative));
  const std::vector<wire::Block> blocks{{size, type, 1, 1, 0}};
  auto layout = std::make_shared<const wire::TypeLayout>(blocks, 3 * size);
  return {layout.get(), layout, size, size, 0};
}

}  // namespace impishim::collectives::test
