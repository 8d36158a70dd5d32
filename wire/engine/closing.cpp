// SPDX-License-Identifier: Apache-2.0
// The end of traffic: FINI (IMPI 3.8, 2.4), abort, failure.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/operation.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kMaxAbortText = 512;

Error lost_connection(const Link& link, const Error& error) {
  const std::string peer_name = link.channel->peer_name();
  if (link.peer_finished) {
    return {error.kind, fmt::format("the connection to {} ended ({}) after its FINI, but before it "
                                    "had taken all that was sent to it",
                                    peer_name, error.text)};
  }
  return {error.kind, fmt::format("the connection to {} ended without FINI ({}): a process there "
                                  "has died, or the network is cut",
                                  peer_name, error.text)};
}

}  // namespace

void Engine::Impl::close_locked() {
  closing = true;
  advance_closing_locked();
}

/// Sends the FINI packets that may be sent now. FINI on a local link ends the traffic of this
/// process; FINI on a host link ends the traffic of all procs of this host. Each FINI is queued
/// behind everything that was sent before it.
void Engine::Impl::advance_closing_locked() {
  if (failed.load(std::memory_order_relaxed) || pending_sends > 0) return;
  const auto send_fini = [&](Link& link) IMPISHIM_REQUIRES(mutex) {
    PacketHeader header;
    header.type = PacketType::kFini;
    OutgoingPacket packet;
    encode_packet_header(header, packet.header);
    link.state = LinkState::kClosing;
    auto sent = link.output.send(std::move(packet));
    if (!sent) return link_ended_locked(link, sent.error());
    watch_output_locked(link);
  };
  bool local_procs_finished = true;
  for (auto& [rank, link] : local_links) {
    if (link->state == LinkState::kOpen) send_fini(*link);
    local_procs_finished = local_procs_finished && link->peer_finished;
  }
  if (!local_procs_finished) return;
  for (auto& [host, link] : host_links) {
    if (link->state == LinkState::kOpen && !link->output.holds()) send_fini(*link);
    if (link->state == LinkState::kClosing && link->peer_finished && link->output.empty()) {
      link->channel->shutdown_output();
      link->state = LinkState::kClosed;
    }
  }
}

/// Returns true if all links are closed. Host links are read to their end: closing a connection
/// with unread bytes would reset it before the peer has read everything.
bool Engine::Impl::closed_locked() const {
  if (!closing || pending_sends > 0) return false;
  const bool hosts = std::all_of(host_links.begin(), host_links.end(), [](const auto& entry) {
    return entry.second->state == LinkState::kClosed && entry.second->input_ended;
  });
  const bool locals = std::all_of(local_links.begin(), local_links.end(), [](const auto& entry) {
    return entry.second->state != LinkState::kOpen && entry.second->peer_finished &&
           entry.second->output.empty();
  });
  return hosts && locals;
}

void Engine::Impl::announce_abort_locked(std::int32_t exit_code, const std::string& text) {
  const std::size_t size =
      std::min({text.size(), kMaxAbortText, static_cast<std::size_t>(datalen)});
  for (auto& link : links) {
    if (link->input_ended || link->state == LinkState::kClosed) continue;
    if (link->remote_host >= 0) {
      const auto client = static_cast<std::size_t>(job.host(link->remote_host).client);
      if (!job.clients()[client].impishim) continue;
    }
    PacketHeader header;
    header.type = PacketType::kAbort;
    header.tag = exit_code;
    header.len = static_cast<std::uint32_t>(size);
    header.msglen = size;
    OutgoingPacket packet;
    encode_packet_header(header, packet.header);
    packet.owned = buffers.take(size);
    std::memcpy(packet.owned.data(), text.data(), size);
    packet.payload = packet.owned.first(size);
    auto sent = link->output.send(std::move(packet));
    // The job is ending. A peer that cannot be told will see the end of the connection.
    if (!sent)
      log(LogLevel::kDebug, "cannot announce the abort to {}: {}", link->channel->peer_name(),
          sent.error().text);
  }
}

/// Sends the rest of the abort announcements, and of a packet before them.
std::size_t Engine::Impl::flush_after_failure_locked() {
  std::size_t packets = 0;
  for (auto& link : links) {
    if (link->output.empty()) continue;
    auto flushed = link->output.flush();
    if (flushed) {
      packets += *flushed;
    } else {
      static_cast<void>(link->output.drop_all());
    }
    watch_output_locked(*link);
  }
  return packets;
}

void Engine::Impl::abort_arrived_locked(Link& link) {
  const Arrival& arrival = link.arrival;
  const std::string text(reinterpret_cast<const char*>(arrival.owned.data()),
                         link.input.header().len);
  // The peer has announced its end, so the end of the connection is not a second failure.
  link.peer_finished = true;
  abort_code = link.input.header().tag;
  announce_abort_locked(link.input.header().tag, text);
  fail_locked(Error{ErrorKind::kAborted, printable(text)});
}

/// Returns true if a send still needs the peer of `link`. Called only at the end of the link.
bool Engine::Impl::awaited_locked(const Link& link) {
  if (pending_sends == 0) return false;
  if (!link.output.empty() || link.output.holds() || !link.output.streams.empty() ||
      !link.output.awaiting_credit.empty())
    return true;
  const bool answer = std::any_of(sends.begin(), sends.end(), [&](const auto& each) {
    mutex.assert_held();
    return peer(each.second->destination).link == &link;
  });
  const bool credit = std::any_of(peers.begin(), peers.end(), [&](const auto& each) {
    return each != nullptr && each->link == &link &&
           (!each->held.empty() || !each->stalled.empty());
  });
  return answer || credit;
}

void Engine::Impl::link_ended_locked(Link& link, const Error& error) {
  if (!link.input_ended) {
    link.input_ended = true;
    // An ended stream stays ready for ever.
    if (watching) stop_watching_locked(link);
  }
  const bool broken = error.kind == ErrorKind::kProtocol;
  const bool over = link.peer_finished && !broken && !awaited_locked(link);
  if (over || failed.load(std::memory_order_relaxed)) {
    static_cast<void>(link.output.drop_all());
    return;
  }
  const Error failure_error =
      broken ? Error{error.kind,
                     fmt::format("{} broke the IMPI protocol: {}", offender_of(link), error.text)}
             : lost_connection(link, error);
  announce_abort_locked(1, failure_error.text);
  fail_locked(failure_error);
}

/// The child has one thread, and a thread that does not exist there may hold the lock.
void Engine::close_in_forked_child() {
  impl_->mutex.assert_held();
  for (auto& link : impl_->links) link->channel->close_in_forked_child();
}

void Engine::check_peers_answer() {
  const MutexLock lock(impl_->mutex);
  for (auto& link : impl_->links) {
    if (link->input_ended || !link->channel->peer_is_silent()) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kDeadPeerTime).count();
    impl_->link_ended_locked(
        *link,
        {ErrorKind::kConnection, fmt::format("its machine has not answered for {} s", seconds)});
  }
}

void Engine::Impl::fail_locked(const Error& error) {
  if (failed.load(std::memory_order_relaxed)) return;
  failure = error;
  failed.store(true, std::memory_order_release);
  arrived.notify_all();
  if (sleepers > 0) poller.wake();
  std::set<SendOperation*> pending;
  for (auto& link : links) {
    const auto dropped =
        link->input_ended ? link->output.drop_all() : link->output.drop_all_but_aborts();
    pending.insert(dropped.begin(), dropped.end());
  }
  for (auto& each : peers) {
    if (each == nullptr) continue;
    pending.insert(each->held.begin(), each->held.end());
    pending.insert(each->stalled.begin(), each->stalled.end());
    each->held.clear();
    each->stalled.clear();
  }
  for (const auto& [id, operation] : sends) pending.insert(operation);
  sends.clear();
  questions.clear();
  for (SendOperation* operation : pending) {
    if (!operation->complete()) complete_send_locked(*operation, error);
  }
  std::set<ReceiveOperation*> receiving;
  for (auto& link : links) {
    if (link->arrival.receive != nullptr) receiving.insert(link->arrival.receive);
    link->arrival.receive = nullptr;
    link->input.drop_payload();
  }
  for (const auto& [id, operation] : receives) receiving.insert(operation);
  receives.clear();
  for (const auto& [key, message] : early) {
    if (message->receive != nullptr) receiving.insert(message->receive);
  }
  for (ReceiveOperation* operation : queue.release_all()) receiving.insert(operation);
  contested.store(0, std::memory_order_release);
  for (ReceiveOperation* operation : receiving) {
    if (operation->complete()) continue;
    operation->result.error = error;
    operation->phase_ = ReceiveOperation::Phase::kDone;
    operation->finish();
  }
}

}  // namespace impishim::wire
