// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/rank_label.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/process/process.hpp"
#include "wire/startup/rank_pipe.hpp"

namespace impishim::launch {

RankLabel::RankLabel(int system, int first_rank, int native, Descriptor told)
    : system_(system),
      native_(native),
      rank_(first_rank >= 0 && native >= 0 ? first_rank + native : -1),
      told_(std::move(told)) {
  if (told_.valid()) fcntl(told_.get(), F_SETFL, O_NONBLOCK);
}

/// Reads the joined rank, a decimal number and an end of line.
void RankLabel::read_rank() {
  std::array<char, 16> buffer{};
  const auto size = read(told_.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) begun_.append(buffer.data(), static_cast<std::size_t>(size));
  int rank = -1;
  const auto parsed = std::from_chars(begun_.data(), begun_.data() + begun_.size(), rank);
  const bool whole = parsed.ec == std::errc() && parsed.ptr < begun_.data() + begun_.size();
  if (whole && rank >= 0) rank_ = rank;
  if (whole || size <= 0) told_ = Descriptor();
}

std::string RankLabel::text() {
  if (told_.valid()) read_rank();
  if (rank_ >= 0) return fmt::format("[{}:{}] ", system_, rank_);
  if (native_ >= 0) return fmt::format("[{}:+{}] ", system_, native_);
  return fmt::format("[{}] ", system_);
}

Descriptor open_rank_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Descriptor();
  Descriptor reader(ends[0]);
  const Descriptor writer(ends[1]);
  struct stat status {};
  const int kept = fcntl(writer.get(), F_DUPFD, kOutOfTheWay);
  if (kept < 0 || fstat(kept, &status) != 0) return Descriptor();
  setenv(wire::kRankPipeVariable,
         fmt::format("{}:{}:{}", kept, status.st_dev, status.st_ino).c_str(), 1);
  return reader;
}

}  // namespace impishim::launch
