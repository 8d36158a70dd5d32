// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/host_mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/relay/relay_dial.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest wait for events, and pause before a failed connection is tried again.
constexpr auto kRetryPause = std::chrono::milliseconds(50);
/// Pause before a refused connection is tried again.
constexpr auto kRefusedPause = std::chrono::seconds(1);
/// Time for which one of several addresses may leave an attempt without an answer.
constexpr auto kAddressTime = std::chrono::seconds(2);

/// A connection to another host that is being established.
struct Outgoing {
  std::optional<LinkTerms> terms;  ///< nothing if that host is foreign
  std::optional<LinkConnector> connector;
  Clock::time_point retry_at;
  std::size_t attempts = 0;  ///< the addresses of that host are tried in turn
  Clock::time_point answer_by = Clock::time_point::max();  ///< for TCP's answer to this attempt
  std::string last_error;                                  ///< reason why the latest attempt failed
  bool told = false;       ///< true if the user has been told that it is refused
  bool was_there = false;  ///< true if an impishim host has been seen listening there
};

/// A connection through the relay that is being established.
struct Relayed {
  std::optional<RelayDial> dial;
  std::optional<LinkConnector> connector;  ///< behind the dial, on the host with the lower number
  Clock::time_point retry_at;
  std::string last_error;
};

class Dance {
 public:
  Dance(const JobMap& job, std::int32_t my_host, const HostListener& listener,
        const DanceOptions& options, const ConnectionSink& take)
      : job_(job),
        my_host_(my_host),
        listener_(listener),
        options_(options),
        take_(take),
        acceptor_(listener_.sockets(), acceptor_options()) {}

  Result<void> run() {
    auto checked = check_secret();
    if (!checked) return checked;
    const auto deadline = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    std::size_t awaited = 0;
    for (std::int32_t each = 0; each < host_count(); ++each) {
      if (!is_partner(each)) continue;
      for (std::int32_t lane = 0; lane < lanes_towards(each); ++lane) {
        ++awaited;
        begin_connecting(each, lane);
      }
    }
    while (connected_.size() < awaited) {
      for (auto& [end, connection] : outgoing_) {
        auto started = start_connecting(end, connection);
        if (!started) return started;
      }
      for (auto& [end, connection] : relayed_) start_dialling(end, connection);
      if (Clock::now() >= deadline) return missing();
      auto waited = wait_for_event();
      if (!waited) return waited;
    }
    acceptor_.close_rest();
    return {};
  }

 private:
  [[nodiscard]] const Host& host(std::int32_t number) const { return job_.host(number); }
  /// Returns the number of a host from the number of a lane's end, lane * number of hosts + number.
  [[nodiscard]] std::int32_t host_at(std::int32_t end) const { return end % host_count(); }
  [[nodiscard]] std::int32_t lanes_towards(std::int32_t number) const {
    return lanes_between(job_, my_host_, number);
  }
  [[nodiscard]] std::int32_t host_count() const {
    return static_cast<std::int32_t>(job_.hosts().size());
  }
  /// Returns true if this host is to be connected with that one.
  [[nodiscard]] bool is_partner(std::int32_t number) const {
    return number != my_host_ && (!options_.is_partner || options_.is_partner(number));
  }
  [[nodiscard]] const Client& client_of(std::int32_t number) const {
    return job_.client(host(number).client);
  }

  /// Returns true if that host and this one share a secret.
  [[nodiscard]] bool proves(std::int32_t number) const {
    return options_.secret && (host(number).client == host(my_host_).client ||
                               (client_of(number).impishim && client_of(my_host_).impishim));
  }

  [[nodiscard]] std::optional<LinkTerms> terms_towards(std::int32_t number,
                                                       std::int32_t lane) const {
    if (!proves(number)) return std::nullopt;
    return LinkTerms{*options_.secret, LinkPurpose::kHosts, my_host_ + lane * host_count(), number,
                     number > my_host_};
  }

  /// Prepares a connection to a host. A host with a higher number should connect itself; this one
  /// only helps out, and only if both prove their identity.
  void begin_connecting(std::int32_t number, std::int32_t lane) {
    const bool reversed = number > my_host_;
    if (reversed && !proves(number)) return;
    if (options_.connector && *options_.connector != my_host_) return;
    Outgoing& connection = outgoing_[number + lane * host_count()];
    connection.terms = terms_towards(number, lane);
    const bool may_relay = options_.relay && !options_.connector && proves(number) &&
                           host(number).client != host(my_host_).client;
    if (may_relay)
      relayed_[number + lane * host_count()].retry_at = Clock::now() + options_.relay_delay;
    if (reversed && !options_.connector)
      connection.retry_at = Clock::now() + options_.reversal_delay;
  }

  [[nodiscard]] LinkAcceptor::Options acceptor_options() {
    LinkAcceptor::Options options;
    if (options_.secret)
      options.terms = LinkTerms{*options_.secret, LinkPurpose::kHosts, -1, my_host_};
    options.judge = [this](std::int32_t end, const SocketAddress& from) {
      return judge(end, from);
    };
    options.take = [this](std::int32_t end, Descriptor socket) { hand_on(end, std::move(socket)); };
    // Of the two connections of a pair one is dropped.
    options.may_end_early = [this](const SocketAddress& from) {
      return std::ranges::any_of(job_.hosts(),
                                 [&](const Host& each) { return has_address(each, from.host()); });
    };
    return options;
  }

  /// Fails if impishim systems have no common secret, and warns once that foreign systems do not
  /// prove their identity.
  [[nodiscard]] Result<void> check_secret() const {
    std::set<std::int32_t> foreign;
    for (std::int32_t each = 0; each < host_count(); ++each) {
      if (proves(each)) continue;
      if (client_of(each).impishim && client_of(my_host_).impishim && each != my_host_) {
        return Error{ErrorKind::kConfiguration,
                     fmt::format("{} cannot be connected safely: the systems have not agreed on a "
                                 "secret of the job; use the "
                                 "same impishim in every system and for impirun -server",
                                 host_name(job_, each))};
      }
      if (host(each).client != host(my_host_).client) foreign.insert(host(each).client);
    }
    if (foreign.empty() || client_of(my_host_).first_host != my_host_) return {};
    log_line(
        LogArea::kChannel, LogLevel::kWarn,
        fmt::format(
            "connections with system {}, of another IMPI implementation, are believed by their "
            "source address and not authenticated: use trusted networks",
            fmt::join(foreign, ", ")));
    return {};
  }

  [[nodiscard]] LinkJudgement judge(std::int32_t end, const SocketAddress& from) const {
    using Kind = LinkJudgement::Kind;
    const std::int32_t number = end < 0 ? end : host_at(end);
    const bool proven = number >= 0 && is_partner(number) && proves(number);
    const bool reversed = number < my_host_;
    // A host that has all its connections goes on with their further streams (link_repair.hpp).
    if (proven && end / host_count() >= lanes_towards(number) &&
        end / host_count() < lanes_towards(number) * streams_between(job_, my_host_, number))
      return {Kind::kTooEarly, {}, "it comes before all hosts are connected"};
    if (number < 0 || !is_partner(number) || end / host_count() >= lanes_towards(number) ||
        (reversed && !proven)) {
      return {Kind::kTurnAway,
              {},
              fmt::format("it claims to be host {}, which does not connect here", end)};
    }
    if (!proven && !same_address(from.host(), host(number).address))
      return {Kind::kTurnAway, {}, fmt::format("it claims to be {}", host_name(job_, number))};
    if (connected_.contains(end) || decided_.contains(end)) {
      return {proven ? Kind::kRefuse : Kind::kTurnAway, Refusal::kTaken,
              fmt::format("host {} is connected already", number)};
    }
    return {proven ? Kind::kProve : Kind::kTrust, {}, {}, reversed};
  }

  [[nodiscard]] Result<void> start_connecting(std::int32_t end, Outgoing& connection) {
    const auto now = Clock::now();
    if (connection.connector && !connection.connector->connected() && now >= connection.answer_by)
      retry(host_at(end), connection, {ErrorKind::kConnection, "no answer"});
    if (connection.connector || now < connection.retry_at) return {};
    const Host& there = host(host_at(end));
    const std::int32_t me = my_host_ + end - host_at(end);
    const auto addresses = job_.addresses_from(host(my_host_).client, host_at(end));
    // One of several own addresses may have no way to that address; the kernel knows which has.
    const auto from = !connection.terms || host(my_host_).more_addresses.empty()
                          ? std::optional(listener_.address())
                          : std::nullopt;
    if (addresses.size() > 1) connection.answer_by = now + kAddressTime;
    auto started =
        LinkConnector::start({addresses[connection.attempts++ % addresses.size()], there.port, from,
                              me, connection.terms ? &*connection.terms : nullptr});
    if (started) {
      connection.connector.emplace(std::move(*started));
      return {};
    }
    const Error& error = started.error();
    if (error.kind != ErrorKind::kConnection) return error;
    retry(host_at(end), connection, error);
    return {};
  }

  void start_dialling(std::int32_t end, Relayed& connection) {
    if (connection.dial || connection.connector || Clock::now() < connection.retry_at) return;
    const std::int32_t me = my_host_ + end - host_at(end);
    auto dial = RelayDial::start(options_.relay->address, options_.relay->token, me, end);
    if (!dial) return redial(connection, dial.error());
    connection.dial.emplace(std::move(*dial));
  }

  static void redial(Relayed& connection, const Error& error) {
    connection.last_error = error.text;
    connection.dial.reset();
    connection.connector.reset();
    connection.retry_at = Clock::now() + kRefusedPause;
  }

  void retry(std::int32_t number, Outgoing& connection, const Error& error) {
    // A host that helps out leaves the reports to the other one.
    const bool reversed = number > my_host_;
    const bool refused = error.kind != ErrorKind::kConnection;
    std::string reason = error.text;
    if (connection.connector && connection.connector->connected() && !refused) {
      connection.was_there = connection.terms.has_value();
      reason += " before it had answered: other connections may keep it busy";
    }
    if (reason != connection.last_error)
      log(LogArea::kChannel, LogLevel::kDebug, "{}: {}", host_name(job_, number), reason);
    connection.last_error = std::move(reason);
    connection.connector.reset();
    connection.retry_at =
        Clock::now() + (refused ? Clock::duration(kRefusedPause) : Clock::duration(kRetryPause));
    if (!refused || reversed || std::exchange(connection.told, true)) return;
    log(LogArea::kChannel, LogLevel::kError, "cannot connect to {}: {}; trying again",
        host_name(job_, number), error.text);
  }

  [[nodiscard]] Result<void> wait_for_event() {
    std::vector<pollfd> polled;
    std::vector<std::int32_t> ends;
    for (const auto& [end, connection] : outgoing_) {
      if (!connection.connector) continue;
      polled.push_back(connection.connector->polled());
      ends.push_back(end);
    }
    const std::size_t direct = ends.size();
    for (const auto& [end, connection] : relayed_) {
      if (!connection.dial && !connection.connector) continue;
      polled.push_back(connection.dial ? connection.dial->polled()
                                       : connection.connector->polled());
      ends.push_back(end);
    }
    acceptor_.append_polled(polled);
    const std::size_t watched = polled.size();
    polled.push_back({options_.watched, POLLIN, 0});
    if (poll(polled.data(), polled.size(), static_cast<int>(kRetryPause.count())) < 0) {
      if (errno == EINTR) return {};
      return Error{ErrorKind::kSystem, fmt::format("poll failed: {}", std::strerror(errno))};
    }
    // A decision of a host that has then closed its port must be read before the port is tried.
    acceptor_.handle(std::span(polled).subspan(ends.size(), watched - ends.size()));
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (polled[i].revents == 0 || !outgoing_.contains(ends[i])) continue;
      if (i < direct)
        go_on_connecting(ends[i]);
      else
        go_on_relaying(ends[i]);
    }
    if (!error_ && options_.given_up) error_ = options_.given_up();
    return error_ ? Result<void>(*error_) : Result<void>();
  }

  /// Continues a handshake, and decides if this host must.
  Result<bool> advance(std::int32_t end, LinkConnector& connector) {
    auto done = connector.advance();
    if (!done || !connector.must_decide()) return done;
    if (!decided_.insert(end).second)
      return Error{ErrorKind::kConnection, "another connection to this host is kept"};
    connector.keep();
    done = connector.advance();
    if (!done) decided_.erase(end);
    return done;
  }

  void go_on_relaying(std::int32_t end) {
    Relayed& connection = relayed_.at(end);
    if (connection.connector) {
      auto done = advance(end, *connection.connector);
      if (!done) return redial(connection, done.error());
      if (!*done) return;
      warn_of_relay(host_at(end));
      return hand_on(end, connection.connector->take());
    }
    auto done = connection.dial->advance();
    if (!done) return redial(connection, done.error());
    if (!*done) return;
    Descriptor socket = connection.dial->take();
    connection.dial.reset();
    connection.retry_at = Clock::now() + LinkAcceptor::kIntroductionTime;
    if (host_at(end) < my_host_) return acceptor_.adopt(std::move(socket), options_.relay->address);
    auto connector = LinkConnector::over(std::move(socket), *outgoing_.at(end).terms);
    if (!connector) return redial(connection, connector.error());
    connection.connector.emplace(std::move(*connector));
    go_on_relaying(end);  // its hello is to be sent
  }

  void warn_of_relay(std::int32_t number) {
    if (client_of(my_host_).first_host != my_host_ || std::exchange(told_of_relay_, true)) return;
    log_line(LogArea::kChannel, LogLevel::kWarn,
             fmt::format("systems {} and {} reach each other only through the relay of the "
                         "rendezvous server, which costs speed: open a port at one of the two "
                         "sites (IMPISHIM_PORT)",
                         host(my_host_).client, host(number).client));
  }

  void go_on_connecting(std::int32_t end) {
    Outgoing& connection = outgoing_.at(end);
    const std::int32_t number = host_at(end);
    auto done = advance(end, *connection.connector);
    if (!done && is_dropped(end, *connection.connector)) {
      connection.last_error = done.error().text;
      connection.connector.reset();
      connection.retry_at = Clock::now() + kRefusedPause;
      return;
    }
    if (!done && connection.was_there && connection.connector->port_is_closed()) {
      // A host of this library listens from before its announcement until all hosts are connected.
      error_ = Error{
          ErrorKind::kConnection,
          fmt::format("{} has ended before all hosts were connected", host_name(job_, number))};
      return;
    }
    if (!done) return retry(number, connection, done.error());
    if (!*done) return;
    hand_on(end, connection.connector->take());
  }

  /// Returns true if a connection has failed because another one of the same pair is being
  /// completed.
  [[nodiscard]] bool is_dropped(std::int32_t end, const LinkConnector& connector) const {
    return acceptor_.is_greeting(end) || connector.refusal() == Refusal::kTaken;
  }

  void hand_on(std::int32_t end, Descriptor socket) {
    connected_.insert(end);
    outgoing_.erase(end);
    relayed_.erase(end);
    if (error_) return;
    auto taken = take_(host_at(end), end / host_count(), std::move(socket));
    if (!taken) error_ = taken.error();
  }

  /// Returns the end of the first lane to a host that is not connected, or nothing if all are.
  [[nodiscard]] std::optional<std::int32_t> missing_end(std::int32_t number) const {
    if (!is_partner(number)) return std::nullopt;
    for (std::int32_t lane = 0; lane < lanes_towards(number); ++lane) {
      const std::int32_t end = number + lane * host_count();
      if (connected_.count(end) == 0) return end;
    }
    return std::nullopt;
  }

  [[nodiscard]] Error missing() {
    acceptor_.close_rest();
    std::string names;
    for (std::int32_t each = 0; each < host_count(); ++each) {
      const auto end = missing_end(each);
      if (!end) continue;
      names += (names.empty() ? "" : ", ") + host_name(job_, each);
      const auto tried = outgoing_.find(*end);
      std::string why = acceptor_.turned_away(*end);
      if (tried != outgoing_.end() && !tried->second.last_error.empty())
        why += (why.empty() ? "" : "; from here: ") + tried->second.last_error;
      const auto relayed = relayed_.find(*end);
      if (relayed != relayed_.end() && !relayed->second.last_error.empty())
        why += (why.empty() ? "" : "; ") + relayed->second.last_error;
      if (!why.empty()) names += ": " + why;
    }
    const std::string trouble =
        acceptor_.trouble().empty() ? "" : fmt::format("; {}", acceptor_.trouble());
    return Error{ErrorKind::kTimeout, fmt::format("no connection with {} in time: is its address "
                                                  "reachable from here, and its port open?{}",
                                                  names, trouble)};
  }

  const JobMap& job_;
  std::int32_t my_host_;
  const HostListener& listener_;
  const DanceOptions& options_;
  const ConnectionSink& take_;
  LinkAcceptor acceptor_;
  std::map<std::int32_t, Outgoing> outgoing_;  ///< by the end of the lane, as host_at() takes it
  std::map<std::int32_t, Relayed> relayed_;    ///< likewise
  bool told_of_relay_ = false;
  std::set<std::int32_t> connected_;  ///< ends of lanes
  /// Ends of lanes whose reversed connection this host keeps. Of the two connections of a pair, the
  /// host with the lower number completes only one.
  std::set<std::int32_t> decided_;
  std::optional<Error> error_;  ///< set to end the dance
};

}  // namespace

Result<void> connect_hosts(const JobMap& job, std::int32_t my_host, const HostListener& listener,
                           const DanceOptions& options, const ConnectionSink& take) {
  return Dance(job, my_host, listener, options, take).run();
}

std::string host_name(const JobMap& job, std::int32_t host) {
  const Host& it = job.host(host);
  const std::string gateway =
      it.gateway < 0 ? "" : fmt::format(", gateway rank {}", it.first_proc + it.gateway);
  return fmt::format("host {} (system {}, {} port {}{})", host, it.client, address_text(it.address),
                     it.port, gateway);
}

}  // namespace impishim::wire
