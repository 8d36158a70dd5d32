// SPDX-License-Identifier: Apache-2.0
#include "tests/scale/collectives/flat.hpp"

namespace impishim::scale::flat {
namespace {

constexpr std::int32_t kTag = 1;

Data part(const Data& data, std::uint64_t bytes) { return {data.base, bytes, data.type}; }

void post_both(const Team& team, std::int32_t peer, const Data& data) {
  team.leaders.post_receive(peer, kTag, data);
  team.leaders.post_send(peer, kTag, collectives::ConstData(data));
}

/// Sends and receives half of the data, a quarter and so on, with ranks at half of the distance.
Task halve(const Team& team, Data data) {
  std::uint64_t bytes = data.count;
  for (std::int32_t distance = team.membership.size() / 2; distance > 0; distance /= 2) {
    bytes = (bytes + 1) / 2;
    post_both(team, team.membership.rank ^ distance, part(data, bytes));
    co_await team.leaders.all_posted();
  }
}

/// The reverse.
Task collect(const Team& team, Data data, std::uint64_t first) {
  std::uint64_t bytes = first;
  for (std::int32_t distance = 1; distance < team.membership.size(); distance *= 2, bytes *= 2) {
    post_both(team, team.membership.rank ^ distance, part(data, bytes));
    co_await team.leaders.all_posted();
  }
}

/// Along a binomial tree to rank 0; the bytes double with each step.
Task gather_along_tree(const Team& team, Data data, std::uint64_t first, bool doubles) {
  std::uint64_t bytes = first;
  const std::int32_t rank = team.membership.rank;
  for (std::int32_t distance = 1; distance < team.membership.size(); distance *= 2) {
    if ((rank & distance) != 0) {
      team.leaders.post_send(rank - distance, kTag, collectives::ConstData(part(data, bytes)));
      co_await team.leaders.all_posted();
      co_return;
    }
    team.leaders.post_receive(rank + distance, kTag, part(data, bytes));
    co_await team.leaders.all_posted();
    if (doubles) bytes *= 2;
  }
}

/// Along a binomial tree from rank 0; the bytes halve with each step, or not.
Task spread_along_tree(const Team& team, Data data, bool halves) {
  const std::int32_t rank = team.membership.rank;
  const std::int32_t size = team.membership.size();
  std::int32_t distance = rank == 0 ? size : rank & -rank;
  const auto bytes_to = [&](std::int32_t at) {
    return halves ? (data.count * static_cast<std::uint64_t>(at) +
                     static_cast<std::uint64_t>(size) - 1) /
                        static_cast<std::uint64_t>(size)
                  : data.count;
  };
  if (rank != 0) {
    team.leaders.post_receive(rank - distance, kTag, part(data, bytes_to(distance)));
    co_await team.leaders.all_posted();
  }
  for (distance /= 2; distance > 0; distance /= 2)
    team.leaders.post_send(rank + distance, kTag,
                           collectives::ConstData(part(data, bytes_to(distance))));
  co_await team.leaders.all_posted();
}

std::uint64_t share(const Team& team, const Data& data) {
  const auto size = static_cast<std::uint64_t>(team.membership.size());
  return (data.count + size - 1) / size;
}

}  // namespace

Task barrier(const Team& team) {
  const std::int32_t rank = team.membership.rank;
  const std::int32_t size = team.membership.size();
  const wire::TypeLayout& bytes = wire::TypeLayout::basic(wire::BasicType::kByte);
  for (std::int32_t distance = 1; distance < size; distance *= 2) {
    team.leaders.post_receive((rank - distance + size) % size, kTag,
                              wire::MutableBuffer{nullptr, 0, &bytes});
    team.leaders.post_send((rank + distance) % size, kTag, wire::ConstBuffer{nullptr, 0, &bytes});
    co_await team.leaders.all_posted();
  }
}

Task bcast(const Team& team, Data data) {
  const bool is_long = data.count >= kLong;
  co_await spread_along_tree(team, data, is_long);
  if (is_long) co_await collect(team, data, share(team, data));
}

Task reduce(const Team& team, Data data) {
  const bool is_long = data.count >= kLong;
  if (is_long) co_await halve(team, data);
  co_await gather_along_tree(team, data, is_long ? share(team, data) : data.count, is_long);
}

Task allreduce(const Team& team, Data data) {
  if (data.count >= kLong) {
    co_await halve(team, data);
    co_await collect(team, data, share(team, data));
    co_return;
  }
  for (std::int32_t distance = 1; distance < team.membership.size(); distance *= 2) {
    post_both(team, team.membership.rank ^ distance, data);
    co_await team.leaders.all_posted();
  }
}

Task allgather(const Team& team, Data block, Data room) {
  co_await collect(team, room, block.count);
}

Task alltoall(const Team& team, Data block) {
  for (std::int32_t step = 1; step < team.membership.size(); ++step) {
    post_both(team, team.membership.rank ^ step, block);
    co_await team.leaders.all_posted();
  }
}

Task scan(const Team& team, Data data) {
  for (std::int32_t distance = 1; distance < team.membership.size(); distance *= 2) {
    post_both(team, team.membership.rank ^ distance, data);
    co_await team.leaders.all_posted();
  }
}

}  // namespace impishim::scale::flat
