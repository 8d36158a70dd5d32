// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/output_forwarder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

/// A longer line is passed on in parts. It is probably not text, and memory must be bounded.
constexpr std::size_t kMaxLine = std::size_t{1} << 20;

}  // namespace

void OutputForwarder::write_all(int target, std::string_view text) {
  if (target == STDOUT_FILENO && failure_) return;
  const int failure = impishim::write_all(target, text);
  // A failed write to standard error cannot be reported anywhere.
  if (failure != 0 && target == STDOUT_FILENO) failure_ = failure;
}

/// Passes on lines, of which only the last one may be incomplete.
void OutputForwarder::pass_on(Pipe& pipe, std::string_view lines) {
  if (!pipe.filter && !pipe.prefix) return write_all(pipe.target, lines);
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const std::size_t kept = pipe.filter ? pipe.filter(line) : line.size();
    std::string text(kept < line.size() ? line.substr(0, kept) : lines.substr(0, line.size() + 1));
    if (pipe.prefix && !pipe.inside_line && !text.empty()) text.insert(0, pipe.prefix());
    if (!text.empty()) pipe.inside_line = text.back() != '\n';
    write_all(pipe.target, text);
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
}

Result<Descriptor> OutputForwarder::open(int target, LineFilter filter, Prefix prefix) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make a pipe: {}", std::strerror(errno))};
  }
  add(Descriptor(ends[0]), target, std::move(prefix));
  pipes_.back().filter = std::move(filter);
  return Descriptor(ends[1]);
}

void OutputForwarder::add(Descriptor source, int target, Prefix prefix) {
  fcntl(source.get(), F_SETFL, O_NONBLOCK);
  pipes_.push_back({std::move(source), target, {}, {}, std::move(prefix)});
}

void OutputForwarder::add_to(std::vector<pollfd>& polled) const {
  for (const Pipe& pipe : pipes_) {
    if (pipe.source.valid()) polled.push_back({pipe.source.get(), POLLIN, 0});
  }
}

bool OutputForwarder::holds_back() const {
  return std::any_of(pipes_.begin(), pipes_.end(), [](const Pipe& pipe) {
    return !pipe.begun.empty() && isatty(pipe.target) != 0;
  });
}

void OutputForwarder::read_all(Pipe& pipe) {
  std::array<char, 65536> buffer{};
  while (pipe.source.valid()) {
    const auto size = read(pipe.source.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {  // a terminal ends with EIO
      pipe.source = Descriptor();
      pass_on(pipe, pipe.begun);
      pipe.begun.clear();
      return;
    }
    pipe.begun.append(buffer.data(), static_cast<std::size_t>(size));
    const auto end = pipe.begun.rfind('\n');
    if (end == std::string::npos) {
      if (pipe.begun.size() > kMaxLine) flush(pipe);
      continue;
    }
    pass_on(pipe, std::string_view(pipe.begun).substr(0, end + 1));
    pipe.begun.erase(0, end + 1);
  }
}

void OutputForwarder::forward() {
  for (Pipe& pipe : pipes_) read_all(pipe);
  std::erase_if(pipes_, [](const Pipe& pipe) { return !pipe.source.valid(); });
}

void OutputForwarder::flush() {
  for (Pipe& pipe : pipes_) flush(pipe);
}

void OutputForwarder::flush(Pipe& pipe) {
  if (pipe.prefix) {
    pass_on(pipe, pipe.begun);
  } else {
    write_all(pipe.target, pipe.begun);
  }
  pipe.begun.clear();
}

}  // namespace impishim::launch
