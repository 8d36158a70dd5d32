// SPDX-License-Identifier: Apache-2.0
// Answers to what this process has sent: acknowledgements, accepted only from the process that they
// can come from and only about what that process was asked, and cancelled sends (IMPI 3.7.4).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/flow_control.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

Error broken(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

}  // namespace

/// Returns the cost of the packets for a process that wait here in a queue. Flow control has
/// counted them already.
std::uint32_t SendPath::unsent_cost(const Peer& to) const {
  std::uint32_t cost = 0;
  if (to.link->output.empty() && !to.link->output.holds()) return cost;
  const EngineSettings& settings = parts_.settings;
  const ProcId& id = settings.job.proc(to.rank).id;
  to.link->output.for_each_unsent([&](std::span<const std::byte, kPacketHeaderSize> raw) {
    PacketHeader header;
    const auto decoded =
        decode_packet_header(raw, std::numeric_limits<std::uint32_t>::max(), header);
    IMPISHIM_ASSERT(decoded.ok());
    if (concerns_link(header.type) || header.src != settings.my_id || header.dest != id) return;
    if (carries_message(header.type)) {
      const bool rest = header.type == PacketType::kData && header.msglen > settings.datalen;
      cost += to.marks.cost(rest ? FlowMarks::kRestPayload : header.len);
    } else if (header.type != PacketType::kProtoAck) {
      cost += to.marks.counts_control() ? 1 : 0;
    }
  });
  return cost;
}

Result<void> SendPath::protocol_acknowledged(Peer& from) {
  if (!from.send_credit.acknowledged(from.marks))
    return broken("a PROTOACK of packets that were never sent");
  if (from.send_credit.outstanding() < unsent_cost(from))
    return broken("a PROTOACK of packets that have not left");
  acknowledged(from);
  return {};
}

/// Queues the first message to `to` that waited for credit, or sends its CANCEL. Returns false if
/// there is none, or no credit.
bool SendPath::release_held(Peer& to) {
  if (to.held.empty() || !to.send_credit.may_send(to.marks)) return false;
  SendOperation& operation = *to.held.front();
  to.held.pop_front();
  if (operation.question_held_) {
    ask_to_cancel(operation);
    return true;
  }
  OutgoingPacket packet;
  if (make_first_packet(to, operation, packet)) to.link->output.enqueue(std::move(packet));
  return true;
}

/// Uses the credit that a PROTOACK brings. One held message goes first, so that a long message
/// cannot hold it back for ever; then long messages; then the other held messages. They have waited
/// together and leave together.
void SendPath::acknowledged(Peer& from) {
  Link& link = *from.link;
  const auto flush = [&] {
    auto flushed = link.output.flush();
    if (!flushed) parts_.failures.link_ended(link, flushed.error());
    return flushed.ok();
  };
  static_cast<void>(release_held(from));
  if (!from.stalled.empty()) {
    link.output.streams.insert(link.output.streams.end(), from.stalled.begin(), from.stalled.end());
    from.stalled.clear();
    if (!flush()) return;
  }
  while (release_held(from)) {
  }
  if (!link.output.empty() && !flush()) return;
  parts_.readiness.watch_output(link);
}

void SendPath::count_answer(const SendOperation& operation) {
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - operation.asked_at_;
  parts_.state.counters.answers.add(static_cast<std::uint64_t>(taken.count()));
}

Result<void> SendPath::sync_acknowledged(const PacketHeader& header, WorldRank source) {
  const auto found = sends_.find(header.srqid);
  if (found == sends_.end())
    return broken(fmt::format("a SYNCACK of request {}, which awaits none", header.srqid));
  SendOperation& operation = *found->second;
  if (operation.destination != source) {
    return broken(fmt::format("a SYNCACK of request {}, a message to rank {}", header.srqid,
                              operation.destination));
  }
  if (operation.phase_ != SendOperation::Phase::kAwaitingSyncAck) {
    return broken(
        fmt::format("a SYNCACK of request {}, which has not asked for one", header.srqid));
  }
  Link& link = *parts_.peers.peer(source).link;
  if (operation.packets_queued_ > 0 && !link.output.has_begun(operation)) {
    return broken(fmt::format("a SYNCACK of request {}, whose message has not left", header.srqid));
  }
  sends_.erase(found);
  if (parts_.state.times_answers) [[unlikely]]
    count_answer(operation);
  if (operation.question_held_) forget_held(operation);
  operation.cancelling_ = false;
  operation.phase_ = SendOperation::Phase::kStreaming;
  operation.peer_request_id_ = header.drqid;
  if (operation.cursor_.position() == operation.cursor_.total()) {
    if (operation.packets_queued_ == 0) complete(operation);
    return {};
  }
  link.output.streams.push_back(&operation);
  parts_.sender.flush(link);
  return {};
}

void SendPath::cancel(SendOperation& operation) {
  using Phase = SendOperation::Phase;
  if (parts_.failure.happened() || operation.cancelling_) return;
  if (operation.phase_ == Phase::kHeldByFlowControl) {
    forget_held(operation);
    operation.result.cancelled = true;
    return complete(operation);
  }
  const bool may_be_unmatched =
      operation.phase_ == Phase::kQueued || operation.phase_ == Phase::kAwaitingSyncAck ||
      (operation.phase_ == Phase::kDone && operation.mode == SendMode::kStandard &&
       operation.cursor_.total() <= parts_.settings.datalen && !operation.result.error &&
       !operation.result.cancelled);
  if (!may_be_unmatched) return;
  if (parts_.state.lost.contains(parts_.settings.job.proc(operation.destination).client)) return;
  if (operation.phase_ == Phase::kDone) {
    // The buffer was free to reuse, but the message may still be unmatched at the receiver.
    operation.begin();
    ++pending_;
    operation.phase_ = Phase::kQueued;
  }
  operation.cancelling_ = true;
  sends_.emplace(operation.request_id_, &operation);
  Peer& to = parts_.peers.peer(operation.destination);
  if (to.marks.counts_control() && (!to.held.empty() || !to.send_credit.may_send(to.marks))) {
    operation.question_held_ = true;
    to.held.push_back(&operation);
    ++parts_.state.counters.flow_control_stalls;
    return;
  }
  ask_to_cancel(operation);
}

/// Sends CANCEL, which travels behind the message's first packet.
void SendPath::ask_to_cancel(SendOperation& operation) {
  operation.question_held_ = false;
  questions_.emplace(operation.request_id_, operation.destination);
  MessageFields question;
  question.type = PacketType::kCancel;
  question.srqid = operation.request_id_;
  send_control(operation.destination, question);
}

/// Removes a message, or its CANCEL, from the queue of messages that wait for credit.
void SendPath::forget_held(SendOperation& operation) {
  auto& held = parts_.peers.peer(operation.destination).held;
  const auto found = std::find(held.begin(), held.end(), &operation);
  IMPISHIM_ASSERT(found != held.end());
  held.erase(found);
  operation.question_held_ = false;
}

Result<void> SendPath::cancel_answered(const PacketHeader& header, WorldRank source) {
  const bool cancelled = header.type == PacketType::kCancelYes;
  const auto complaint = [&](const char* what) {
    return broken(fmt::format("a {} about request {}, {}", cancelled ? "CANCELYES" : "CANCELNO",
                              header.srqid, what));
  };
  const auto asked = questions_.find(header.srqid);
  if (asked == questions_.end() || asked->second != source)
    return complaint("of which it has not been asked");
  const auto found = sends_.find(header.srqid);
  if (found != sends_.end() && found->second->packets_queued_ > 0)
    return complaint("whose message has not left");
  questions_.erase(asked);
  if (found == sends_.end()) {
    // The message matched before the CANCEL arrived.
    if (cancelled) return complaint("whose message has matched");
    return {};
  }
  SendOperation& operation = *found->second;
  operation.cancelling_ = false;
  // A long or synchronous message that has matched continues with its own SYNCACK.
  if (!cancelled && operation.phase_ == SendOperation::Phase::kAwaitingSyncAck) return {};
  sends_.erase(found);
  operation.result.cancelled = cancelled;
  complete(operation);
  return {};
}

}  // namespace impishim::wire
