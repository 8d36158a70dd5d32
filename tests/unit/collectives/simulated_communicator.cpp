// SPDX-License-Identifier: Apache-2.0
#include "simulated_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace impishim::collectives::test {

struct SimulatedCommunicator::Member {
  Membership membership;
  std::vector<std::int32_t> local_ranks;
  std::unique_ptr<SimulatedLocal> local;
  std::unique_ptr<SimulatedLeaders> leaders;
  std::unique_ptr<Team> team;
};

SimulatedCommunicator::SimulatedCommunicator(World& shared,
                                             const std::vector<std::int32_t>& processes,
                                             const std::vector<std::int32_t>& client_of)
    : world(shared), processes_(processes), members_(processes.size()) {
  std::map<std::int32_t, std::int32_t> number_of;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    client_of_.push_back(client_of[static_cast<std::size_t>(processes[rank])]);
    const auto [entry, first] =
        number_of.emplace(client_of_.back(), static_cast<std::int32_t>(masters_.size()));
    if (first) {
      masters_.push_back(static_cast<std::int32_t>(rank));
      ranks_of_client_.emplace_back();
    }
    master_of_.push_back(entry->second);
    ranks_of_client_[static_cast<std::size_t>(entry->second)].push_back(
        static_cast<std::int32_t>(rank));
  }
  phases_.resize(masters_.size());
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    Member& member = members_[rank];
    const auto& mine = ranks_of_client_[static_cast<std::size_t>(master_of_[rank])];
    member.local_ranks.assign(members_.size(), -1);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      member.local_ranks[static_cast<std::size_t>(mine[i])] = static_cast<std::int32_t>(i);
    }
    member.membership = {static_cast<std::int32_t>(rank), masters_, master_of_, member.local_ranks,
                         mine};
    member.local = std::make_unique<SimulatedLocal>(*this, member.membership);
    member.leaders = std::make_unique<SimulatedLeaders>(*this, member.membership);
    member.team = std::make_unique<Team>(
        Team{member.membership, world.limits, *member.local, *member.leaders});
  }
}

SimulatedCommunicator::~SimulatedCommunicator() = default;

const Team& SimulatedCommunicator::team(std::int32_t rank) const {
  return *members_[static_cast<std::size_t>(rank)].team;
}

wire::Format SimulatedCommunicator::format_between(std::int32_t a, std::int32_t b) const {
  const std::int32_t first = client_of_[static_cast<std::size_t>(a)];
  const std::int32_t second = client_of_[static_cast<std::size_t>(b)];
  if (first == second || world.limits.same_representation) return wire::Format::kNative;
  return (first + second) % 2 == 0 ? wire::Format::kExternal32 : wire::Format::kWide;
}

LocalPhase& SimulatedCommunicator::phase(std::int32_t client, std::size_t number,
                                         const std::string& kind) {
  LocalPhase& phase = phases_[static_cast<std::size_t>(client)][number];
  if (phase.kind.empty()) phase.kind = kind;
  if (phase.kind != kind)
    world.fail(fmt::format("client {}, phase {}: {} meets {}", client, number, kind, phase.kind));
  phase.blocks.resize(ranks_of_client_[static_cast<std::size_t>(client)].size());
  phase.clocks.resize(phase.blocks.size());
  return phase;
}

bool SimulatedCommunicator::has_late_messages() const {
  return std::ranges::any_of(under_way | std::views::values, [this](const auto& parcels) {
    return std::ranges::any_of(
        parcels, [this](const auto& parcel) { return parcel->arrives > world.round; });
  });
}

void SimulatedCommunicator::check_end() {
  for (const auto& [pair, parcels] : under_way) {
    if (!parcels.empty())
      world.fail(
          fmt::format("{} messages left from {} to {}", parcels.size(), pair.first, pair.second));
  }
  for (const auto& phases : phases_) {
    for (const LocalPhase& phase : phases | std::views::values) {
      if (std::ranges::any_of(phase.blocks, [](const auto& block) { return !block; }))
        world.fail("not all joined " + phase.kind);
    }
  }
  for (const Member& member : members_) {
    if (!member.local->all_awaited())
      world.fail(fmt::format("rank {} has not awaited a local phase", member.membership.rank));
    if (!member.leaders->all_awaited())
      world.fail(fmt::format("rank {} has not awaited a message", member.membership.rank));
  }
}

}  // namespace impishim::collectives::test
