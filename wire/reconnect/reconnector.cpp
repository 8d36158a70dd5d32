// SPDX-License-Identifier: Apache-2.0
#include "wire/reconnect/reconnector.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/packet/packet.hpp"
#include "wire/reconnect/link_repair.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/resumable_channel.hpp"
#include "wire/stripe/striped_channel.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

/// Time for which a process of this host may take a socket.
constexpr int kHandoverMs = 5000;

}  // namespace

RepairedLink describe_link(const RepairTerms& terms, std::int32_t host, const Descriptor& socket) {
  const std::int32_t my_host = terms.job.proc(terms.here).host;
  RepairedLink link;
  link.host = host;
  link.lane = lane_of(terms.job, terms.here, host);
  SocketAddress peer;
  if (getpeername(socket.get(), peer.get(), &peer.size) != 0) return link;
  const auto announced = terms.job.addresses_from(terms.job.host(my_host).client, host);
  const bool is_announced = std::ranges::any_of(
      announced, [&](const HostId& each) { return same_address(peer.host(), each); });
  link.port_was_open = is_announced && peer.port() == terms.job.host(host).port;
  link.through_relay = !link.port_was_open && terms.relay &&
                       same_address(peer.host(), terms.relay->address.host()) &&
                       peer.port() == terms.relay->address.port();
  return link;
}

Result<std::unique_ptr<Reconnector>> Reconnector::make(const RepairTerms& terms,
                                                       ReconnectorDoors doors) {
  auto wake = WakeEvent::make();
  if (!wake) return wake.error();
  return std::unique_ptr<Reconnector>(new Reconnector(terms, std::move(doors), std::move(*wake)));
}

Reconnector::Reconnector(const RepairTerms& terms, ReconnectorDoors doors,
                         std::shared_ptr<WakeEvent> wake)
    : terms_(terms),
      doors_(std::move(doors)),
      wake_(std::move(wake)),
      my_host_(terms.job.proc(terms.here).host) {
  if (doors_.listener) acceptor_.emplace(doors_.listener->sockets(), acceptor_options());
}

Reconnector::~Reconnector() {
  stop_ = true;
  wake_->raise();
  if (thread_.joinable()) thread_.join();
}

Result<std::unique_ptr<Channel>> Reconnector::make_resumable(std::unique_ptr<Channel> first,
                                                             RepairedLink link) {
  const std::int32_t streams = streams_between(terms_.job, my_host_, link.host);
  if (streams > 1) return make_striped(std::move(first), link, streams);
  auto slot = ConnectionSlot::make(wake_);
  if (!slot) return slot.error();
  link.slot = *slot;
  links_.push_back(std::make_unique<LinkRepair>(terms_, std::move(link)));
  return ResumableChannel::make(std::move(first), std::move(*slot), {.answer = terms_.answer_time});
}

Result<std::unique_ptr<Channel>> Reconnector::make_striped(std::unique_ptr<Channel> first,
                                                           const RepairedLink& link,
                                                           std::int32_t streams) {
  StripedChannel::Slots slots;
  for (std::int32_t stream = 0; stream < streams; ++stream) {
    auto slot = ConnectionSlot::make(wake_);
    if (!slot) return slot.error();
    RepairedLink of_stream = link;
    of_stream.stream = stream;
    of_stream.slot = *slot;
    links_.push_back(std::make_unique<LinkRepair>(terms_, std::move(of_stream)));
    slots.push_back(std::move(*slot));
  }
  const std::int32_t at_first = first_streams(terms_.job, my_host_, link.host);
  return StripedChannel::make(
      std::move(first), std::move(slots),
      {.answer = terms_.answer_time, .first_strands = static_cast<std::size_t>(at_first)});
}

void Reconnector::start() {
  thread_ = quiet_thread("impishim-resume", [this] { run(); });
}

void Reconnector::close_in_forked_child() {
  if (doors_.listener) doors_.listener->close_in_forked_child();
  if (doors_.giver) doors_.giver->close_in_forked_child();
  if (doors_.taker) doors_.taker->close_in_forked_child();
  wake_->close_in_forked_child();
}

LinkAcceptor::Options Reconnector::acceptor_options() {
  LinkAcceptor::Options options;
  options.terms = LinkTerms{terms_.secret, LinkPurpose::kResume, -1, my_host_};
  options.judge = [this](std::int32_t end, const SocketAddress& /*from*/) { return judge(end); };
  options.take = [this](std::int32_t end, Descriptor socket) { take(end, std::move(socket)); };
  options.may_end_early = [this](const SocketAddress& from) {
    return std::ranges::any_of(terms_.job.hosts(),
                               [&](const Host& each) { return has_address(each, from.host()); });
  };
  return options;
}

LinkJudgement Reconnector::judge(std::int32_t end) const {
  using Kind = LinkJudgement::Kind;
  const std::int32_t host = end < 0 ? -1 : end % host_count();
  if (host < 0 || host == my_host_ || reconnect_time(terms_.job, my_host_, host).count() == 0 ||
      end / host_count() >=
          lanes_between(terms_.job, my_host_, host) * streams_between(terms_.job, my_host_, host)) {
    return {Kind::kTurnAway,
            {},
            fmt::format("it claims to be host {}, which has no connection to take up again", end)};
  }
  return {Kind::kProve, {}, {}, host < my_host_};
}

void Reconnector::take(std::int32_t end, Descriptor socket) {
  const std::int32_t host = end % host_count();
  const std::int32_t lanes = lanes_between(terms_.job, my_host_, host);
  const std::int32_t stream = end / host_count() / lanes;
  const WorldRank owner = representative(terms_.job, my_host_, host, end / host_count() % lanes);
  if (owner == terms_.here) return adopt(host, stream, std::move(socket));
  if (!doors_.giver) return;
  const WorldRank first = terms_.job.host(my_host_).first_proc;
  auto given = doors_.giver->give(owner - first, host + stream * host_count(), socket, kHandoverMs);
  // The other host sees the end of the connection, and tries again.
  if (!given) log(LogArea::kChannel, LogLevel::kInfo, "{}", given.error().text);
}

void Reconnector::take_from_giver() {
  auto taken = doors_.taker->take(0);
  if (!taken) {
    log(LogArea::kChannel, LogLevel::kInfo, "{}", taken.error().text);
    if (taken.error().kind != ErrorKind::kTimeout) doors_.taker.reset();
    return;
  }
  // A process owns at most one lane to a host.
  adopt(taken->first % host_count(), taken->first / host_count(), std::move(taken->second));
}

void Reconnector::adopt(std::int32_t host, std::int32_t stream, Descriptor socket) {
  const auto link = std::ranges::find_if(
      links_, [&](const auto& each) { return each->host() == host && each->stream() == stream; });
  if (link != links_.end()) (*link)->adopt(std::move(socket));
}

int Reconnector::timeout_ms() const {
  using std::chrono::ceil;
  using std::chrono::milliseconds;
  constexpr milliseconds kForever{-1};
  milliseconds timeout =
      acceptor_ && !acceptor_->is_idle() ? milliseconds(AcceptRest::kRest) : kForever;
  const auto now = LinkRepair::Clock::now();
  for (const auto& link : links_) {
    const auto next = link->next_time();
    if (!next) continue;
    const auto left = std::max(ceil<milliseconds>(*next - now), milliseconds(0));
    if (timeout == kForever || left < timeout) timeout = left;
  }
  return static_cast<int>(timeout.count());
}

void Reconnector::poll_once() {
  const auto now = LinkRepair::Clock::now();
  for (const auto& link : links_) link->advance(now);
  std::vector<pollfd> polled{{wake_->descriptor(), POLLIN, 0},
                             {doors_.taker ? doors_.taker->descriptor() : -1, POLLIN, 0}};
  std::vector<std::size_t> places;
  for (const auto& link : links_) {
    places.push_back(polled.size());
    link->append_polled(polled);
  }
  places.push_back(polled.size());
  if (acceptor_) acceptor_->append_polled(polled);
  if (poll(polled.data(), polled.size(), timeout_ms()) < 0) {
    if (errno != EINTR)
      log(LogArea::kChannel, LogLevel::kError, "reconnecting: poll fails: {}", strerror(errno));
    return;
  }
  const auto all = std::span<const pollfd>(polled);
  if (all[0].revents != 0) wake_->clear();
  for (std::size_t i = 0; i < links_.size(); ++i)
    links_[i]->handle(all.subspan(places[i], places[i + 1] - places[i]));
  if (acceptor_) acceptor_->handle(all.subspan(places.back()));
  if (all[1].revents != 0) take_from_giver();
}

void Reconnector::run() {
  while (!stop_) poll_once();
}

}  // namespace impishim::wire
