#include "darray/schedule/agree.hpp"

#include <fmt/core.h>

#include <exception>
#include <limits>
#include <optional>
#include <string>

namespace impishim::darray {
namespace {

// The error of the lowest rank that has one, if any: its kind and text travel from there.
void throw_first_error(const Communicator& communicator, const std::optional<Error>& mine) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  const int failed = mine ? communicator.rank() : kNobody;
  int first = kNobody;
  check_mpi(MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, communicator.get()), "MPI_Allreduce");
  if (first == kNobody) return;
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

}  // namespace

void agreed(const Communicator& communicator, Checks checks, const std::function<void()>& body) {
  if (checks == Checks::kOff) {
    body();
    return;
  }
  std::optional<Error> mine;
  try {
    body();
  } catch (const Error& error) {
    mine = error;
  } catch (const std::exception& error) {
    mine.emplace(ErrorKind::kUnsupported, error.what());
  } catch (...) {
    mine.emplace(ErrorKind::kUnsupported, "an exception of unknown type");
  }
  throw_first_error(communicator, mine);
}

std::vector<Index> values_of_all(const Communicator& communicator, Checks checks, Index value) {
  if (checks == Checks::kOff) return {};
  std::vector<Index> all(static_cast<std::size_t>(communicator.size()));
  check_mpi(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, communicator.get()), "MPI_Allgather");
  return all;
}

void agree_on_equal(const Communicator& communicator, Checks checks, const char* what, Index value) {
  if (checks == Checks::kOff) return;
  // The largest of the values and of their complements: one message tells whether they are all the same.
  const Index mine[2] = {value, ~value};
  Index largest[2];
  check_mpi(MPI_Allreduce(mine, largest, 2, MPI_INT64_T, MPI_MAX, communicator.get()), "MPI_Allreduce");
  if (largest[0] != ~largest[1]) {
    fail(ErrorKind::kArgument, "{} differs between ranks: from {} to {}", what, ~largest[1], largest[0]);
  }
}

}  // namespace impishim::darray
