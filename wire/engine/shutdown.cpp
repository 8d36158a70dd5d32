// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/shutdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

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
  if (error.kind == ErrorKind::kTimeout)
    return {error.kind, fmt::format("the connection to {} is given up: {}", peer_name, error.text)};
  return {error.kind, fmt::format("the connection to {} ended without FINI ({}): a process there "
                                  "has died, or the network is cut",
                                  peer_name, error.text)};
}

}  // namespace

void Shutdown::close() {
  closing_ = true;
  advance();
}

void Shutdown::send_fini(Link& link) {
  PacketHeader header;
  header.type = PacketType::kFini;
  OutgoingPacket packet;
  encode_packet_header(header, packet.header);
  link.state = LinkState::kClosing;
  parts_.sender.send(link, std::move(packet));
}

void Shutdown::advance() {
  if (parts_.failure.happened() || parts_.send_path.pending() > 0) return;
  bool local_procs_finished = true;
  for (const auto& [rank, link] : parts_.peers.local_links()) {
    if (link->state == LinkState::kOpen) send_fini(*link);
    local_procs_finished = local_procs_finished && link->peer_finished;
  }
  if (!local_procs_finished) return;
  for (const auto& [host, link] : parts_.peers.host_links()) advance_link(*link);
}

bool Shutdown::advance_link(Link& link) {
  if (link.state == LinkState::kOpen && !link.output.holds()) send_fini(link);
  if (link.state == LinkState::kClosing && link.peer_finished && link.output.empty()) {
    link.channel->shutdown_output();
    link.state = LinkState::kClosed;
  }
  return link.state == LinkState::kClosed;
}

void Shutdown::release(std::int32_t host) {
  const auto found = parts_.peers.host_links().find(host);
  if (found != parts_.peers.host_links().end()) released_.push_back(found->second);
}

std::vector<Link*> Shutdown::advance_released() {
  std::vector<Link*> ended;
  if (parts_.failure.happened()) return ended;
  std::erase_if(released_, [&](Link* link) {
    // Read to its end: closing a connection with unread bytes would reset it.
    const bool over = !parts_.send_path.needs(*link) && advance_link(*link) && link->input_ended &&
                      !link->in_batching;
    if (over) ended.push_back(link);
    return over;
  });
  return ended;
}

bool Shutdown::closed() const {
  if (!closing_ || parts_.send_path.pending() > 0) return false;
  const auto& host_links = parts_.peers.host_links();
  const bool hosts = std::all_of(host_links.begin(), host_links.end(), [](const auto& entry) {
    return entry.second->state == LinkState::kClosed && entry.second->input_ended;
  });
  const auto& local_links = parts_.peers.local_links();
  const bool locals = std::all_of(local_links.begin(), local_links.end(), [](const auto& entry) {
    return entry.second->state != LinkState::kOpen && entry.second->peer_finished &&
           entry.second->output.empty();
  });
  return hosts && locals;
}

void Shutdown::announce_abort(std::int32_t exit_code, const std::string& text) {
  for (const auto& link : parts_.peers.links()) announce_abort_over(*link, exit_code, text);
}

void Shutdown::announce_abort_over(Link& link, std::int32_t exit_code, const std::string& text) {
  if (link.input_ended || link.state == LinkState::kClosed) return;
  if (!parts_.settings.job.client(client_at(link)).impishim) return;
  const std::size_t size =
      std::min({text.size(), kMaxAbortText, static_cast<std::size_t>(parts_.settings.datalen)});
  PacketHeader header;
  header.type = PacketType::kAbort;
  header.tag = exit_code;
  header.len = static_cast<std::uint32_t>(size);
  header.msglen = size;
  OutgoingPacket packet;
  encode_packet_header(header, packet.header);
  packet.owned = parts_.state.buffers.take(size);
  std::memcpy(packet.owned.data(), text.data(), size);
  packet.payload = packet.owned.first(size);
  auto sent = link.output.send(std::move(packet));
  // The job is ending. A peer that cannot be told will see the end of the connection.
  if (!sent)
    log(LogLevel::kDebug, "cannot announce the abort to {}: {}", link.channel->peer_name(),
        sent.error().text);
}

std::size_t Shutdown::flush_after_failure() {
  std::size_t packets = 0;
  for (const auto& link : parts_.peers.links()) {
    if (link->output.empty()) continue;
    auto flushed = link->output.flush();
    if (flushed) {
      packets += *flushed;
    } else {
      static_cast<void>(link->output.drop_all());
    }
    parts_.readiness.watch_output(*link);
  }
  return packets;
}

void Shutdown::abort_arrived(Link& link) {
  const std::int32_t exit_code = link.input.header().tag;
  const std::string text(reinterpret_cast<const char*>(link.arrival.owned.data()),
                         link.input.header().len);
  // The peer has announced its end, so the end of the connection is not a second failure.
  link.peer_finished = true;
  if (!parts_.failure.happened()) parts_.failure.set_abort_code(exit_code);
  announce_abort(exit_code, text);
  fail(Error{ErrorKind::kAborted, printable(text)});
}

void Shutdown::link_ended(Link& link, const Error& error) {
  if (!link.input_ended) {
    link.input_ended = true;
    parts_.readiness.stop_watching(link);
  }
  const bool broken = error.kind == ErrorKind::kProtocol;
  const bool over = link.peer_finished && !broken && !parts_.send_path.needs(link);
  const bool known = parts_.state.lost.contains(client_at(link));
  if (over || known || parts_.failure.happened()) {
    static_cast<void>(link.output.drop_all());
    return;
  }
  const Error failure =
      broken ? Error{error.kind, fmt::format("{} broke the IMPI protocol: {}",
                                             parts_.peers.name_of_sender(link), error.text)}
             : lost_connection(link, error);
  if (!broken && may_survive()) {
    losses_.push_back({client_at(link), failure.text});
    return parts_.readiness.wake_sleepers();
  }
  announce_abort(1, failure.text);
  fail(failure);
}

void Shutdown::fail(const Error& error) {
  if (parts_.failure.happened()) return;
  parts_.failure.set(error);
  parts_.receive_path.arrivals().wake();
  parts_.readiness.wake_sleepers();
  parts_.send_path.fail(error);
  parts_.receive_path.fail(error);
}

}  // namespace impishim::wire
