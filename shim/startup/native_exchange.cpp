// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/native_exchange.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shim/vendor.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

void sleeping_barrier(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Ibarrier(comm, &request);
  wait_politely(request);
}

void wait_politely(MPI_Request request) {
  constexpr int kYields = 100;
  constexpr long kLongestNs = 200'000;
  timespec pause{0, 50'000};  // the vendor's progress has no event to await
  int done = 0;
  for (int polls = 0; vendor::Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0;
       ++polls) {
    if (polls < kYields) {
      sched_yield();
    } else {
      nanosleep(&pause, nullptr);
      pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestNs);
    }
  }
}

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  int size = 0;
  vendor::Comm_size(comm, &size);
  if (size == 1) {
    vendor::Comm_dup(comm, &made);
    return made;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Comm_idup(comm, &made, &request);
  wait_politely(request);
  return made;
}

std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, int root,
                                                 std::span<const std::byte> mine) {
  int rank = 0;
  int size = 0;
  vendor::Comm_rank(comm, &rank);
  vendor::Comm_size(comm, &size);
  const int my_size = static_cast<int>(mine.size());
  std::vector<int> sizes(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Igather(&my_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, root, comm, &request);
  wait_politely(request);
  std::vector<int> offsets(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), 0);
  std::vector<std::byte> all(
      rank == root ? static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), 0)) : 0);
  vendor::Igatherv(mine.data(), my_size, MPI_BYTE, all.data(), sizes.data(), offsets.data(),
                   MPI_BYTE, root, comm, &request);
  wait_politely(request);
  std::vector<std::vector<std::byte>> parts;
  if (rank != root) return parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto begin = all.begin() + offsets[i];
    parts.emplace_back(begin, begin + sizes[i]);
  }
  return parts;
}

std::vector<std::byte> broadcast_bytes(MPI_Comm comm, int root, std::vector<std::byte> bytes) {
  int size = static_cast<int>(bytes.size());
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Ibcast(&size, 1, MPI_INT, root, comm, &request);
  wait_politely(request);
  bytes.resize(static_cast<std::size_t>(size));
  vendor::Ibcast(bytes.data(), size, MPI_BYTE, root, comm, &request);
  wait_politely(request);
  return bytes;
}

std::optional<Error> first_error(MPI_Comm comm, const std::optional<Error>& mine) {
  int rank = 0;
  int size = 0;
  vendor::Comm_rank(comm, &rank);
  vendor::Comm_size(comm, &size);
  const int none = 2 * size;
  const int candidate = !mine ? none : mine->kind == ErrorKind::kAborted ? size + rank : rank;
  int lowest = none;
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Iallreduce(&candidate, &lowest, 1, MPI_INT, MPI_MIN, comm, &request);
  wait_politely(request);
  if (lowest == none) return std::nullopt;
  lowest %= size;
  std::vector<std::byte> bytes;
  if (rank == lowest) {
    bytes.push_back(static_cast<std::byte>(mine->kind));
    const auto text = std::as_bytes(std::span(mine->text));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  bytes = broadcast_bytes(comm, lowest, std::move(bytes));
  return Error{static_cast<ErrorKind>(bytes.front()),
               std::string(reinterpret_cast<const char*>(bytes.data() + 1), bytes.size() - 1)};
}

Result<void> same_as_first(MPI_Comm comm, const char* name, const std::string& value) {
  int rank = 0;
  vendor::Comm_rank(comm, &rank);
  const auto mine = std::as_bytes(std::span(value));
  const auto bytes = broadcast_bytes(comm, 0, {mine.begin(), mine.end()});
  const std::string first(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (first == value) return {};
  const auto told = [](const std::string& text) {
    return text.empty() ? std::string("not set") : text;
  };
  return Error{ErrorKind::kConfiguration,
               fmt::format("{} is {} on rank 0 of this system and {} on its rank {}: give it the "
                           "same value on all processes of a "
                           "system",
                           name, told(first), told(value), rank)};
}

}  // namespace impishim::shim
