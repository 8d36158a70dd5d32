// SPDX-License-Identifier: Apache-2.0
#include "wire/link/link_output.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/link/inline_payload.hpp"
#include "wire/link/packet_queue.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

iovec piece_of(std::span<const std::byte> bytes) {
  // An iovec serves reading and writing alike, so it has no const form.
  return {const_cast<std::byte*>(bytes.data()),
          bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

/// Returns true if the packet tells the peer that the job or a client of it has ended.
bool tells_of_an_end(const OutgoingPacket& packet) {
  if (packet.batch) return false;
  const auto type = load_big_endian<std::uint32_t>(packet.header.data());
  return type == static_cast<std::uint32_t>(PacketType::kAbort) ||
         type == static_cast<std::uint32_t>(PacketType::kLost);
}

}  // namespace

LinkOutput::LinkOutput(Link& link, OutputOwner& owner, Channel& channel, BufferPool& buffers)
    : link_(link), owner_(owner), channel_(channel), buffers_(buffers) {}

/// Returns true if the packet must wait for credit; it is then queued behind the others that wait.
bool LinkOutput::hold_without_credit(OutgoingPacket& packet) {
  if (!packet.to_be_relayed) return false;
  if (credit_exhausted()) {
    held_.push_back(std::move(packet));
    return true;
  }
  credit.sent(packet.size());
  return false;
}

void LinkOutput::enqueue(OutgoingPacket&& packet) {
  if (hold_without_credit(packet)) return;
  batched_ += packet.size();
  queue_up(std::move(packet));
}

/// Queues the packet behind all queued packets.
void LinkOutput::queue_up(OutgoingPacket&& packet) {
  if (packet.payload.size() <= kMaxInlinePayload) return add_to_batch(std::move(packet));
  seal_batch();
  // A packet that was just packed leaves while it is still in the processor's caches, and few
  // buffers are in use.
  if (packet.owned) burst_limit_ = kMinBurst;
  queue_.push_back(std::move(packet));
}

/// Returns room for `size` more bytes at the end of the batch, or of a new batch.
std::byte* LinkOutput::extend_batch(std::size_t size, Link* relayed_from) {
  std::size_t batched = batch_.payload.size();
  // All packets of a batch came by one link, or by none, since one link is credited for it.
  if (batched > 0 && (batched + size > kBatchCapacity || batch_.relayed_from != relayed_from)) {
    seal_batch();
    batched = 0;
  }
  if (!batch_.owned) {
    batch_.owned = buffers_.take(kBatchCapacity);
    batch_.batch = true;
  }
  batch_.payload = batch_.owned.first(batched + size);
  batch_.relayed_from = relayed_from;
  return batch_.owned.data() + batched;
}

void LinkOutput::add_to_batch(OutgoingPacket&& packet) {
  const std::size_t payload = packet.payload.size();
  write_packet(packet.header, packet.payload,
               extend_batch(kPacketHeaderSize + payload, packet.relayed_from));
  count_copy(payload);
  if (packet.owned) buffers_.put(std::move(packet.owned));
  (packet.passes_through ? passed_on : sent).count(kPacketHeaderSize + payload);
  if (packet.operation != nullptr) owner_.packet_left(*packet.operation);
}

std::byte* LinkOutput::append(std::size_t payload, bool to_be_relayed) {
  const std::size_t size = kPacketHeaderSize + payload;
  if (to_be_relayed) credit.sent(size);
  batched_ += size;
  sent.count(size);
  count_copy(payload);
  return extend_batch(size, nullptr);
}

Result<void> LinkOutput::send_alone(std::span<const std::byte> packet, bool to_be_relayed) {
  IMPISHIM_ASSERT(empty());
  if (to_be_relayed) credit.sent(packet.size());
  sent.count(packet.size());
  count_copy(packet.size() - kPacketHeaderSize);
  auto taken = send_piece(packet);
  if (!taken) return taken.error();
  if (*taken < packet.size()) queue_rest(packet, *taken);
  return {};
}

void LinkOutput::queue_rest(std::span<const std::byte> packet, std::size_t taken) {
  std::memcpy(extend_batch(packet.size(), nullptr), packet.data(), packet.size());
  count_copy(packet.size() - kPacketHeaderSize);
  sent_of_first_ = taken;
  seal_batch();
}

bool LinkOutput::enqueue_relayed(std::span<const std::byte> packet, Link& from,
                                 bool to_be_relayed) {
  if (to_be_relayed) {
    if (credit_exhausted()) return false;
    credit.sent(packet.size());
  }
  batched_ += packet.size();
  std::memcpy(extend_batch(packet.size(), &from), packet.data(), packet.size());
  count_copy(packet.size() - kPacketHeaderSize);
  passed_on.count(packet.size());
  return true;
}

void LinkOutput::seal_batch() {
  if (batch_.payload.empty()) return;
  queue_.push_back(std::exchange(batch_, {}));
}

/// Sends the batch directly, without the queue, which is empty. Returns false if the channel is
/// full.
Result<bool> LinkOutput::send_batch() {
  auto sent = send_piece(batch_.payload);
  if (!sent) return sent.error();
  if (*sent < batch_.payload.size()) {
    sent_of_first_ = *sent;
    seal_batch();
    return false;
  }
  const std::size_t size = batch_.payload.size();
  Link* const relayed_from = batch_.relayed_from;
  buffers_.put(std::move(batch_.owned));
  batch_.payload = {};
  batch_.relayed_from = nullptr;
  if (relayed_from != nullptr) owner_.passed_on(*relayed_from, size);
  return true;
}

std::size_t LinkOutput::payload_size(std::span<const std::byte, kPacketHeaderSize> header) {
  PacketHeader decoded;
  const auto result =
      decode_packet_header(header, std::numeric_limits<std::uint32_t>::max(), decoded);
  IMPISHIM_ASSERT(result.ok());
  return decoded.payload_size();
}

void LinkOutput::release_held() {
  while (!held_.empty() && credit.may_send()) {
    credit.sent(held_.front().size());
    OutgoingPacket packet = std::move(held_.front());
    held_.pop_front();
    queue_up(std::move(packet));
  }
}

/// Accounts for a packet that the channel has taken entirely.
void LinkOutput::has_left(OutgoingPacket& packet) {
  buffers_.put(std::move(packet.owned));
  if (!packet.batch) (packet.passes_through ? passed_on : sent).count(packet.size());
  if (packet.relayed_from != nullptr) owner_.passed_on(*packet.relayed_from, packet.size());
}

Result<void> LinkOutput::send(OutgoingPacket&& packet) {
  if (hold_without_credit(packet)) return {};
  if (empty()) {
    auto sent = send_now(packet);
    if (!sent) return sent.error();
    if (*sent == packet.size()) {
      has_left(packet);
      if (packet.operation != nullptr) owner_.packet_left(*packet.operation);
      return {};
    }
    sent_of_first_ = *sent;
    queue_.push_back(std::move(packet));
    return {};
  }
  seal_batch();
  queue_.push_back(std::move(packet));
  if (wants_output) return {};
  auto flushed = flush();
  if (!flushed) return flushed.error();
  return {};
}

Result<void> LinkOutput::send_deferred(OutgoingPacket&& packet) {
  if (!empty()) return send(std::move(packet));
  queue_.push_back(std::move(packet));
  has_deferred_ = true;
  return {};
}

/// Hands bytes to the channel. Returns how many it has taken.
Result<std::size_t> LinkOutput::hand_over(std::span<const iovec> pieces) {
  ++send_calls;
  auto taken = channel_.try_send(pieces);
  if (taken && *taken > 0) batches.add(*taken);
  return taken;
}

Result<std::size_t> LinkOutput::send_piece(std::span<const std::byte> bytes) {
  const iovec piece = piece_of(bytes);
  return hand_over(std::span(&piece, 1));
}

Result<std::size_t> LinkOutput::send_now(const OutgoingPacket& packet) {
  if (packet.payload.size() <= kMaxInlinePayload) {
    // Copying a short payload behind its header is cheaper than a call with two pieces.
    std::array<std::byte, kPacketHeaderSize + kMaxInlinePayload> whole;
    write_packet(packet.header, packet.payload, whole.data());
    count_copy(packet.payload.size());
    return send_piece(std::span(whole).first(kPacketHeaderSize + packet.payload.size()));
  }
  const std::array<iovec, 2> pieces = {piece_of(packet.header), piece_of(packet.payload)};
  return hand_over(pieces);
}

std::size_t LinkOutput::gather_pieces(std::array<iovec, kMaxPieces>& pieces) const {
  std::size_t count = 0;
  std::size_t skip = sent_of_first_;
  for (const OutgoingPacket& packet : queue_) {
    if (count + 2 > kMaxPieces) break;
    std::span<const std::byte> header = packet.head();
    std::span<const std::byte> payload = packet.payload;
    const std::size_t of_header = std::min(skip, header.size());
    header = header.subspan(of_header);
    payload = payload.subspan(skip - of_header);
    skip = 0;
    if (!header.empty()) pieces[count++] = piece_of(header);
    if (!payload.empty()) pieces[count++] = piece_of(payload);
  }
  return count;
}

std::size_t LinkOutput::drop_sent(std::size_t bytes) {
  std::size_t packets = 0;
  sent_of_first_ += bytes;
  while (!queue_.empty()) {
    OutgoingPacket& first = queue_.front();
    if (sent_of_first_ < first.size()) break;
    sent_of_first_ -= first.size();
    has_left(first);
    SendOperation* operation = first.operation;
    queue_.pop_front();
    ++packets;
    if (operation != nullptr) owner_.packet_left(*operation);
  }
  return packets;
}

std::vector<SendOperation*> LinkOutput::drop_all() {
  std::vector<SendOperation*> operations(streams.begin(), streams.end());
  operations.insert(operations.end(), awaiting_credit.begin(), awaiting_credit.end());
  for (const auto* packets : {&queue_, &held_}) {
    for (const OutgoingPacket& packet : *packets) {
      if (packet.operation != nullptr) operations.push_back(packet.operation);
    }
  }
  queue_.clear();
  batch_ = {};
  held_.clear();
  has_deferred_ = false;
  batched_ = 0;
  sent_of_first_ = 0;
  streams.clear();
  awaiting_credit.clear();
  return operations;
}

void LinkOutput::return_credit_of_relayed() {
  const auto give_back = [this](OutgoingPacket& packet) {
    Link* const from = std::exchange(packet.relayed_from, nullptr);
    if (from != nullptr) owner_.passed_on(*from, packet.size());
  };
  for (OutgoingPacket& packet : queue_) give_back(packet);
  for (OutgoingPacket& packet : held_) give_back(packet);
  if (!batch_.payload.empty()) give_back(batch_);
}

std::vector<SendOperation*> LinkOutput::drop_all_but_aborts() {
  PacketQueue<OutgoingPacket> kept;
  for (OutgoingPacket& packet : queue_) {
    const bool begun = kept.empty() && sent_of_first_ > 0 && &packet == &queue_.front();
    if (!begun && !tells_of_an_end(packet)) continue;
    OutgoingPacket keep;
    keep.header = packet.header;
    keep.batch = packet.batch;
    keep.owned = buffers_.take(packet.payload.size());
    // The payload may be in the user's memory, which the user may change as soon as the operation
    // is complete.
    if (!packet.payload.empty())
      std::memcpy(keep.owned.data(), packet.payload.data(), packet.payload.size());
    keep.payload = keep.owned.first(packet.payload.size());
    kept.push_back(std::move(keep));
  }
  const std::size_t begun = sent_of_first_;
  auto operations = drop_all();
  queue_ = std::move(kept);
  sent_of_first_ = begun;
  return operations;
}

Result<std::size_t> LinkOutput::flush() {
  std::size_t packets = 0;
  has_deferred_ = false;
  batched_ = 0;
  if (queue_.empty() && !batch_.payload.empty() && streams.empty()) {
    auto sent = send_batch();
    if (!sent) return sent.error();
    return *sent ? 1 : 0;
  }
  for (;;) {
    refill();
    seal_batch();
    if (queue_.empty()) return packets;
    std::array<iovec, kMaxPieces> pieces;
    const std::size_t count = gather_pieces(pieces);
    const bool whole = queue_.size() >= burst_limit_ && sent_of_first_ == 0;
    auto sent = hand_over(std::span(pieces).first(count));
    if (!sent) return sent.error();
    packets += drop_sent(*sent);
    if (!queue_.empty()) burst_limit_ = kMinBurst;
    if (*sent == 0) return packets;
    if (whole && queue_.empty()) burst_limit_ = std::min(2 * burst_limit_, kMaxBurst);
  }
}

/// Queues enough packets of long messages to fill the channel with one call. They are of one
/// message as long as it has packets left; then the next message has its turn.
void LinkOutput::refill() {
  if (streams.empty()) return;
  bool filled = false;
  while (queue_.size() < burst_limit_ && owner_.refill(link_)) filled = true;
  if (!filled || streams.size() < 2) return;
  streams.push_back(streams.front());
  streams.pop_front();
}

}  // namespace impishim::wire
