// SPDX-License-Identifier: Apache-2.0
#include "simulated_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "simulated_communicator.hpp"

namespace impishim::collectives::test {

class SimulatedJob::State {
 public:
  State(std::vector<std::int32_t> clients, std::int32_t first_group, SendEnds ends, unsigned start,
        const Limits& all_limits)
      : client_of(std::move(clients)),
        first_group_size(first_group),
        send_ends(ends),
        seed(start),
        limits(all_limits) {
    fresh_world(false);
  }

  /// Communicators without history.
  void fresh_world(bool bytes_may_cross) {
    whole.reset();
    groups.clear();
    world.emplace(limits, send_ends, bytes_may_cross, seed, client_of.size());
    std::vector<std::int32_t> all(client_of.size());
    std::iota(all.begin(), all.end(), 0);
    whole.emplace(*world, all, client_of);
    if (first_group_size == 0) return;
    const auto second = all.begin() + first_group_size;
    groups.push_back(std::make_unique<SimulatedCommunicator>(
        *world, std::vector(all.begin(), second), client_of));
    groups.push_back(
        std::make_unique<SimulatedCommunicator>(*world, std::vector(second, all.end()), client_of));
  }

  bool run(std::vector<Task> tasks) {
    step_all(tasks);
    for (const Task& task : tasks) {
      if (world->failure.empty() && !task.outcome()) world->fail(task.outcome().error().text);
    }
    if (world->failure.empty()) {
      whole->check_end();
      for (const auto& group : groups) group->check_end();
    }
    return world->failure.empty();
  }

  std::vector<std::int32_t> client_of;
  std::int32_t first_group_size;
  SendEnds send_ends;
  unsigned seed;
  const Limits& limits;
  std::optional<World> world;
  std::optional<SimulatedCommunicator> whole;
  std::vector<std::unique_ptr<SimulatedCommunicator>> groups;

 private:
  void step_all(std::vector<Task>& tasks) {
    std::vector<std::size_t> order(tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t ended = 0;
    while (ended < tasks.size() && world->failure.empty()) {
      std::ranges::shuffle(order, world->random);
      bool moved =
          std::ranges::any_of(groups, [](const auto& group) { return group->has_late_messages(); });
      moved = moved || whole->has_late_messages();
      ended = 0;
      for (const std::size_t each : order) {
        Task& task = tasks[each];
        moved = moved || (!task.done() && (task.awaited() == nullptr || task.awaited()->done()));
        if (task.step()) ++ended;
      }
      ++world->round;
      if (!moved && ended < tasks.size())
        world->fail(fmt::format("deadlock: {} of {} tasks ended", ended, tasks.size()));
    }
  }
};

SimulatedJob::SimulatedJob(std::vector<std::int32_t> client_of, SendEnds send_ends, unsigned seed)
    : SimulatedJob(std::move(client_of), 0, send_ends, seed) {}

SimulatedJob::SimulatedJob(std::vector<std::int32_t> client_of, std::int32_t first_group_size,
                           SendEnds send_ends, unsigned seed)
    : state_(std::make_unique<State>(std::move(client_of), first_group_size, send_ends, seed,
                                     limits)) {}

SimulatedJob::~SimulatedJob() = default;

bool SimulatedJob::run(const std::function<Task(std::int32_t rank, const Team& team)>& make_task) {
  state_->fresh_world(bytes_may_cross);
  std::vector<Task> tasks;
  for (std::int32_t rank = 0; rank < size(); ++rank)
    tasks.push_back(make_task(rank, state_->whole->team(rank)));
  return state_->run(std::move(tasks));
}

bool SimulatedJob::run_inter(
    const std::function<Task(std::int32_t rank, const InterTeam& team)>& make_task) {
  state_->fresh_world(bytes_may_cross);
  const std::int32_t first = first_group_size();
  std::vector<InterTeam> teams;
  for (std::int32_t rank = 0; rank < size(); ++rank) {
    const Team& both = state_->whole->team(rank);
    if (rank < first) {
      teams.push_back({state_->groups[0]->team(rank), both, 0, first});
    } else {
      teams.push_back({state_->groups[1]->team(rank - first), both, first, 0});
    }
  }
  std::vector<Task> tasks;
  for (std::int32_t rank = 0; rank < size(); ++rank)
    tasks.push_back(make_task(rank, teams[static_cast<std::size_t>(rank)]));
  return state_->run(std::move(tasks));
}

std::int32_t SimulatedJob::size() const {
  return static_cast<std::int32_t>(state_->client_of.size());
}
std::int32_t SimulatedJob::first_group_size() const { return state_->first_group_size; }
const Membership& SimulatedJob::membership(std::int32_t rank) const {
  return state_->whole->team(rank).membership;
}
const std::vector<Message>& SimulatedJob::messages() const { return state_->world->messages; }
const std::vector<std::vector<std::byte>>& SimulatedJob::untyped() const {
  return state_->world->untyped;
}
const std::string& SimulatedJob::failure() const { return state_->world->failure; }
std::int32_t SimulatedJob::delays() const { return std::ranges::max(state_->world->clocks); }

std::uint64_t SimulatedJob::crossing_bytes() const { return state_->world->crossing_bytes; }

std::vector<Message> SimulatedJob::crossings() const {
  std::vector<Message> crossings;
  std::ranges::copy_if(messages(), std::back_inserter(crossings),
                       [](const Message& message) { return !message.local; });
  return crossings;
}

std::uint64_t SimulatedJob::crossing_elements() const {
  const auto all = crossings();
  return std::accumulate(
      all.begin(), all.end(), std::uint64_t{0},
      [](std::uint64_t sum, const Message& message) { return sum + message.elements; });
}

std::vector<std::int32_t> blocks_of_ranks(std::int32_t clients) {
  std::vector<std::int32_t> client_of;
  for (std::int32_t client = 0; client < clients; ++client)
    client_of.insert(client_of.end(), 1 + (client + 1) % 3, client);
  return client_of;
}

std::vector<std::int32_t> dealt_ranks(std::int32_t clients) {
  std::vector<std::int32_t> client_of;
  for (std::int32_t rank = 0; rank < 2 * clients + 1; ++rank)
    client_of.push_back((rank * rank + rank / clients) % clients);
  return client_of;
}

namespace {

/// The same job with both kinds of sends, and with clients that represent data alike or not.
void check_variants(const std::vector<std::int32_t>& client_of, std::int32_t first_group_size,
                    const std::function<void(SimulatedJob& job)>& check) {
  for (const SendEnds ends : {SendEnds::kAtOnce, SendEnds::kAtMatch}) {
    for (const bool alike : {true, false}) {
      SimulatedJob job(client_of, first_group_size, ends, static_cast<unsigned>(client_of.size()));
      job.limits.same_representation = alike;
      SCOPED_TRACE(fmt::format(
          "clients of ranks: {}; first group: {}; sends end {}; data represented {}",
          fmt::join(client_of, " "), first_group_size,
          ends == SendEnds::kAtOnce ? "at once" : "at the match", alike ? "alike" : "differently"));
      check(job);
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// All numbers of clients that the tests go through. Sanitizers, under which every job takes ten
/// times as long, look at what code touches rather than at what comes out: one number for each of
/// its ways will do.
std::vector<std::int32_t> numbers_of_clients() {
#ifdef __SANITIZE_ADDRESS__
  return {1, 2, 3, 4, 5, 9};
#else
  std::vector<std::int32_t> all(17);
  std::iota(all.begin(), all.end(), 1);
  return all;
#endif
}

}  // namespace

void for_each_job(const std::function<void(SimulatedJob& job)>& check) {
  for (const std::int32_t clients : numbers_of_clients()) {
    if (testing::Test::HasFailure()) return;
    for (const auto& client_of : {blocks_of_ranks(clients), dealt_ranks(clients)})
      check_variants(client_of, 0, check);
  }
}

void for_each_inter_job(const std::function<void(SimulatedJob& job)>& check) {
  struct Groups {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> second;
  };
  const std::vector<Groups> all{
      {{0}, {1}},                            // one process on each side
      {{0}, {0}},                            // the same inside one client
      {{0, 0}, {1, 1, 1}},                   // each inside one client
      {{0, 0, 0}, {0, 1}},                   // one inside a client that the other shares
      {{0, 1}, {1, 0}},                      // the same clients
      {{0, 1, 0, 1, 1}, {1, 1, 0, 0}},       // dealt over the same clients
      {{0, 0, 1}, {2, 2, 3, 3}},             // on different clients
      {{2, 1}, {0, 2, 2, 3, 0}},             // one client in common
      {blocks_of_ranks(5), dealt_ranks(6)},  // many clients
      {{0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},  // one against all
  };
  for (const Groups& groups : all) {
    std::vector<std::int32_t> client_of = groups.first;
    client_of.insert(client_of.end(), groups.second.begin(), groups.second.end());
    check_variants(client_of, static_cast<std::int32_t>(groups.first.size()), check);
    if (testing::Test::HasFailure()) return;
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
