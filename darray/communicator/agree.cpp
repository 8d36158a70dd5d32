// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/agree.hpp"

#include <fmt/core.h>

#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

namespace impishim::darray {
namespace {

/// Throws the error of rank `first`, the lowest rank that has one, on all ranks. That rank
/// broadcasts the kind and the text of the error.
[[noreturn]] void throw_error_of(const Communicator& communicator, int first,
                                 const std::optional<Error>& mine) {
  int header[2] = {0, 0};
  std::string text;
  if (communicator.rank() == first) {
    text = fmt::format("rank {}: {}", first, mine->what());
    header[0] = static_cast<int>(mine->kind());
    header[1] = static_cast<int>(text.size());
  }
  check_mpi(MPI_Bcast(header, 2, MPI_INT, first, communicator.get()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(header[1]));
  check_mpi(MPI_Bcast(text.data(), header[1], MPI_CHAR, first, communicator.get()), "MPI_Bcast");
  throw Error(static_cast<ErrorKind>(header[0]), text);
}

/// Returns the text of every rank, by rank.
std::vector<std::string> texts_of_all(const Communicator& communicator, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  // Each text is cut so that the total length fits an int. What remains is enough to tell the texts
  // apart.
  const std::size_t most = static_cast<std::size_t>(std::numeric_limits<int>::max()) / ranks;
  const int length = static_cast<int>(std::min(mine.size(), most));
  std::vector<int> lengths(ranks);
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, communicator.get()),
            "MPI_Allgather");
  std::vector<int> places(ranks, 0);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string all(static_cast<std::size_t>(places.back() + lengths.back()), ' ');
  check_mpi(MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(),
                           MPI_CHAR, communicator.get()),
            "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(all.substr(static_cast<std::size_t>(places[rank]),
                               static_cast<std::size_t>(lengths[rank])));
  }
  return texts;
}

std::optional<Error> error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorKind::kUnsupported, error.what());
  } catch (...) {
    return Error(ErrorKind::kUnsupported, "an exception of unknown type");
  }
  return std::nullopt;
}

}  // namespace

void detail::agree_on_call(const Communicator& communicator,
                           const std::function<CollectiveCall()>& call_of,
                           const std::function<void()>& body) {
  const std::optional<Error> mine = error_of(body);
  const CollectiveCall call = call_of();
  const auto hash = static_cast<Index>(call.hash());
  // The maximum of the hashes, and the maximum of their complements. One all-reduce shows whether
  // all hashes are equal.
  const Index words[3] = {mine ? communicator.size() - communicator.rank() : 0, hash, ~hash};
  Index largest[3];
  check_mpi(MPI_Allreduce(words, largest, 3, MPI_INT64_T, MPI_MAX, communicator.get()),
            "MPI_Allreduce");
  if (largest[0] > 0)
    throw_error_of(communicator, communicator.size() - static_cast<int>(largest[0]), mine);
  if (largest[1] == ~largest[2]) return;
  const std::string difference = first_difference(texts_of_all(communicator, call.text()));
  fail(ErrorKind::kArgument, "ranks call a collective operation differently: {}", difference);
}

std::vector<Index> values_of_all(const Communicator& communicator, Checks checks, Index value) {
  if (checks == Checks::kOff) return {};
  std::vector<Index> all(static_cast<std::size_t>(communicator.size()));
  check_mpi(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, communicator.get()),
            "MPI_Allgather");
  return all;
}

}  // namespace impishim::darray
