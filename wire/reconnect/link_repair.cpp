// SPDX-License-Identifier: Apache-2.0
#include "wire/reconnect/link_repair.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/connect/channel_terms.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/packet/packet.hpp"
#include "wire/reconnect/port_probe.hpp"
#include "wire/reconnect/relayed_connection.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

LinkRepair::LinkRepair(const RepairTerms& terms, RepairedLink link)
    : terms_(terms),
      link_(std::move(link)),
      my_host_(terms.job.proc(terms.here).host),
      proof_{terms.secret, LinkPurpose::kResume, end_of(my_host_), link_.host, decides()},
      limit_(reconnect_time(terms.job, my_host_, link_.host)),
      probe_at_(link_.port_was_open || link_.through_relay || is_further()
                    ? Clock::time_point::max()
                    : Clock::now() + kProbeDelay) {}

/// Returns the number of the end of a lane, as host_mesh.hpp defines it. Those of the second stream
/// come behind all lanes of the first one.
std::int32_t LinkRepair::end_of(std::int32_t host) const {
  const std::int32_t lanes = lanes_between(terms_.job, my_host_, link_.host);
  return host +
         (link_.lane + link_.stream * lanes) * static_cast<std::int32_t>(terms_.job.hosts().size());
}

void LinkRepair::begin(std::string reason, Clock::time_point now) {
  lost_since_ = now;
  probe_.reset();
  reason_ = std::move(reason);
  last_error_.clear();
  refused_since_.reset();
  direct_.reset();
  relayed_.reset();
  direct_at_ = now + (decides() ? Clock::duration(kReversalDelay) : Clock::duration(0));
  relayed_at_ = now + (link_.through_relay ? Clock::duration(0) : Clock::duration(kRelayDelay));
}

/// Ends all attempts.
void LinkRepair::stop() {
  lost_since_.reset();
  direct_.reset();
  relayed_.reset();
  tls_.reset();
}

void LinkRepair::give_up(const std::string& why) {
  stop();
  link_.slot->give_up({ErrorKind::kConnection, fmt::format("{}; {}", reason_, why)});
}

void LinkRepair::advance(Clock::time_point now) {
  if (auto reason = link_.slot->take_loss()) begin(std::move(*reason), now);
  if (lost() && link_.slot->stopped()) stop();
  if (tls_ && now >= tls_until_) {
    tls_.reset();
    last_error_ = "the TLS handshake took too long";
  }
  if (!lost()) {
    if (now >= probe_at_) start_probe(now);
    return;
  }
  if (!is_further() && now >= *lost_since_ + limit_) {
    return give_up(fmt::format("it was not taken up again within {} s (IMPISHIM_RECONNECT){}{}",
                               limit_.count(), last_error_.empty() ? "" : ": ", last_error_));
  }
  if (!is_further() && refused_since_ && now >= *refused_since_ + kRefusedTime)
    return give_up("no process listens at its port any more: it has ended");
  if (now >= direct_at_) start_direct(now);
  if (may_relay() && now >= relayed_at_) start_relayed(now);
}

/// Ends the present probe, and begins that of the next address.
void LinkRepair::start_probe(Clock::time_point now) {
  probe_.reset();
  probe_at_ = Clock::time_point::max();
  const Host& here = terms_.job.host(my_host_);
  const auto addresses = terms_.job.addresses_from(here.client, link_.host);
  if (link_.port_was_open || probes_ == addresses.size()) return;
  probe_at_ = now + kAttemptTime;
  // Behind an address translator the announced address is not this machine's own.
  const bool is_own = here.more_addresses.empty() && here.inner_address == HostId{};
  auto started = PortProbe::start(addresses[probes_++], terms_.job.host(link_.host).port,
                                  is_own ? std::optional(here.address) : std::nullopt);
  if (started) probe_.emplace(std::move(*started));
}

void LinkRepair::drive_probe() {
  link_.port_was_open = probe_->is_open();
  probe_.reset();
  if (!link_.port_was_open) return;
  probe_at_ = Clock::time_point::max();
  log(LogArea::kChannel, LogLevel::kDebug, "{} can be reached from here, too",
      host_name(terms_.job, link_.host));
}

/// Ends the present attempt, and begins the next one.
void LinkRepair::start_direct(Clock::time_point now) {
  if (direct_) direct_failed({ErrorKind::kTimeout, "it does not answer"});
  // The host that decides lets one connection complete.
  if (decides() && tls_) return;
  direct_at_ = now + kAttemptTime;
  const Host& there = terms_.job.host(link_.host);
  const std::int32_t client = terms_.job.host(my_host_).client;
  // The kernel chooses the source address: this machine's may have changed.
  const auto addresses = terms_.job.addresses_from(client, link_.host);
  // Several streams use several addresses; where there is one, it must find a way.
  const std::size_t turn = is_further() ? static_cast<std::size_t>(link_.stream) : attempts_++;
  auto started = LinkConnector::start(
      {addresses[turn % addresses.size()], there.port, std::nullopt, proof_.connector, &proof_});
  if (!started) return direct_failed(started.error());
  direct_.emplace(std::move(*started));
}

void LinkRepair::direct_failed(const Error& error) {
  const auto now = Clock::now();
  const bool refused = direct_ && direct_->port_is_closed() && link_.port_was_open;
  if (!refused) refused_since_.reset();
  if (refused && !refused_since_) refused_since_ = now;
  if (error.text != last_error_)
    log(LogArea::kChannel, LogLevel::kDebug, "{}: {}", host_name(terms_.job, link_.host),
        error.text);
  last_error_ = error.text;
  direct_.reset();
  direct_at_ = now + retry_pause();
}

void LinkRepair::start_relayed(Clock::time_point now) {
  if (relayed_) relayed_failed({ErrorKind::kTimeout, "the other host does not come to the relay"});
  if (decides() && tls_) return;
  relayed_at_ = now + kAttemptTime;
  LinkTerms proof = proof_;
  if (!decides()) {
    proof.connector = end_of(link_.host);
    proof.acceptor = my_host_;
  }
  auto started = RelayedConnection::start(*terms_.relay, proof, decides());
  if (!started) return relayed_failed(started.error());
  relayed_.emplace(std::move(*started));
}

void LinkRepair::relayed_failed(const Error& error) {
  last_error_ = error.text;
  relayed_.reset();
  relayed_at_ = Clock::now() + kRetryPause;
}

void LinkRepair::append_polled(std::vector<pollfd>& polled) {
  polled.push_back(direct_ ? direct_->polled() : pollfd{-1, 0, 0});
  polled.push_back(relayed_ ? relayed_->polled() : pollfd{-1, 0, 0});
  polled.push_back(tls_ ? tls_->polled() : pollfd{-1, 0, 0});
  polled.push_back(probe_ ? probe_->polled() : pollfd{-1, 0, 0});
}

void LinkRepair::handle(std::span<const pollfd> polled) {
  if (polled[3].revents != 0 && probe_) drive_probe();
  // Each of these may end the others.
  if (polled[2].revents != 0 && tls_) drive_tls();
  if (polled[0].revents != 0 && direct_) drive_direct();
  if (polled[1].revents != 0 && relayed_) drive_relayed();
}

void LinkRepair::drive_direct() {
  auto done = direct_->advance();
  if (done && direct_->must_decide()) {
    if (!lost() || tls_) return direct_.reset();
    direct_->keep();
    done = direct_->advance();
  }
  if (!done) return direct_failed(done.error());
  refused_since_.reset();
  if (!*done) return;
  link_.port_was_open = true;
  link_.through_relay = false;
  Descriptor socket = direct_->take();
  complete(std::move(socket));
}

void LinkRepair::drive_relayed() {
  auto done = relayed_->advance();
  if (!done) return relayed_failed(done.error());
  if (!*done) return;
  link_.through_relay = true;
  Descriptor socket = relayed_->take();
  complete(std::move(socket));
}

void LinkRepair::adopt(Descriptor socket) {
  log(LogArea::kChannel, LogLevel::kDebug, "{} has connected again",
      host_name(terms_.job, link_.host));
  complete(std::move(socket));
}

void LinkRepair::complete(Descriptor socket) {
  direct_.reset();
  relayed_.reset();
  std::string name = channel_peer_name(terms_.job, terms_.here, link_.host);
  if (!terms_.job.values().encrypted) {
    return deliver(std::make_unique<TcpChannel>(std::move(socket), std::move(name), terms_.tcp));
  }
  auto key = channel_tls_terms(terms_.job, terms_.here, link_.host, terms_.secret, link_.stream);
  auto begun = key ? TlsHandshake::begin({std::move(socket), *key, std::move(name), terms_.tcp})
                   : Result<TlsHandshake>(key.error());
  if (!begun) return give_up(begun.error().text);
  tls_.emplace(std::move(*begun));
  tls_until_ = Clock::now() + kAttemptTime;
  direct_at_ = relayed_at_ = tls_until_;
  drive_tls();
}

void LinkRepair::drive_tls() {
  auto advanced = tls_->advance();
  if (!advanced) {
    last_error_ = advanced.error().text;
    log(LogArea::kChannel, LogLevel::kDebug, "{}", last_error_);
    tls_.reset();
    direct_at_ = relayed_at_ = Clock::now() + retry_pause();
    return;
  }
  if (!tls_->over()) return;
  auto channel = tls_->make_channel();
  tls_.reset();
  if (!channel) return give_up(channel.error().text);
  deliver(std::move(*channel));
}

void LinkRepair::deliver(std::unique_ptr<Channel> connection) {
  lost_since_.reset();
  refused_since_.reset();
  link_.slot->deliver(std::move(connection));
}

std::optional<LinkRepair::Clock::time_point> LinkRepair::next_time() const {
  std::optional<Clock::time_point> next;
  const auto add = [&](Clock::time_point time) { next = next ? std::min(*next, time) : time; };
  if (tls_) add(tls_until_);
  if (!lost()) {
    if (probe_at_ != Clock::time_point::max()) add(probe_at_);
    return next;
  }
  if (!is_further()) add(*lost_since_ + limit_);
  add(direct_at_);
  if (may_relay()) add(relayed_at_);
  if (refused_since_ && !is_further()) add(*refused_since_ + kRefusedTime);
  return next;
}

}  // namespace impishim::wire
