// SPDX-License-Identifier: Apache-2.0
// Barrier, Bcast, Gather(v), Scatter(v), Allgather(v), Alltoall(v,w), Neighbor_*.
#include "tests/mpi/collectives/counters/formulas.hpp"
#include "tests/mpi/collectives/counters/meter.hpp"

namespace impishim_test {
namespace {

class Movements {
 public:
  Movements(Bench& bench, MPI_Comm comm, const Members& members, std::string where)
      : meter_(bench.meter),
        comm_(comm),
        formulas_(bench.setting, members),
        where_(std::move(where)),
        rank_(rank_in(comm)),
        size_(members.size()) {}

  void barrier() {
    meter_.check("barrier", where_, formulas_.barrier(), [&] { MPI_Barrier(comm_); });
  }

  void from_root(const Sample& sample, int root) {
    const std::string name = described(sample) + ", root " + std::to_string(root) + ", " + where_;
    const int count = sample.count();
    const auto counts = uneven(size_, count);
    const auto places = displacements(counts);
    auto own = room(std::max<long long>(count, counts[static_cast<std::size_t>(rank_)]));
    auto all = room(std::max<long long>(1LL * count * size_, places.back()));
    const int mine = counts[static_cast<std::size_t>(rank_)];
    const MPI_Datatype type = sample.type;
    meter_.check("bcast", name, formulas_.bcast(sample.data),
                 [&] { MPI_Bcast(own.data(), count, type, root, comm_); });
    meter_.check("gather", name, formulas_.rooted_equal("gather", sample.data, root), [&] {
      MPI_Gather(own.data(), count, type, all.data(), count, type, root, comm_);
    });
    meter_.check("scatter", name, formulas_.rooted_equal("scatter", sample.data, root), [&] {
      MPI_Scatter(all.data(), count, type, own.data(), count, type, root, comm_);
    });
    const Blocks blocks = of(sample, counts);
    meter_.check("gatherv", name, formulas_.rooted_blocks("gatherv", blocks, root), [&] {
      MPI_Gatherv(own.data(), mine, type, all.data(), counts.data(), places.data(), type, root,
                  comm_);
    });
    meter_.check("scatterv", name, formulas_.rooted_blocks("scatterv", blocks, root), [&] {
      MPI_Scatterv(all.data(), counts.data(), places.data(), type, own.data(), mine, type, root,
                   comm_);
    });
  }

  void to_everybody(const Sample& sample) {
    const std::string name = described(sample) + ", " + where_;
    const int count = sample.count();
    const auto counts = uneven(size_, count);
    const auto places = displacements(counts);
    const int mine = counts[static_cast<std::size_t>(rank_)];
    auto own = room(std::max(count, mine));
    auto all = room(std::max<long long>(1LL * count * size_, places.back()));
    const MPI_Datatype type = sample.type;
    meter_.check(
        "allgather", name,
        formulas_.allgather("allgather", Blocks(static_cast<std::size_t>(size_), sample.data)),
        [&] { MPI_Allgather(own.data(), count, type, all.data(), count, type, comm_); });
    meter_.check("allgatherv", name, formulas_.allgather("allgatherv", of(sample, counts)), [&] {
      MPI_Allgatherv(own.data(), mine, type, all.data(), counts.data(), places.data(), type, comm_);
    });
    auto from = room(1LL * count * size_);
    meter_.check("alltoall", name, formulas_.alltoall(sample.data),
                 [&] { MPI_Alltoall(from.data(), count, type, all.data(), count, type, comm_); });
  }

  void between_all(const Sample& sample) {
    const auto count_between = [&](int from, int to) {
      return (from + 2 * to) % 3 * sample.count() / 2;
    };
    std::vector<int> to;
    std::vector<int> from;
    for (int peer = 0; peer < size_; ++peer) {
      to.push_back(count_between(rank_, peer));
      from.push_back(count_between(peer, rank_));
    }
    const auto expected = formulas_.alltoallv(
        [&](int sender, int receiver) { return sample.data.of(count_between(sender, receiver)); });
    auto to_places = displacements(to);
    auto from_places = displacements(from);
    const auto out = room(to_places.back());
    auto in = room(from_places.back());
    const std::string name = described(sample) + ", " + where_;
    meter_.check("alltoallv", name, expected, [&] {
      MPI_Alltoallv(out.data(), to.data(), to_places.data(), sample.type, in.data(), from.data(),
                    from_places.data(), sample.type, comm_);
    });
    for (int& place : to_places) place *= 8;  // bytes
    for (int& place : from_places) place *= 8;
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size_), sample.type);
    meter_.check("alltoallw", name, expected, [&] {
      MPI_Alltoallw(out.data(), to.data(), to_places.data(), types.data(), in.data(), from.data(),
                    from_places.data(), types.data(), comm_);
    });
  }

  /// A ring in both directions.
  void neighbours(const Sample& sample, MPI_Comm ring) {
    std::vector<int> from;
    std::vector<int> to;
    for (int rank = 0; rank < size_; ++rank) {
      for (const int step : {1, size_ - 1}) {
        from.push_back(rank);
        to.push_back((rank + step) % size_);
      }
    }
    const Traffic expected = formulas_.edges(from, to, sample.data);
    const std::string name = described(sample) + ", ring of " + where_;
    const int count = sample.count();
    const auto out = room(2LL * count);
    auto in = room(2LL * count);
    meter_.check("neighbor_allgather", name, expected, [&] {
      MPI_Neighbor_allgather(out.data(), count, sample.type, in.data(), count, sample.type, ring);
    });
    meter_.check("neighbor_alltoall", name, expected, [&] {
      MPI_Neighbor_alltoall(out.data(), count, sample.type, in.data(), count, sample.type, ring);
    });
  }

 private:
  static Blocks of(const Sample& sample, const std::vector<int>& counts) {
    Blocks blocks;
    for (const int count : counts) blocks.push_back(sample.data.of(count));
    return blocks;
  }

  Meter& meter_;
  MPI_Comm comm_;
  Formulas formulas_;
  std::string where_;
  int rank_;
  int size_;
};

}  // namespace

void check_movements(Bench& bench, MPI_Comm comm, const Members& members,
                     const std::string& where) {
  Movements movements(bench, comm, members, where);
  movements.barrier();
  const int size = members.size();
  const int periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
  for (const Sample& sample : samples(bench.setting)) {
    for (const int root : roots_of(members.client)) movements.from_root(sample, root);
    movements.to_everybody(sample);
    movements.between_all(sample);
    movements.neighbours(sample, ring);
  }
  MPI_Comm_free(&ring);
}

}  // namespace impishim_test
