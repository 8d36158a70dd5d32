// SPDX-License-Identifier: Apache-2.0
#include "shim/io/file_agreement.hpp"

#include <mpi.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/hints.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_error.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/bytes.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_probe.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kOpen = "MPI_File_open";
constexpr std::int64_t kNoSystem = -1;

/// Returns the system that the hints of rank 0 ask for, or its own: an index in `masters`.
std::int64_t home_in(const Job& job, const Communicator& communicator, MPI_Info hints) {
  const std::optional<std::string> text = hint(hints, "impishim_file_system");
  if (!text) return communicator.master_of.front();
  const char* const end = text->data() + text->size();
  std::int32_t number = 0;
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return kNoSystem;
  for (std::size_t i = 0; i < communicator.masters.size(); ++i) {
    const std::int32_t master = communicator.masters[i];
    if (job.map.proc(communicator.world_rank(master)).client == number)
      return static_cast<std::int64_t>(i);
  }
  return kNoSystem;
}

/// Returns the bits of an access mode in an order of our own: MPI libraries number them
/// differently.
std::int64_t mode_bits(int mode) {
  constexpr std::array kModes{MPI_MODE_RDONLY, MPI_MODE_RDWR,        MPI_MODE_WRONLY,
                              MPI_MODE_CREATE, MPI_MODE_EXCL,        MPI_MODE_DELETE_ON_CLOSE,
                              MPI_MODE_APPEND, MPI_MODE_UNIQUE_OPEN, MPI_MODE_SEQUENTIAL};
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < kModes.size(); ++i) bits |= (mode & kModes[i]) != 0 ? 1LL << i : 0;
  return bits;
}

int greatest(Job& job, Communicator& communicator, std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> mine = values;
  return run_collective(job, communicator, kOpen, [&](Collective& call) {
    return collective_arguments::Allreduce(call, mine.data(), values.data(),
                                           static_cast<MPI_Count>(values.size()), MPI_INT64_T,
                                           MPI_MAX);
  });
}

}  // namespace

std::int32_t own_system(const Communicator& communicator) {
  return communicator.master_of[static_cast<std::size_t>(communicator.rank)];
}

std::vector<std::int32_t> ranks_of_system(const Communicator& communicator, std::int32_t system) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < communicator.size(); ++rank) {
    if (communicator.master_of[static_cast<std::size_t>(rank)] == system) ranks.push_back(rank);
  }
  return ranks;
}

bool may_share(MPI_Info hints) { return hint(hints, "impishim_file_sharing") != "never"; }

int agree_on_home(Job& job, Communicator& communicator, int mode, MPI_Info hints,
                  std::int32_t& home) {
  constexpr std::int64_t kNothing = INT64_MIN;
  std::vector<std::int64_t> values{
      mode_bits(mode), -mode_bits(mode),
      communicator.rank == 0 ? home_in(job, communicator, hints) : kNothing};
  const int code = greatest(job, communicator, values);
  if (code != MPI_SUCCESS)
    return raise_on_file(MPI_FILE_NULL, vendor_error_class(code), kOpen,
                         "the processes could not agree");
  if (values[0] != -values[1])
    return raise_on_file(MPI_FILE_NULL, MPI_ERR_NOT_SAME, kOpen,
                         "the access modes of the processes differ");
  home = static_cast<std::int32_t>(values[2]);
  if (home >= 0) return MPI_SUCCESS;
  return raise_on_file(MPI_FILE_NULL, MPI_ERR_ARG, kOpen,
                       "the hint impishim_file_system of rank 0 is not the number of a system with "
                       "a process in the communicator");
}

int share_news(Job& job, Communicator& communicator, std::int32_t from, HomeNews& news) {
  constexpr std::size_t kRandom = sizeof(news.token.random);
  std::array<std::byte, 2 + kRandom + sizeof(news.token.inode)> message{};
  if (communicator.rank == from) {
    message[0] = static_cast<std::byte>(news.status);
    message[1] = static_cast<std::byte>(news.token.made ? 1 : 0);
    std::memcpy(message.data() + 2, news.token.random.data(), kRandom);
    store_big_endian(message.data() + 2 + kRandom, news.token.inode);
  }
  const int code = run_collective(job, communicator, kOpen, [&](Collective& call) {
    return collective_arguments::Bcast(call, message.data(), static_cast<MPI_Count>(message.size()),
                                       MPI_BYTE, from);
  });
  if (code != MPI_SUCCESS) return code;
  news.status = static_cast<wire::FileStatus>(message[0]);
  news.token.made = message[1] != std::byte{0};
  std::memcpy(news.token.random.data(), message.data() + 2, kRandom);
  news.token.inode = load_big_endian<std::uint64_t>(message.data() + 2 + kRandom);
  return MPI_SUCCESS;
}

std::vector<int> agree_on_sight(Job& job, Communicator& communicator, bool here, int& code) {
  std::vector<std::int64_t> blind(communicator.masters.size());
  blind[static_cast<std::size_t>(own_system(communicator))] = here ? 0 : 1;
  code = greatest(job, communicator, blind);
  std::vector<int> sees;
  sees.reserve(blind.size());
  for (const std::int64_t each : blind) sees.push_back(each == 0 ? 1 : 0);
  return sees;
}

int agree_on_status(Job& job, Communicator& communicator, wire::FileStatus& status) {
  std::vector<std::int64_t> values{static_cast<std::int64_t>(status)};
  const int code = greatest(job, communicator, values);
  if (status == wire::FileStatus::kDone) status = static_cast<wire::FileStatus>(values[0]);
  return code;
}

int finish_writes_of_all(Job& job, File& file, wire::FileStatus& status) {
  status = file.shipped == nullptr ? wire::FileStatus::kDone
                                   : file.shipped->finish_writes(wire::FileRequestKind::kFlush);
  return agree_on_status(job, file.communicator, status);
}

}  // namespace impishim::shim
