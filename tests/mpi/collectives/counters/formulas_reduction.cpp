// SPDX-License-Identifier: Apache-2.0
// "Barrier and reductions".
#include <algorithm>
#include <numeric>

#include "tests/mpi/collectives/counters/formulas.hpp"

namespace impishim_test {

/// R runs: the client of each.
std::vector<int> Formulas::runs_for(bool commutes) const {
  if (!commutes) return members_.runs();
  std::vector<int> clients(static_cast<std::size_t>(m()));
  std::iota(clients.begin(), clients.end(), 0);
  return clients;
}

/// As many slices as the smallest client has members; they differ by one element at most.
Traffic Formulas::sliced(const Elements& data,
                         const std::function<Traffic(const Elements&)>& of_slice) const {
  const long long slices = members_.fewest();
  Traffic all;
  for (long long i = 0; i < slices; ++i)
    all += of_slice(data.of(data.count * (i + 1) / slices - data.count * i / slices));
  return all;
}

Traffic Formulas::reduce(const Elements& data, bool commutes, int root) const {
  if (m() == 1) return {};
  const int from_elsewhere = members_.size() - members_.of_client(client_of(root));
  if (set_.impi && !commutes) return {from_elsewhere, from_elsewhere * data.bytes()};
  const auto to_root = [&](const Elements& part) {
    return Traffic{(m() - 1) * set_.segments(part), (m() - 1) * part.bytes()};
  };
  if (set_.impi) return to_root(data);
  const std::vector<int> runs = runs_for(commutes);
  const auto outside = std::count_if(runs.begin(), runs.end(),
                                     [&](int client) { return client != client_of(root); });
  const bool slices = commutes && members_.fewest() > 1;
  const std::string form = set_.forced("reduce");
  const bool takes_slices =
      slices && (form.empty() ? data.length() >= set_.long_from : form == "sliced");
  if (takes_slices) return sliced(data, to_root);
  // Linear for runs; in a tree each client but the root's sends once as well.
  return {outside * set_.segments(data), outside * data.bytes()};
}

/// Between own systems: the forced form if it can be had, else by the length.
std::string Formulas::allreduce_form(const Elements& data, bool in_order, bool slices) const {
  const auto possible = [&](const std::string& form) {
    if (form == "sliced") return slices;
    if (form == "exchange") return set_.alike;
    if (form == "doubling") return set_.alike && in_order;
    return form == "rooted" || (form == "scattered" && in_order);
  };
  const bool is_long = data.length() >= set_.long_from;
  std::vector<std::string> wishes{set_.forced("allreduce")};
  if (is_long) wishes.push_back("sliced");
  if (m() <= 2 || (set_.few(m()) && !is_long) || set_.tiny(data)) wishes.push_back("exchange");
  wishes.push_back(is_long ? "scattered" : "doubling");
  wishes.push_back("rooted");
  return *std::find_if(wishes.begin(), wishes.end(), possible);
}

/// Of one result of each client, by its master or by members with the same slice.
Traffic Formulas::allreduce_by(const std::string& form, const Elements& data) const {
  if (form == "exchange")
    return {1LL * (m() - 1) * m() * set_.segments(data), 1LL * (m() - 1) * m() * data.bytes()};
  if (form == "doubling") {
    long long power = 1;
    long long rounds = 0;
    for (; 2 * power <= m(); power *= 2) ++rounds;
    const long long times = power * rounds + 2 * (m() - power);
    return {times * set_.segments(data), times * data.bytes()};
  }
  // scattered: M parts, each from all others to one, and back.
  Traffic all;
  for (long long i = 0; i < m(); ++i) {
    const Elements part = data.of(data.count * (i + 1) / m() - data.count * i / m());
    all += {2 * (m() - 1) * set_.segments(part), 2 * (m() - 1) * part.bytes()};
  }
  return all;
}

Traffic Formulas::allreduce(const Elements& data, bool commutes) const {
  if (m() == 1) return {};
  const bool in_order = commutes || members_.in_order();
  const std::string form =
      set_.impi ? "rooted" : allreduce_form(data, in_order, commutes && members_.fewest() > 1);
  if (form == "rooted") return reduce(data, commutes, 0) + bcast(data);
  if (form == "sliced") {
    const Elements share{1, 0, static_cast<int>(data.length() / members_.fewest())};
    // A slice has no slices; what is left when nothing else can be had is scattered.
    const std::string inner = allreduce_form(share, true, false);
    return sliced(data, [&](const Elements& slice) {
      return allreduce_by(inner == "rooted" ? "scattered" : inner, slice);
    });
  }
  if (form != "exchange") return allreduce_by(form, data);
  const auto runs = static_cast<long long>(runs_for(commutes).size());
  return {(m() - 1) * runs * set_.segments(data), (m() - 1) * runs * data.bytes()};
}

Traffic Formulas::reduce_scatter(const Elements& data, const std::vector<long long>& counts,
                                 bool commutes) const {
  if (m() == 1) return {};
  if (set_.impi || set_.forced("reduce_scatter") == "rooted") {
    Blocks parts;
    for (const long long count : counts) parts.push_back(data.of(count));
    return reduce(data, commutes, 0) + rooted_blocks("scatterv", parts, 0);
  }
  const std::vector<int> runs = runs_for(commutes);
  Traffic all;
  for (std::size_t rank = 0; rank < counts.size();) {
    const int client = members_.client[rank];
    long long together = 0;
    for (; rank < counts.size() && members_.client[rank] == client; ++rank)
      together += counts[rank];
    const auto from =
        std::count_if(runs.begin(), runs.end(), [&](int other) { return other != client; });
    all += {from * set_.segments(data.of(together)), from * data.of(together).bytes()};
  }
  return all;
}

Traffic Formulas::scan(const Elements& data) const {
  if (m() == 1) return {};
  const std::vector<int> runs = members_.runs();
  const bool in_order = members_.in_order();
  const bool pipelines = in_order && set_.segments(data) >= members_.size();
  const std::string otherwise = set_.few(m()) || set_.tiny(data) ? "exchange" : "doubling";
  const bool is_long = m() == 2 && data.length() >= set_.long_from;
  std::string form =
      set_.impi ? "chain" : set_.form("scan", is_long && pipelines ? "pipeline" : otherwise);
  if (form == "pipeline" && !pipelines) form = otherwise;
  if (form == "doubling" && !in_order) form = "exchange";
  if (form == "pipeline") return {(m() - 1) * set_.segments(data), (m() - 1) * data.bytes()};
  if (form == "chain") {
    const auto steps = static_cast<long long>(runs.size()) - 1;
    return {steps, steps * data.bytes()};
  }
  long long times = 0;
  if (form == "doubling") {
    for (int distance = 1; distance < m(); distance *= 2) times += m() - distance;
  } else {
    for (auto run = runs.begin(); run != runs.end(); ++run) {
      std::vector<int> later(run + 1, runs.end());
      std::sort(later.begin(), later.end());
      later.erase(std::unique(later.begin(), later.end()), later.end());
      times +=
          std::count_if(later.begin(), later.end(), [&](int client) { return client != *run; });
    }
  }
  return {times * set_.segments(data), times * data.bytes()};
}

}  // namespace impishim_test
