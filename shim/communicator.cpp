#include "shim/communicator.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace impishim::shim {

std::unique_ptr<Communicator> Communicator::create(const wire::JobMap& job, wire::WorldRank here, MPI_Comm handle,
                                                   wire::ContextId context, std::vector<wire::WorldRank> members) {
  auto made = std::make_unique<Communicator>();
  made->handle = handle;
  made->context = context;
  made->members = std::move(members);
  const auto client_of = [&](wire::WorldRank proc) { return job.procs()[static_cast<std::size_t>(proc)].client; };
  const auto host_of = [&](wire::WorldRank proc) { return job.procs()[static_cast<std::size_t>(proc)].host; };
  std::map<std::int32_t, std::int32_t> master_index;  // client -> index in masters
  std::set<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < made->size(); ++rank) {
    const wire::WorldRank proc = made->members[static_cast<std::size_t>(rank)];
    if (proc == here) made->rank = rank;
    const bool local = client_of(proc) == client_of(here);
    made->local_ranks.push_back(local ? static_cast<std::int32_t>(made->spanning_ranks.size()) : -1);
    if (local) made->spanning_ranks.push_back(rank);
    // Ranks ascend, so the first of a client is its lowest.
    const auto [entry, first] = master_index.emplace(client_of(proc), static_cast<std::int32_t>(made->masters.size()));
    if (first) made->masters.push_back(rank);
    made->master_of.push_back(entry->second);
    hosts.insert(host_of(proc));
  }
  for (std::size_t i = 0; i < made->spanning_ranks.size(); ++i) {
    made->local_ranks_are_spanning = made->spanning_ranks[i] == static_cast<std::int32_t>(i);
    if (!made->local_ranks_are_spanning) break;
  }
  // Colours are ordered as host ranks are in MPI_COMM_WORLD (IMPI 2.5).
  made->host_count = static_cast<std::int32_t>(hosts.size());
  made->host_color = static_cast<std::int32_t>(std::distance(hosts.begin(), hosts.find(host_of(here))));
  made->client_color = static_cast<std::int32_t>(std::distance(master_index.begin(), master_index.find(client_of(here))));
  return made;
}

CommunicatorTable::CommunicatorTable() {
  generations_.push_back(std::make_unique<Slots>(64));
  slots_.store(generations_.back().get(), std::memory_order_release);
}

CommunicatorTable::~CommunicatorTable() = default;

Communicator* CommunicatorTable::insert(std::unique_ptr<Communicator> communicator) {
  const std::lock_guard lock(mutex_);
  owned_.push_back(std::move(communicator));
  Communicator* made = owned_.back().get();
  Slots* slots = slots_.load(std::memory_order_relaxed);
  const auto used = static_cast<std::size_t>(std::count_if(slots->slot.begin(), slots->slot.end(), [](const Slot& slot) {
    return slot.key.load(std::memory_order_relaxed) != kEmpty;
  }));
  if (2 * (used + 1) > slots->slot.size()) {
    // Freed handles' slots are left behind with the old table, which readers may still hold.
    generations_.push_back(
        std::make_unique<Slots>(owned_.size() * 4 > slots->slot.size() ? slots->slot.size() * 2 : slots->slot.size()));
    slots = generations_.back().get();
    for (const auto& each : owned_) place(*slots, each.get());
    slots_.store(slots, std::memory_order_release);
  } else {
    place(*slots, made);
  }
  return made;
}

/// A slot's key never changes once it is set; a freed handle leaves its key with no communicator, for the same handle to come
/// back to.
void CommunicatorTable::place(Slots& slots, Communicator* communicator) {
  const std::uint64_t key = key_of(communicator->handle);
  for (std::size_t i = hash(communicator->handle) & slots.mask;; i = (i + 1) & slots.mask) {
    Slot& slot = slots.slot[i];
    const std::uint64_t there = slot.key.load(std::memory_order_relaxed);
    if (there != kEmpty && there != key) continue;
    slot.communicator.store(communicator, std::memory_order_release);
    slot.key.store(key, std::memory_order_release);
    return;
  }
}

void CommunicatorTable::move(Owned& from, Owned& to, const Communicator& communicator) {
  const auto found = std::ranges::find_if(from, [&](const auto& each) { return each.get() == &communicator; });
  to.push_back(std::move(*found));
  from.erase(found);
}

void CommunicatorTable::hide(Communicator& communicator) {
  const std::lock_guard lock(mutex_);
  Slots* slots = slots_.load(std::memory_order_relaxed);
  for (std::size_t i = hash(communicator.handle) & slots->mask;; i = (i + 1) & slots->mask) {
    Slot& slot = slots->slot[i];
    if (slot.key.load(std::memory_order_relaxed) != key_of(communicator.handle)) continue;
    slot.communicator.store(nullptr, std::memory_order_release);
    break;
  }
  move(owned_, hidden_, communicator);
}

void CommunicatorTable::show(Communicator& communicator) {
  const std::lock_guard lock(mutex_);
  move(hidden_, owned_, communicator);
  place(*slots_.load(std::memory_order_relaxed), &communicator);
}

void CommunicatorTable::retire(Communicator& communicator) {
  const std::lock_guard lock(mutex_);
  move(hidden_, retired_, communicator);
  std::erase_if(retired_, [](const auto& each) { return each->pending.load(std::memory_order_acquire) == 0; });
}

std::vector<Communicator*> CommunicatorTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Communicator*> communicators;
  for (const auto& each : owned_) communicators.push_back(each.get());
  return communicators;
}

}  // namespace impishim::shim
