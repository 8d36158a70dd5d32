// SPDX-License-Identifier: Apache-2.0
// Collectives of intercommunicators.
#include <numeric>

#include "tests/mpi/collectives/counters/formulas.hpp"
#include "tests/mpi/collectives/counters/meter.hpp"

namespace impishim_test {
namespace {

class BetweenGroups {
 public:
  BetweenGroups(Bench& bench, MPI_Comm comm, const TwoGroups& groups, bool in_first,
                std::string where)
      : bench_(bench),
        comm_(comm),
        groups_(groups),
        in_first_(in_first),
        formulas_(bench.setting, groups_),
        where_(std::move(where)),
        rank_(static_cast<std::size_t>(rank_in(comm))),
        local_(static_cast<int>((in_first ? groups.first : groups.second).size())),
        remote_(static_cast<int>((in_first ? groups.second : groups.first).size())) {}

  void barrier() {
    bench_.meter.check("barrier between groups", where_, formulas_.barrier(),
                       [&] { MPI_Barrier(comm_); });
  }

  /// A root in the first group or in the second, `root` being its rank there.
  void with_root(const Sample& sample, bool root_in_first, int root) {
    const auto& its_group = root_in_first ? groups_.first : groups_.second;
    const auto& others = root_in_first ? groups_.second : groups_.first;
    const int client = its_group[static_cast<std::size_t>(root)];
    const bool with_it = root_in_first == in_first_;
    const int as = with_it ? (static_cast<int>(rank_) == root ? MPI_ROOT : MPI_PROC_NULL) : root;
    const std::string name = described(sample) + ", root " + std::to_string(root) + " of the " +
                             (root_in_first ? "first" : "second") + " group, " + where_;
    const int others_size = static_cast<int>(others.size());
    const int count = sample.count();
    const auto counts = uneven(others_size, count);
    const auto places = displacements(counts);
    const int mine = with_it ? 0 : counts[rank_];
    auto own = room(std::max(count, mine));
    auto all = room(std::max<long long>(1LL * count * others_size, places.back()));
    const MPI_Datatype type = sample.type;
    Meter& meter = bench_.meter;
    const Setting& set = bench_.setting;
    meter.check("bcast between groups", name, formulas_.bcast(sample.data, client, others),
                [&] { MPI_Bcast(own.data(), count, type, as, comm_); });
    const Blocks equal(others.size(), sample.data);
    meter.check("gather between groups", name,
                blocks_and_root(set, "gatherv", others, equal, client),
                [&] { MPI_Gather(own.data(), count, type, all.data(), count, type, as, comm_); });
    meter.check("scatter between groups", name,
                blocks_and_root(set, "scatterv", others, equal, client),
                [&] { MPI_Scatter(all.data(), count, type, own.data(), count, type, as, comm_); });
    const Blocks blocks = of(sample, counts);
    meter.check("gatherv between groups", name,
                blocks_and_root(set, "gatherv", others, blocks, client), [&] {
                  MPI_Gatherv(own.data(), mine, type, all.data(), counts.data(), places.data(),
                              type, as, comm_);
                });
    meter.check("scatterv between groups", name,
                blocks_and_root(set, "scatterv", others, blocks, client), [&] {
                  MPI_Scatterv(all.data(), counts.data(), places.data(), type, own.data(), mine,
                               type, as, comm_);
                });
    for (const bool commutes : {true, false}) {
      const auto in = room(count);
      meter.check("reduce between groups", name + named(commutes),
                  formulas_.reduce(sample.data, commutes, client, others),
                  [&] { MPI_Reduce(in.data(), own.data(), count, type, op(commutes), as, comm_); });
    }
  }

  void blocks_for_all(const Sample& sample) {
    const std::string name = described(sample) + ", " + where_;
    const int count = sample.count();
    const MPI_Datatype type = sample.type;
    const auto counts = uneven(remote_, count);
    const auto places = displacements(counts);
    const int mine = uneven(local_, count)[rank_];
    const auto own = room(std::max(1LL * count * remote_, 1LL * mine));
    auto all = room(std::max<long long>(1LL * count * remote_, places.back()));
    const Blocks first(groups_.first.size(), sample.data);
    const Blocks second(groups_.second.size(), sample.data);
    Meter& meter = bench_.meter;
    meter.check("allgather between groups", name, formulas_.allgatherv(first, second),
                [&] { MPI_Allgather(own.data(), count, type, all.data(), count, type, comm_); });
    const auto uneven_of = [&](const std::vector<int>& group) {
      return of(sample, uneven(static_cast<int>(group.size()), count));
    };
    meter.check("allgatherv between groups", name,
                formulas_.allgatherv(uneven_of(groups_.first), uneven_of(groups_.second)), [&] {
                  MPI_Allgatherv(own.data(), mine, type, all.data(), counts.data(), places.data(),
                                 type, comm_);
                });
    const auto block = [&](int, int) { return sample.data; };
    meter.check("alltoall between groups", name, formulas_.alltoallv(block, block),
                [&] { MPI_Alltoall(own.data(), count, type, all.data(), count, type, comm_); });
  }

  void between_all(const Sample& sample) {
    const int count = sample.count();
    const auto there = [&](int from, int to) { return (from + to) % 2 * count; };
    const auto back = [&](int from, int to) { return (2 * from + to) % 3 * count / 2; };
    std::vector<int> to;
    std::vector<int> from;
    for (int peer = 0; peer < remote_; ++peer) {
      const int me = static_cast<int>(rank_);
      to.push_back(in_first_ ? there(me, peer) : back(me, peer));
      from.push_back(in_first_ ? back(peer, me) : there(peer, me));
    }
    const auto to_places = displacements(to);
    const auto from_places = displacements(from);
    const auto out = room(to_places.back());
    auto in = room(from_places.back());
    const Traffic expected =
        formulas_.alltoallv([&](int i, int j) { return sample.data.of(there(i, j)); },
                            [&](int j, int i) { return sample.data.of(back(j, i)); });
    bench_.meter.check(
        "alltoallv between groups", described(sample) + ", " + where_, expected, [&] {
          MPI_Alltoallv(out.data(), to.data(), to_places.data(), sample.type, in.data(),
                        from.data(), from_places.data(), sample.type, comm_);
        });
  }

  void reductions_for_all(const Sample& sample, bool commutes) {
    const std::string name = described(sample) + ", " + where_ + named(commutes);
    const int count = sample.count();
    const auto in = room(count);
    auto out = room(count);
    bench_.meter.check(
        "allreduce between groups", name, formulas_.allreduce(sample.data, commutes),
        [&] { MPI_Allreduce(in.data(), out.data(), count, sample.type, op(commutes), comm_); });
    const auto of_first = split(count, groups_.first.size());
    const auto of_second = split(count, groups_.second.size());
    const auto& own = in_first_ ? of_first : of_second;
    const std::vector<int> counts(own.begin(), own.end());
    bench_.meter.check("reduce_scatter between groups", name,
                       formulas_.reduce_scatter(sample.data, of_first, of_second, commutes), [&] {
                         MPI_Reduce_scatter(in.data(), out.data(), counts.data(), sample.type,
                                            op(commutes), comm_);
                       });
  }

 private:
  /// All to the last rank but one for each of the others.
  static std::vector<long long> split(long long count, std::size_t ranks) {
    std::vector<long long> counts(ranks,
                                  count > 0 && count >= static_cast<long long>(ranks) ? 1 : 0);
    counts.back() += count - std::accumulate(counts.begin(), counts.end(), 0LL);
    return counts;
  }
  static Blocks of(const Sample& sample, const std::vector<int>& counts) {
    Blocks blocks;
    for (const int count : counts) blocks.push_back(sample.data.of(count));
    return blocks;
  }
  [[nodiscard]] MPI_Op op(bool commutes) const { return commutes ? MPI_SUM : bench_.keep_left; }
  static std::string named(bool commutes) { return commutes ? ", sum" : ", does not commute"; }

  Bench& bench_;
  MPI_Comm comm_;
  TwoGroups groups_;
  bool in_first_;
  InterFormulas formulas_;
  std::string where_;
  std::size_t rank_;
  int local_;
  int remote_;
};

}  // namespace

void check_between_groups(Bench& bench, MPI_Comm comm, const TwoGroups& groups, bool in_first,
                          const std::string& where) {
  BetweenGroups between(bench, comm, groups, in_first, where);
  between.barrier();
  for (const Sample& sample : samples(bench.setting)) {
    for (const int root : roots_of(groups.first)) between.with_root(sample, true, root);
    for (const int root : roots_of(groups.second)) between.with_root(sample, false, root);
    between.blocks_for_all(sample);
    between.between_all(sample);
    for (const bool commutes : {true, false}) between.reductions_for_all(sample, commutes);
  }
}

}  // namespace impishim_test
