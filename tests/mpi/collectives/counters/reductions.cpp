// SPDX-License-Identifier: Apache-2.0
// Reduce, Allreduce, Reduce_scatter(_block), Scan, Exscan; and nonblocking forms.
#include <numeric>

#include "tests/mpi/collectives/counters/formulas.hpp"
#include "tests/mpi/collectives/counters/meter.hpp"

namespace impishim_test {
namespace {

class Reductions {
 public:
  Reductions(Bench& bench, MPI_Comm comm, const Members& members, bool commutes,
             const std::string& where)
      : meter_(bench.meter),
        comm_(comm),
        formulas_(bench.setting, members),
        op_(commutes ? MPI_SUM : bench.keep_left),
        commutes_(commutes),
        where_(where + (commutes ? ", sum" : ", does not commute")),
        rank_(rank_in(comm)),
        size_(members.size()) {}

  void reduce(const Sample& sample, int root) {
    const std::string name = described(sample) + ", root " + std::to_string(root) + ", " + where_;
    const auto in = room(sample.count());
    auto out = room(sample.count());
    meter_.check("reduce", name, formulas_.reduce(sample.data, commutes_, root), [&] {
      MPI_Reduce(in.data(), out.data(), sample.count(), sample.type, op_, root, comm_);
    });
  }

  void for_all(const Sample& sample) {
    const std::string name = described(sample) + ", " + where_;
    const int count = sample.count();
    const auto in = room(count);
    auto out = room(count);
    meter_.check("allreduce", name, formulas_.allreduce(sample.data, commutes_),
                 [&] { MPI_Allreduce(in.data(), out.data(), count, sample.type, op_, comm_); });
    const Traffic scan = formulas_.scan(sample.data);
    meter_.check("scan", name, scan,
                 [&] { MPI_Scan(in.data(), out.data(), count, sample.type, op_, comm_); });
    meter_.check("exscan", name, scan,
                 [&] { MPI_Exscan(in.data(), out.data(), count, sample.type, op_, comm_); });
  }

  /// `sample`: each rank's part, or about so much.
  void scattered(const Sample& sample) {
    const std::string name = described(sample) + " each, " + where_;
    const int count = sample.count();
    const auto counts = uneven(size_, count);
    const long long total = std::accumulate(counts.begin(), counts.end(), 0LL);
    const auto in = room(std::max(total, 1LL * count * size_));
    auto out = room(std::max(count, counts[static_cast<std::size_t>(rank_)]));
    const std::vector<long long> uneven_parts(counts.begin(), counts.end());
    meter_.check(
        "reduce_scatter", name,
        formulas_.reduce_scatter(sample.data.of(total), uneven_parts, commutes_),
        [&] { MPI_Reduce_scatter(in.data(), out.data(), counts.data(), sample.type, op_, comm_); });
    const std::vector<long long> even_parts(static_cast<std::size_t>(size_), count);
    meter_.check(
        "reduce_scatter_block", name,
        formulas_.reduce_scatter(sample.data.of(1LL * count * size_), even_parts, commutes_),
        [&] { MPI_Reduce_scatter_block(in.data(), out.data(), count, sample.type, op_, comm_); });
  }

 private:
  Meter& meter_;
  MPI_Comm comm_;
  Formulas formulas_;
  MPI_Op op_;
  bool commutes_;
  std::string where_;
  int rank_;
  int size_;
};

}  // namespace

void check_reductions(Bench& bench, MPI_Comm comm, const Members& members,
                      const std::string& where) {
  for (const bool commutes : {true, false}) {
    Reductions reductions(bench, comm, members, commutes, where);
    for (const Sample& sample : samples(bench.setting)) {
      for (const int root : roots_of(members.client)) reductions.reduce(sample, root);
      reductions.for_all(sample);
      reductions.scattered(sample);
    }
  }
}

void check_nonblocking(Bench& bench, MPI_Comm comm, const Members& members,
                       const std::string& where) {
  const Formulas formulas(bench.setting, members);
  for (const Sample& sample : samples(bench.setting)) {
    const std::string name = described(sample) + ", " + where;
    const int count = sample.count();
    auto data = room(count);
    const auto in = room(1LL * count * members.size());
    auto out = room(1LL * count * members.size());
    const Traffic bcast = formulas.bcast(sample.data);
    const Traffic allreduce = formulas.allreduce(sample.data, true);
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    bench.meter.check("iallreduce", name, allreduce, [&] {
      MPI_Iallreduce(in.data(), out.data(), count, sample.type, MPI_SUM, comm, requests);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
    });
    auto sums = room(count);
    bench.meter.check(
        "ibcast, iallreduce and ialltoall at once", name,
        bcast + allreduce + formulas.alltoall(sample.data), [&] {
          MPI_Ibcast(data.data(), count, sample.type, members.size() - 1, comm, &requests[0]);
          MPI_Iallreduce(in.data(), sums.data(), count, sample.type, MPI_SUM, comm, &requests[1]);
          MPI_Ialltoall(in.data(), count, sample.type, out.data(), count, sample.type, comm,
                        &requests[2]);
          MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        });
  }
}

}  // namespace impishim_test
