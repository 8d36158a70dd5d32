// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/collective/collective.hpp"

#include <limits>
#include <numeric>

#include "darray/communicator/agree.hpp"
#include "darray/communicator/communicator.hpp"
#include "darray/interop/dap/piece_words.hpp"

namespace impishim::darray::dap {
namespace {

void agree_on_call(const char* operation, MPI_Comm communicator, Level level, bool replicated) {
  agree_on(Communicator(communicator), Checks::kOn, [&] {
    return CollectiveCall(operation)
        .with("level", static_cast<int>(level))
        .with("replicated", replicated);
  });
}

}  // namespace

std::vector<ProcessPiece> gather_pieces(MPI_Comm communicator, const ProcessPiece& mine) {
  const Communicator group(communicator);
  const auto size = static_cast<std::size_t>(group.size());
  const std::vector<Index> words = to_words(mine);
  const auto count = static_cast<Index>(words.size());
  std::vector<Index> counts(size);
  check_mpi(MPI_Allgather(&count, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, group.get()),
            "MPI_Allgather");
  const Index total = std::accumulate(counts.begin(), counts.end(), Index{0});
  if (total > std::numeric_limits<int>::max())
    fail(ErrorKind::kUnsupported,
         "the dictionaries of all {} processes are {} words, too many to gather", size, total);
  std::vector<int> lengths(counts.begin(), counts.end());
  std::vector<int> places(size, 0);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::vector<Index> all(static_cast<std::size_t>(total));
  check_mpi(MPI_Allgatherv(words.data(), static_cast<int>(count), MPI_INT64_T, all.data(),
                           lengths.data(), places.data(), MPI_INT64_T, group.get()),
            "MPI_Allgatherv");
  std::vector<ProcessPiece> pieces;
  pieces.reserve(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    pieces.push_back(piece_from_words(std::span(all).subspan(
        static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(lengths[rank]))));
  return pieces;
}

Violations check_collectively(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                              bool replicated) {
  agree_on_call("collective check of dictionaries", communicator, level, replicated);
  return check_processes(gather_pieces(communicator, mine), level, replicated);
}

DistributionPtr import_distribution(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                                    bool replicated) {
  agree_on_call("import of a distribution", communicator, level, replicated);
  return distribution_of(gather_pieces(communicator, mine), level, replicated);
}

}  // namespace impishim::darray::dap
