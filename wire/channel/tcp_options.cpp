// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/tcp_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/keepalive.hpp"

namespace impishim::wire {
namespace {

void set_option(int socket, int level, int name, int value) {
  // None of these options is needed for correctness. Socket pairs in tests do not have them.
  setsockopt(socket, level, name, &value, sizeof(value));
}

/// Returns 0, or the kernel's error.
int use_congestion_control(int socket, const std::string& name) {
  return setsockopt(socket, SOL_TCP, TCP_CONGESTION, name.data(),
                    static_cast<unsigned>(name.size())) == 0
             ? 0
             : errno;
}

/// Returns a line of /proc/sys/net/ipv4, or an empty text.
std::string kernel_setting(const std::string& name) {
  std::ifstream file("/proc/sys/net/ipv4/" + name);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Result<void> check_congestion_control(const std::string& variable, const std::string& name) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return Error{ErrorKind::kSystem, fmt::format("{}={}: no socket to try it with: {}", variable,
                                                 name, std::strerror(errno))};
  }
  const int error = use_congestion_control(socket.get(), name);
  if (error == 0) return {};
  const std::string cure =
      error == EPERM
          ? fmt::format("this user may use: {} (net.ipv4.tcp_allowed_congestion_control)",
                        kernel_setting("tcp_allowed_congestion_control"))
          : fmt::format("this machine's kernel has: {} (others may need modprobe tcp_{})",
                        kernel_setting("tcp_available_congestion_control"), name);
  return Error{ErrorKind::kConfiguration,
               fmt::format("{}={}: {}; {}", variable, name, std::strerror(error), cure)};
}

void set_tcp_options(int socket, const TcpOptions& options) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  set_option(socket, SOL_TCP, TCP_NODELAY, 1);
  // A name that check_congestion_control() has accepted works.
  if (!options.congestion_control.empty())
    use_congestion_control(socket, options.congestion_control);
  if (options.most_unsent > 0) set_option(socket, SOL_TCP, TCP_NOTSENT_LOWAT, options.most_unsent);
  // The kernel sends no probes while data is on its way: see Channel::peer_silence().
  const int interval = static_cast<int>(options.heartbeat.interval.count());
  set_keepalive(socket, {.idle_s = 3 * interval, .interval_s = interval, .probes = 3});
}

}  // namespace impishim::wire
