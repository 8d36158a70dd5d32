// SPDX-License-Identifier: Apache-2.0
// The loss of a client that does not end the job. The unit of loss is the client. A process that
// finds or hears of one tells all its neighbours, the lost client included: a client that hears of
// its own loss ends, so that nothing goes on with two opinions.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/shutdown.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/current_map.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns true if this process goes on after the loss of another client. Other implementations,
/// and jobs that are connected, do not know of losses.
bool Shutdown::may_survive() const {
  if (!parts_.flags.survives_losses.load(std::memory_order_relaxed)) return false;
  const CurrentMap& job = parts_.settings.job;
  if (job.clients().size() != job.at_start().clients().size()) return false;
  return std::ranges::all_of(job.clients(), [](const Client& each) { return each.impishim; });
}

/// Returns the client at the other end of a link.
std::int32_t Shutdown::client_at(const Link& link) const {
  const JobMap& job = parts_.settings.job;
  return link.remote_host >= 0 ? job.host(link.remote_host).client
                               : job.proc(parts_.settings.here).client;
}

bool Shutdown::survives_end_of(const Link& link) const {
  return may_survive() && client_at(link) != own_client();
}

Result<void> Shutdown::loss_arrived(const Link& link) {
  const std::int32_t client = link.input.header().tag;
  const JobMap& job = parts_.settings.job.at_start();
  const bool of_this_job =
      link.remote_host < 0 || !parts_.settings.job.host(link.remote_host).direct;
  if (!of_this_job || client < 0 || static_cast<std::size_t>(client) >= job.clients().size())
    return Error{ErrorKind::kProtocol,
                 fmt::format("the loss of system {}, which is not in this job", client)};
  if (parts_.state.lost.contains(client)) return {};
  std::string text =
      client == client_at(link)
          ? fmt::format("{} says that its own system ends", parts_.peers.name_of_sender(link))
          : fmt::format("{} has lost it", parts_.peers.name_of_sender(link));
  losses_.push_back({client, std::move(text)});
  return {};
}

void Shutdown::advance_losses() {
  const auto losses = std::exchange(losses_, {});
  for (const Loss& loss : losses) {
    if (parts_.failure.happened()) return;
    lose(loss);
  }
}

void Shutdown::lose(const Loss& loss) {
  if (parts_.state.lost.contains(loss.client)) return;
  if (!may_survive()) {
    const std::string text = fmt::format("system {} is lost: {}", loss.client, loss.text);
    announce_abort(1, text);
    return fail({ErrorKind::kConnection, text});
  }
  if (loss.client == own_client()) return end_this_client(loss);
  go_on_without(loss);
}

/// Ends this process, and the others of its system, but not the other systems.
void Shutdown::end_this_client(const Loss& loss) {
  const std::string text =
      fmt::format("this system, number {}, is lost: {}", loss.client, loss.text);
  for (const auto& link : parts_.peers.links()) {
    if (client_at(*link) == loss.client) {
      announce_abort_over(*link, 1, text);
    } else {
      announce_loss(*link, loss.client);
    }
  }
  fail({ErrorKind::kLost, text});
}

void Shutdown::go_on_without(const Loss& loss) {
  const std::string text = fmt::format("system {} is lost: {}", loss.client, loss.text);
  log(LogLevel::kWarn, "{}", text);
  parts_.state.lost.add(loss.client, {ErrorKind::kLost, text});
  parts_.receive_path.lose(loss.client);
  parts_.send_path.lose(loss.client);
  for (const auto& link : parts_.peers.links()) {
    announce_loss(*link, loss.client);
    if (client_at(*link) == loss.client) close_lost(*link, loss.client);
  }
  parts_.flags.lost_clients.fetch_add(1, std::memory_order_release);
  parts_.receive_path.arrivals().wake();
  parts_.readiness.wake_sleepers();
}

/// Tells a neighbour that a client is lost.
void Shutdown::announce_loss(Link& link, std::int32_t client) {
  if (link.input_ended || link.state == LinkState::kClosed) return;
  PacketHeader header;
  header.type = PacketType::kLost;
  header.tag = client;
  OutgoingPacket packet;
  encode_packet_header(header, packet.header);
  parts_.sender.send(link, std::move(packet));
}

/// Ends the traffic over a link to a lost client. What is queued still leaves, if it can.
void Shutdown::close_lost(Link& link, std::int32_t client) {
  if (!link.input_ended) {
    link.input_ended = true;
    parts_.readiness.stop_watching(link);
  }
  link.peer_finished = true;
  link.state = LinkState::kClosed;
  if (link.output.empty()) link.channel->shutdown_output();
  log(LogLevel::kDebug, "closed the link to {} of system {}", link.channel->peer_name(), client);
}

}  // namespace impishim::wire
