// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/proc_names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/bytes.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

static_assert(kProcNameBytes == sizeof(wire::ProcId::host) + sizeof(wire::ProcId::pid));

bool has_other_jobs(const Job& job, const RankList& ranks) {
  return std::ranges::any_of(
      ranks, [&](wire::WorldRank rank) { return job.map.host(job.map.proc(rank).host).direct; });
}

void use_latest_ranks(const Job& job, RankList& ranks) {
  if (!has_other_jobs(job, ranks)) return;
  for (wire::WorldRank& rank : ranks) rank = job.map.now().latest_rank_of(job.map.proc(rank).id);
}

std::vector<std::byte> names_of(const Job& job, const RankList& ranks) {
  std::vector<std::byte> names(ranks.size() * kProcNameBytes);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::byte* const place = &names[i * kProcNameBytes];
    const wire::ProcId id = job.map.proc(ranks[i]).id;
    std::memcpy(place, id.host.data(), id.host.size());
    store_big_endian(place + id.host.size(), static_cast<std::uint64_t>(id.pid));
  }
  return names;
}

RankList ranks_named(const Job& job, const std::vector<std::byte>& names) {
  RankList ranks;
  for (std::size_t at = 0; at < names.size(); at += kProcNameBytes) {
    wire::ProcId id;
    std::memcpy(id.host.data(), &names[at], id.host.size());
    id.pid = static_cast<std::int64_t>(load_big_endian<std::uint64_t>(&names[at + id.host.size()]));
    ranks.push_back(job.map.now().latest_rank_of(id));
    if (ranks.back() < 0) return {};
  }
  return ranks;
}

}  // namespace impishim::shim
