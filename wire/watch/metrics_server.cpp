// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/metrics_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/address.hpp"
#include "wire/watch/http_request.hpp"
#include "wire/watch/metrics_text.hpp"

namespace impishim::wire {
namespace {

constexpr int kFound = 200;
constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;
constexpr const char* kPlain = "text/plain; charset=utf-8";

std::string answer_to(const HttpRequest& request, const MetricsServer::Ask& ask) {
  const bool head_only = request.head_only;
  if (request.status != kFound)
    return http_answer(request.status, kPlain, "the request is not understood\n", head_only);
  if (request.path != "/metrics")
    return http_answer(kNotFound, kPlain, "the metrics are at /metrics\n", head_only);
  auto state = ask();
  if (!state) return http_answer(kUnavailable, kPlain, state.error().text + "\n", head_only);
  return http_answer(kFound, kMetricsType, metrics_text(*state), head_only);
}

}  // namespace

Result<MetricsPlace> MetricsPlace::parse(const std::string& text) {
  MetricsPlace place;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    auto parts = split_address_and_port(text);
    if (parts) return MetricsPlace{parts->first, parts->second};
  } else {
    place.port = parse_number<std::uint16_t>(text.c_str()).value_or(0);
    if (place.port != 0) return place;
  }
  return Error{ErrorKind::kConfiguration,
               fmt::format("IMPISHIM_METRICS={}: a port from 1 to 65535 is needed, or address:port",
                           printable(text))};
}

Result<MetricsServer> MetricsServer::open(const MetricsPlace& place) {
  auto host = parse_address(place.address);
  if (!host) return host.error();
  SocketAddress here = SocketAddress::of(*host, place.port);
  MetricsServer server;
  server.listener_ = listening_at(here);
  if (!server.listener_.valid()) {
    return Error{ErrorKind::kSystem, fmt::format("cannot serve metrics at {} port {}: {}",
                                                 place.address, place.port, std::strerror(errno))};
  }
  const bool colons = place.address.find(':') != std::string::npos;
  server.url_ = fmt::format("http://{}{}{}:{}/metrics", colons ? "[" : "", place.address,
                            colons ? "]" : "", here.port());
  return server;
}

void MetricsServer::accept_one() {
  Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {  // otherwise the connection has ended already
    if (AcceptRest::is_lack(errno)) rest_.begin(errno, "metrics (IMPISHIM_METRICS): ");
    return;
  }
  rest_.accepted();
  const int number = socket.get();
  connections_[number] = {std::move(socket), Clock::now() + kTimeLimit, {}, {}};
}

bool MetricsServer::read_from(Connection& connection, const Ask& ask) {
  std::array<char, 4096> bytes{};
  const ssize_t size = recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) return would_block(errno);
  if (size == 0) return false;
  connection.input.append(bytes.data(), static_cast<std::size_t>(size));
  const auto request = parse_http_request(connection.input);
  if (!request) return true;
  connection.output = answer_to(*request, ask);
  return write_to(connection);
}

bool MetricsServer::write_to(Connection& connection) {
  while (!connection.output.empty()) {
    const ssize_t size = send(connection.socket.get(), connection.output.data(),
                              connection.output.size(), MSG_NOSIGNAL);
    if (size < 0) return would_block(errno);
    connection.output.erase(0, static_cast<std::size_t>(size));
  }
  shutdown(connection.socket.get(), SHUT_WR);
  return false;
}

/// Returns how long poll(2) may wait: until connections are too old, or until the rest is over.
int MetricsServer::poll_timeout() const {
  constexpr int kAgeCheckMs = 1000;
  if (rest_.rests()) return static_cast<int>(AcceptRest::kRest.count());
  return connections_.empty() ? -1 : kAgeCheckMs;
}

Result<void> MetricsServer::serve(const Ask& ask, int stop) {
  for (;;) {
    const bool room = connections_.size() < kMostConnections && !rest_.rests();
    std::vector<pollfd> ready = {{stop, POLLIN, 0},
                                 {listener_.get(), static_cast<short>(room ? POLLIN : 0), 0}};
    for (const auto& [number, connection] : connections_)
      ready.push_back(
          {number, static_cast<short>(connection.output.empty() ? POLLIN : POLLOUT), 0});
    if (poll(ready.data(), ready.size(), poll_timeout()) < 0 && errno != EINTR)
      return Error{ErrorKind::kSystem, fmt::format("poll: {}", std::strerror(errno))};
    if (ready[0].revents != 0) return {};
    if ((ready[1].revents & POLLIN) != 0) accept_one();
    for (std::size_t i = 2; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      Connection& connection = connections_.at(ready[i].fd);
      const bool stays =
          connection.output.empty() ? read_from(connection, ask) : write_to(connection);
      if (!stays) connections_.erase(ready[i].fd);
    }
    std::erase_if(connections_,
                  [now = Clock::now()](const auto& each) { return each.second.until <= now; });
  }
}

}  // namespace impishim::wire
