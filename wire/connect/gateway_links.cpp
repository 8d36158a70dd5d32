// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/gateway_links.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/host_channels.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/packet/packet.hpp"
#include "wire/tls/channel_key.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// A machine with more addresses offers only the first ones.
constexpr std::size_t kMaxAddresses = 16;
/// Longest time between two calls of given_up, which tells a gateway that a proc will not come.
constexpr auto kAskingPause = std::chrono::milliseconds(100);

Error system_error(const std::string& what) {
  return {ErrorKind::kSystem,
          fmt::format("links to the gateway: {}: {}", what, std::strerror(errno))};
}

int ms_until(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// Waits for events, one millisecond longer than is left, because the remaining time is rounded
/// down.
Result<void> wait_for_events(std::vector<pollfd>& polled, Clock::time_point deadline) {
  if (poll(polled.data(), polled.size(), ms_until(deadline) + 1) >= 0) return {};
  if (errno != EINTR) return system_error("poll failed");
  for (pollfd& each : polled) each.revents = 0;
  return {};
}

/// Returns the terms of the handshake. The gateway needs no number of its own, because its secret
/// is used by this gateway only.
LinkTerms terms_of(const GatewayOffer& offer, std::int32_t index) {
  return {offer.secret, LinkPurpose::kGateway, index, 0};
}

/// A gateway that waits for its procs.
class GatewayAcceptor {
 public:
  GatewayAcceptor(const Descriptor& listener, const GatewayOffer& offer,
                  const std::vector<std::int32_t>& indices, const ProcessNamer& process)
      : indices_(indices), process_(process), acceptor_({&listener, 1}, acceptor_options(offer)) {}

  Result<std::vector<Descriptor>> run(Clock::time_point deadline,
                                      const std::function<std::optional<Error>()>& given_up) {
    while (arrived_.size() < indices_.size()) {
      if (auto error = given_up()) return *error;
      if (Clock::now() >= deadline) return missing();
      std::vector<pollfd> polled;
      acceptor_.append_polled(polled);
      auto waited = wait_for_events(polled, std::min(deadline, Clock::now() + kAskingPause));
      if (!waited) return waited.error();
      acceptor_.handle(polled);
    }
    acceptor_.close_rest();
    std::vector<Descriptor> ordered;
    for (const std::int32_t index : indices_) ordered.push_back(std::move(arrived_[index]));
    return ordered;
  }

 private:
  [[nodiscard]] LinkAcceptor::Options acceptor_options(const GatewayOffer& offer) {
    LinkAcceptor::Options options;
    options.log_prefix = "links to the gateway: ";
    options.terms = terms_of(offer, -1);
    options.judge = [this](std::int32_t index, const SocketAddress&) { return judge(index); };
    options.take = [this](std::int32_t index, Descriptor socket) {
      arrived_.emplace(index, std::move(socket));
    };
    // A proc that has reached one address of this machine closes its attempts at the other
    // addresses.
    options.may_end_early = [](const SocketAddress& /*from*/) { return true; };
    return options;
  }

  [[nodiscard]] LinkJudgement judge(std::int32_t index) const {
    using Kind = LinkJudgement::Kind;
    if (std::find(indices_.begin(), indices_.end(), index) == indices_.end()) {
      return {Kind::kTurnAway,
              {},
              fmt::format("it claims to be process {}, which is not awaited", index)};
    }
    if (arrived_.count(index) != 0)
      return {Kind::kRefuse, Refusal::kTaken, "its process is connected already"};
    return {Kind::kProve, {}, {}};
  }

  [[nodiscard]] Error missing() {
    acceptor_.close_rest();
    std::string names;
    std::string reasons;
    for (const std::int32_t index : indices_) {
      if (arrived_.count(index) != 0) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", process_(index));
      if (const std::string why = acceptor_.turned_away(index); !why.empty())
        reasons += fmt::format("; {}", why);
    }
    if (!acceptor_.trouble().empty()) reasons += fmt::format("; {}", acceptor_.trouble());
    return Error{
        ErrorKind::kTimeout,
        fmt::format("no connection in time from {} to its gateway, this process: can it reach "
                    "this machine? IMPISHIM_GATEWAY_ADDRESS names the address on the system's own "
                    "network{}",
                    names, reasons)};
  }

  const std::vector<std::int32_t>& indices_;
  const ProcessNamer& process_;
  LinkAcceptor acceptor_;
  std::map<std::int32_t, Descriptor> arrived_;
};

/// A proc that tries the addresses of its gateway.
class Attempts {
 public:
  Attempts(const GatewayOffer& offer, std::int32_t my_index)
      : offer_(offer), terms_(terms_of(offer, my_index)) {
    for (const HostId& address : offer.addresses) start(address);
  }

  Result<Descriptor> run(Clock::time_point deadline) {
    while (std::ranges::any_of(attempts_,
                               [](const Attempt& each) { return each.connector.has_value(); })) {
      if (Clock::now() >= deadline) {
        for (Attempt& each : attempts_) give_up(each, "no answer in time");
        break;
      }
      std::vector<pollfd> polled;
      for (const Attempt& each : attempts_)
        polled.push_back(each.connector ? each.connector->polled() : pollfd{-1, 0, 0});
      auto waited = wait_for_events(polled, deadline);
      if (!waited) return waited.error();
      for (std::size_t i = 0; i < attempts_.size(); ++i) {
        if (polled[i].revents != 0 && is_connected(attempts_[i]))
          return attempts_[i].connector->take();
      }
    }
    return none();
  }

 private:
  struct Attempt {
    HostId address{};
    std::optional<LinkConnector> connector;
    std::string failure;
  };

  static void give_up(Attempt& attempt, const std::string& reason) {
    if (!attempt.connector) return;
    attempt.connector.reset();
    attempt.failure = reason;
  }

  void start(const HostId& address) {
    Attempt& attempt = attempts_.emplace_back();
    attempt.address = address;
    auto started =
        LinkConnector::start({address, offer_.port, std::nullopt, terms_.connector, &terms_});
    if (started)
      attempt.connector.emplace(std::move(*started));
    else
      attempt.failure = started.error().text;
  }

  bool is_connected(Attempt& attempt) {
    auto done = attempt.connector->advance();
    if (done) return *done;
    // A gateway that has given up closes its port and its connections. It cannot be told from
    // another process that does so.
    turned_away_ =
        turned_away_ || attempt.connector->port_is_closed() ||
        (attempt.connector->connected() && done.error().kind != ErrorKind::kAuthentication);
    give_up(attempt, done.error().text);
    return false;
  }

  [[nodiscard]] Error none() const {
    std::string tried;
    for (const Attempt& each : attempts_) {
      tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ",
                           address_text(each.address, offer_.port), each.failure);
    }
    return Error{turned_away_ ? ErrorKind::kAborted : ErrorKind::kConnection,
                 fmt::format("the gateway of this host cannot be reached at {}: set "
                             "IMPISHIM_GATEWAY_ADDRESS on the gateway to its "
                             "address on the system's own network",
                             tried)};
  }

  const GatewayOffer& offer_;
  LinkTerms terms_;
  std::vector<Attempt> attempts_;
  bool turned_away_ = false;  ///< true if the gateway may have given up
};

/// Returns a socket that listens at `address`, or at every address of the machine if there is none.
Result<Descriptor> listening_socket(const std::optional<HostId>& address, std::uint16_t& port) {
  Descriptor listener;
  if (address) {
    SocketAddress here = SocketAddress::of(*address, 0);
    listener = listening_at(here);
    port = here.port();
  } else {
    port = 0;
    listener = listening_everywhere(port);
  }
  if (listener.valid()) return listener;
  return Error{ErrorKind::kConfiguration,
               fmt::format("a gateway cannot listen on {}: {}; set IMPISHIM_GATEWAY_ADDRESS to an "
                           "address of this machine",
                           address ? address_text(*address) : "any address", std::strerror(errno))};
}

}  // namespace

std::vector<std::byte> GatewayOffer::encode() const {
  ByteWriter out;
  out.put(port);
  out.put_bytes(secret.bytes());
  for (const HostId& address : addresses) out.put_bytes(address);
  return out.take();
}

Result<GatewayOffer> GatewayOffer::decode(std::span<const std::byte> bytes) {
  const Error bad{ErrorKind::kProtocol, "a gateway's offer that is cut or garbled"};
  ByteReader in(bytes);
  const auto port = in.get<std::uint16_t>();
  const auto secret = in.get_bytes(JobSecret::kSize);
  if (!port || !secret) return bad;
  GatewayOffer offer{{}, *port, JobSecret(secret->first<JobSecret::kSize>())};
  if (in.remaining() == 0 || in.remaining() % sizeof(HostId) != 0) return bad;
  while (const auto address = in.get_bytes(sizeof(HostId))) {
    offer.addresses.emplace_back();
    std::copy(address->begin(), address->end(), offer.addresses.back().begin());
  }
  return offer;
}

Result<GatewayListener> GatewayListener::open(const std::optional<HostId>& address) {
  auto secret = JobSecret::random();
  if (!secret) return secret.error();
  GatewayOffer offer{{}, 0, *secret};
  if (address) {
    offer.addresses = {*address};
  } else {
    auto addresses = addresses_of_interfaces();
    if (!addresses) return addresses.error();
    offer.addresses = std::move(*addresses);
  }
  if (offer.addresses.empty()) {
    return Error{ErrorKind::kConfiguration,
                 "the gateway's machine has no network interface but the loopback, so that "
                 "processes on other nodes cannot "
                 "reach it; IMPISHIM_GATEWAY_ADDRESS names an address that they can"};
  }
  offer.addresses.resize(std::min(offer.addresses.size(), kMaxAddresses));
  auto socket = listening_socket(address, offer.port);
  if (!socket) return socket.error();
  return GatewayListener(std::move(*socket), std::move(offer));
}

Result<std::vector<Descriptor>> GatewayListener::accept(
    const std::vector<std::int32_t>& indices, int timeout_ms,
    const std::function<std::optional<Error>()>& given_up, const ProcessNamer& name) {
  const Descriptor listener = std::move(socket_);
  return GatewayAcceptor(listener, offer_, indices, name)
      .run(Clock::now() + std::chrono::milliseconds(timeout_ms), given_up);
}

Result<Descriptor> connect_to_gateway(const GatewayOffer& offer, std::int32_t my_index,
                                      int timeout_ms) {
  return Attempts(offer, my_index).run(Clock::now() + std::chrono::milliseconds(timeout_ms));
}

Result<TlsTerms> gateway_terms(TlsRole role, const JobSecret& secret, std::int32_t index) {
  TlsTerms terms;
  terms.role = role;
  terms.identity = fmt::format("impishim gateway and process {}", index);
  auto key = channel_key(secret, terms.identity);
  if (!key) return key.error();
  terms.key = *key;
  wipe(*key);
  return terms;
}

namespace {

Result<std::vector<std::unique_ptr<Channel>>> make_encrypted_channels(
    const Client& system, std::vector<FabricLink> links, const std::vector<TlsTerms>& terms,
    int timeout_ms) {
  if (system.fabric_required)
    return Error{ErrorKind::kConfiguration,
                 "IMPISHIM_FABRIC names a provider, whose channels cannot be encrypted: unset it, "
                 "or set IMPISHIM_TLS=off"};
  std::vector<TlsLink> encrypted;
  for (std::size_t i = 0; i < links.size(); ++i)
    encrypted.push_back({std::move(links[i].socket), terms[i], std::move(links[i].peer_name)});
  return make_tls_channels(std::move(encrypted), timeout_ms);
}

}  // namespace

Result<std::vector<std::unique_ptr<Channel>>> make_inner_channels(
    const Client& system, std::vector<FabricLink> links, const std::vector<TlsTerms>& terms,
    int timeout_ms) {
  for (FabricLink& link : links) {
    SocketAddress there;
    if (getpeername(link.socket.get(), there.get(), &there.size) == 0) {
      link.peer_name += fmt::format(" ({})", address_text(there.host(), there.port()));
    }
  }
  if (!terms.empty()) return make_encrypted_channels(system, std::move(links), terms, timeout_ms);
  if (const std::string provider = common_fabric(system, system); !provider.empty()) {
    return make_fabric_channels(
        provider, std::move(links), timeout_ms,
        system.fabric_required ? SocketFallback() : SocketFallback(over_socket));
  }
  std::vector<std::unique_ptr<Channel>> channels;
  channels.reserve(links.size());
  for (FabricLink& link : links) channels.push_back(over_socket(std::move(link)));
  return channels;
}

}  // namespace impishim::wire
