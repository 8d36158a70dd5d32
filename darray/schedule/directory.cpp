// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"
#include "darray/schedule/exchange_lists.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {

struct Directory::State {
  Communicator communicator;
  std::unordered_map<Index, Location> entries;  // the labels whose home is this rank

  std::size_t home(Index label) const {
    Hasher hash;
    hash.add(label);
    return static_cast<std::size_t>(hash.value() % static_cast<std::uint64_t>(communicator.size()));
  }
};

Directory::Directory(const Communicator& communicator, std::span<const Index> labels,
                     std::span<const Index> offsets)
    : state_(new State{communicator, {}}) {
  agreed(communicator, Checks::kOn, "directory", [&] {
    if (!offsets.empty() && offsets.size() != labels.size()) {
      fail(ErrorKind::kArgument, "{} offsets for {} labels", offsets.size(), labels.size());
    }
  });
  // The label and the offset of each entry, in turn.
  std::vector<std::vector<Index>> lists(static_cast<std::size_t>(communicator.size()));
  for (std::size_t k = 0; k < labels.size(); ++k) {
    auto& list = lists[state_->home(labels[k])];
    list.push_back(labels[k]);
    list.push_back(offsets.empty() ? static_cast<Index>(k) : offsets[k]);
  }
  const auto entries = exchange_lists(communicator, std::move(lists));
  std::size_t count = 0;
  for (const auto& list : entries) count += list.size() / 2;
  state_->entries.reserve(count);
  // Ranks are visited in ascending order, so the entry of the lowest rank is inserted first and
  // stays.
  for (std::size_t rank = 0; rank < entries.size(); ++rank) {
    for (std::size_t k = 0; k + 1 < entries[rank].size(); k += 2) {
      state_->entries.try_emplace(entries[rank][k],
                                  Location{static_cast<int>(rank), entries[rank][k + 1]});
    }
  }
}

Directory::~Directory() = default;
Directory::Directory(Directory&&) noexcept = default;
Directory& Directory::operator=(Directory&&) noexcept = default;

std::vector<Location> Directory::find(std::span<const Index> labels, Checks checks) const {
  agree_on(state_->communicator, checks, [] { return CollectiveCall("directory lookup"); });
  std::vector<std::vector<Index>> questions(static_cast<std::size_t>(state_->communicator.size()));
  std::vector<std::size_t> homes;
  homes.reserve(labels.size());
  for (const Index label : labels) {
    homes.push_back(state_->home(label));
    questions[homes.back()].push_back(label);
  }
  // The rank and the offset of each answer, in turn.
  std::vector<std::vector<Index>> answers;
  for (const auto& asked : exchange_lists(state_->communicator, std::move(questions))) {
    auto& list = answers.emplace_back();
    list.reserve(2 * asked.size());
    for (const Index label : asked) {
      const auto found = state_->entries.find(label);
      const Location location = found == state_->entries.end() ? Location{} : found->second;
      list.push_back(location.rank);
      list.push_back(location.offset);
    }
  }
  const auto answered = exchange_lists(state_->communicator, std::move(answers));
  std::vector<std::size_t> next(answered.size(), 0);
  std::vector<Location> result;
  result.reserve(labels.size());
  for (const std::size_t home : homes) {
    const Index* answer = answered[home].data() + 2 * next[home]++;
    result.push_back({static_cast<int>(answer[0]), answer[1]});
  }
  return result;
}

}  // namespace impishim::darray
