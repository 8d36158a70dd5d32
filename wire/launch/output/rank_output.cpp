// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/rank_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output/rank_label.hpp"
#include "wire/launch/output/rank_request.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

constexpr std::array<int, 2> kTargets = {STDOUT_FILENO, STDERR_FILENO};

/// Who hands over its outputs. Both ends are this program.
struct Identity {
  int system = 0;
  int first_rank = -1;
  int native = -1;
};

/// The descriptors of a message: the sources of kTargets, and the pipe for the joined rank.
using Passed = std::array<int, kTargets.size() + 1>;

struct Message {
  msghdr header{};
  iovec part{};
  Identity identity;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Passed))> control{};

  Message() {
    part = {&identity, sizeof(identity)};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

std::optional<sockaddr_un> socket_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return std::nullopt;
  std::copy(path.begin(), path.end(), std::begin(name.sun_path));
  return name;
}

struct Ends {
  Descriptor source;
  Descriptor sink;
};

std::optional<Ends> make_stream(bool terminal) {
  std::array<int, 2> ends{-1, -1};
  if (!terminal) {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
    return Ends{Descriptor(ends[0]), Descriptor(ends[1])};
  }
  termios raw{};
  cfmakeraw(&raw);
  if (openpty(&ends[0], &ends[1], nullptr, &raw, nullptr) != 0) return std::nullopt;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return Ends{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

Result<RankOutput> RankOutput::open(const std::filesystem::path& path) {
  const auto name = socket_name(path);
  if (!name)
    return Error{ErrorKind::kSystem,
                 fmt::format("{} is too long for a socket's name", path.string())};
  RankOutput output;
  output.socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(output.socket_.get(), reinterpret_cast<const sockaddr*>(&*name), sizeof(*name)) != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot make the socket {}: {}", path.string(), std::strerror(errno))};
  }
  return output;
}

std::vector<RankOutput::Stream> RankOutput::take() const {
  std::vector<Stream> streams;
  for (;;) {
    Message message;
    const ssize_t size = recvmsg(socket_.get(), &message.header, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return streams;
    const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
    if (control == nullptr || control->cmsg_type != SCM_RIGHTS) continue;
    Passed passed{-1, -1, -1};
    std::memcpy(passed.data(), CMSG_DATA(control),
                std::min(sizeof(passed), control->cmsg_len - CMSG_LEN(0)));
    const Identity& from = message.identity;
    const auto label = std::make_shared<RankLabel>(from.system, from.first_rank, from.native,
                                                   Descriptor(passed.back()));
    for (std::size_t i = 0; i < kTargets.size(); ++i) {
      if (passed.at(i) >= 0) streams.push_back({Descriptor(passed.at(i)), kTargets.at(i), label});
    }
  }
}

bool hand_over_output(const RankOutputRequest& request) {
  const auto name = socket_name(request.socket);
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!name || connect(socket.get(), reinterpret_cast<const sockaddr*>(&*name), sizeof(*name)) != 0)
    return false;
  // impirun reads no rank for which it has no use.
  const Descriptor rank = request.label ? open_rank_pipe() : Descriptor();
  Passed passed{};
  passed.back() = rank.get();
  std::array<std::optional<Ends>, kTargets.size()> streams;
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    streams.at(i) = make_stream(isatty(kTargets.at(i)) != 0);
    if (!streams.at(i)) return false;
    passed.at(i) = streams.at(i)->source.get();
  }
  // Keeps one of the old outputs open: Open MPI closes the standard input of a process that has
  // closed both of its outputs.
  if (fcntl(STDERR_FILENO, F_DUPFD, kOutOfTheWay) < 0) return false;
  Message message;
  message.identity = {request.system, request.first_rank, native_rank()};
  const std::size_t size = sizeof(int) * (kTargets.size() + (rank.valid() ? 1 : 0));
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(size);
  message.header.msg_controllen = CMSG_SPACE(size);
  std::memcpy(CMSG_DATA(control), passed.data(), size);
  if (sendmsg(socket.get(), &message.header, MSG_NOSIGNAL) < 0) return false;
  for (std::size_t i = 0; i < kTargets.size(); ++i) dup2(streams.at(i)->sink.get(), kTargets.at(i));
  return true;
}

}  // namespace impishim::launch
