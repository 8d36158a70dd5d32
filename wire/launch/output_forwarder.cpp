#include "wire/launch/output_forwarder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace impishim::launch {
namespace {

/// Nobody is left to tell if nobody reads our output any more; the programs go on, as with any launcher.
void write_all(int target, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(target, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // The other side has made our output non-blocking.
      pollfd room{target, POLLOUT, 0};
      poll(&room, 1, -1);
      continue;
    }
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Result<Descriptor> OutputForwarder::open(int target) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  }
  pipes_.push_back({Descriptor(ends[0]), target, {}});
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Descriptor(ends[1]);
}

void OutputForwarder::add_to(std::vector<pollfd>& polled) const {
  for (const Pipe& pipe : pipes_) {
    if (pipe.source.valid()) polled.push_back({pipe.source.get(), POLLIN, 0});
  }
}

bool OutputForwarder::holds_back() const {
  return std::any_of(pipes_.begin(), pipes_.end(), [](const Pipe& pipe) { return !pipe.begun.empty(); });
}

void OutputForwarder::read_all(Pipe& pipe) {
  std::array<char, 65536> buffer{};
  while (pipe.source.valid()) {
    const auto size = read(pipe.source.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      pipe.source = Descriptor();
      write_all(pipe.target, pipe.begun);
      pipe.begun.clear();
      return;
    }
    pipe.begun.append(buffer.data(), static_cast<std::size_t>(size));
    const auto end = pipe.begun.rfind('\n');
    if (end == std::string::npos) continue;
    write_all(pipe.target, std::string_view(pipe.begun).substr(0, end + 1));
    pipe.begun.erase(0, end + 1);
  }
}

void OutputForwarder::forward() {
  for (Pipe& pipe : pipes_) read_all(pipe);
}

void OutputForwarder::flush() {
  for (Pipe& pipe : pipes_) {
    write_all(pipe.target, pipe.begun);
    pipe.begun.clear();
  }
}

}  // namespace impishim::launch
