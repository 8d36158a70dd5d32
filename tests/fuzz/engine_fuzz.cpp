// SPDX-License-Identifier: Apache-2.0
// An engine among malicious neighbours, while its program starts, cancels, completes and frees
// operations. Input: 1 byte (the job), then steps: 1 byte (what happens) and what that step reads
// (see Session). Honest steps keep the job going: most packets that IMPI forbids end it.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/wire/engine/raw_neighbours.hpp"
#include "wire/message/flow_control.hpp"

using impishim::fuzz::Input;
using impishim::wire::BasicType;
using impishim::wire::Envelope;
using impishim::wire::FlowMarks;
using impishim::wire::kAnySource;
using impishim::wire::kAnyTag;
using impishim::wire::kPacketHeaderSize;
using impishim::wire::MatchedMessagePointer;
using impishim::wire::PacketHeader;
using impishim::wire::PacketType;
using impishim::wire::ReceiveCredit;
using impishim::wire::ReceiveOperation;
using impishim::wire::SendCredit;
using impishim::wire::SendMode;
using impishim::wire::SendOperation;
using impishim::wire::TypeLayout;
using impishim::wire::test::JobShape;
using impishim::wire::test::RawLink;
using impishim::wire::test::RawNeighbours;

namespace {

constexpr std::uint32_t kDatalen = 1500;  // above what is copied for sending
constexpr std::array<std::size_t, 8> kSizes = {0, 1, 100, 1024, 1025, 1500, 1501, 5000};
constexpr auto kSent = std::byte{0x5A};  ///< what sends carry
constexpr auto kWrittenLater =
    std::byte{0xDD};  ///< what the program writes to a buffer that is its own again
constexpr std::size_t kSlots = 8;

/// The engine is rank 1, on host 1 with rank 2. Rank 0 is on host 0, rank 3 on host 2.
JobShape shape(unsigned setting) {
  JobShape shape;
  shape.procs_of_hosts = {{1}, {2}, {1}};
  shape.values.datalen = kDatalen;
  shape.values.ackmark = 1 + (setting & 3U);
  shape.values.hiwater = shape.values.ackmark + (setting >> 2U & 3U);
  if ((setting & 0x10U) != 0) shape.foreign = {0};
  // Otherwise rank 2 relays for rank 3.
  if ((setting & 0x20U) != 0) shape.gateways = {-1, 0, -1};
  return shape;
}

/// The buffer is given back, overwritten, as soon as the operation is complete.
template <class Operation>
struct Owned {
  explicit Owned(std::size_t size) : buffer(std::make_unique<std::vector<std::byte>>(size, kSent)) {
    operation.buffer = {buffer->data(), size, &TypeLayout::basic(BasicType::kByte)};
  }
  void reuse_if_complete() {
    if (!operation.complete() || buffer == nullptr) return;
    buffer->assign(buffer->size(), kWrittenLater);
    buffer.reset();
  }
  std::unique_ptr<std::vector<std::byte>> buffer;
  Operation operation;
};

/// Another process as IMPI has it: what it owes the engine, and how much it may send.
struct Neighbour {
  Neighbour(int rank_, const FlowMarks& marks_) : rank(rank_), marks(marks_) {}
  int rank;
  FlowMarks marks;
  SendCredit ahead_of_engine;
  ReceiveCredit from_engine;
  std::deque<PacketHeader> to_answer;  ///< DATASYNC and CANCEL of the engine's
  std::set<std::uint64_t> answered;    ///< request ids of the engine's messages that have matched
  std::deque<PacketHeader>
      rests;  ///< of its long messages, after their SYNCACK: what is left is in `len`
  std::deque<std::uint64_t> messages;  ///< request ids of its latest messages, to be cancelled
  std::map<std::uint64_t, std::uint64_t>
      unmatched;  ///< lengths of its long messages without a SYNCACK, by request id
};

class Session {
 public:
  Session(unsigned setting, std::uint32_t seed)
      : near_(shape(setting), 1, (setting & 0x40U) != 0 ? 300 : 1U << 20U,
              (setting & 0x80U) != 0 ? seed | 1U : 0) {
    for (const int rank : {0, 2, 3}) {
      const auto client = static_cast<std::size_t>(near_.job().proc(rank).client);
      const auto& values = near_.job().values();
      neighbours_.emplace_back(rank,
                               near_.job().clients()[client].impishim
                                   ? FlowMarks::by_size(values.ackmark, values.hiwater, kDatalen)
                                   : FlowMarks::of_packets(values.ackmark, values.hiwater));
    }
  }

  /// Nothing more can happen.
  [[nodiscard]] bool over() const { return near_.engine->failure() != nullptr; }

  void step(unsigned what, Input& input) {
    static constexpr std::array<void (Session::*)(Input&), 16> kSteps = {
        &Session::start_send,    &Session::start_receive, &Session::cancel,
        &Session::free_complete, &Session::probe,         &Session::poll,
        &Session::listen,        &Session::listen,        &Session::answer,
        &Session::say_message,   &Session::say_rest,      &Session::say_cancel,
        &Session::say_doubled,   &Session::forge_control, &Session::forge_any,
        &Session::end_something,
    };
    (this->*kSteps.at(what % kSteps.size()))(input);
    check();
  }

  /// A failure completes everything, and comes of what is wrong only.
  void check() {
    FUZZ_REQUIRE(!over() || forged_ || cut_);
    for (auto& each : sends_) {
      if (each) each->reuse_if_complete();
      FUZZ_REQUIRE(!each || !over() || each->operation.complete());
    }
    for (auto& each : receives_) {
      if (each) each->reuse_if_complete();
      FUZZ_REQUIRE(!each || !over() || each->operation.complete());
    }
  }

  /// What is still on its way carries nothing that was written later.
  void drain() {
    for (Neighbour& each : neighbours_) hear_all(each);
  }

 private:
  Neighbour& any(Input& input) { return neighbours_[input.byte() % neighbours_.size()]; }
  RawLink& link_of(const Neighbour& neighbour) { return near_.link_of(neighbour.rank); }

  // What the program does.

  void start_send(Input& input) {
    const unsigned how = input.byte();
    auto& slot = sends_[how % kSlots];
    if (closed_ || (slot && !slot->operation.complete())) return;
    slot = std::make_unique<Owned<SendOperation>>(kSizes[how / kSlots % kSizes.size()]);
    slot->operation.destination = any(input).rank;
    slot->operation.source_rank = 1;
    slot->operation.mode = how >= 128 ? SendMode::kSynchronous : SendMode::kStandard;
    near_.engine->start(slot->operation);
  }

  void start_receive(Input& input) {
    const unsigned how = input.byte();
    auto& slot = receives_[how % kSlots];
    if (slot && !slot->operation.complete()) return;
    slot = std::make_unique<Owned<ReceiveOperation>>(kSizes[how / kSlots % kSizes.size()]);
    slot->operation.source = how >= 128 ? kAnySource : any(input).rank;
    slot->operation.tag = kAnyTag;
    if (matched_ != nullptr)
      return near_.engine->start_matched(slot->operation, std::move(matched_));
    near_.engine->start(slot->operation);
  }

  void cancel(Input& input) {
    const unsigned how = input.byte();
    if (how >= 128) {
      if (auto& slot = receives_[how % kSlots]) near_.engine->cancel(slot->operation);
    } else if (auto& slot = sends_[how % kSlots]) {
      near_.engine->cancel(slot->operation);
    }
  }

  void free_complete(Input& input) {
    const unsigned how = input.byte();
    auto& send = sends_[how % kSlots];
    if (send && send->operation.complete()) send.reset();
    auto& receive = receives_[how % kSlots];
    if (receive && receive->operation.complete()) receive.reset();
  }

  void probe(Input& input) {
    const unsigned how = input.byte();
    if (how % 4 == 3) return near_.engine->forget_context(0);
    static_cast<void>(near_.engine->probe(0, kAnySource, kAnyTag));
    Envelope envelope;
    if (how % 4 == 0 && matched_ == nullptr)
      matched_ = near_.engine->match_probe(0, kAnySource, kAnyTag, envelope);
  }

  void poll(Input& input) { near_.poll(input.byte() % 2 == 0); }

  // What its neighbours do that is right.

  void listen(Input& input) { hear_all(any(input)); }

  /// Everything that has come over the neighbour's link, for whomever.
  void hear_all(Neighbour& neighbour) {
    while (const auto packet = near_.hear(link_of(neighbour))) {
      for (const std::byte each : packet->payload) {
        FUZZ_REQUIRE(each != kWrittenLater || packet->header.type == PacketType::kAbort);
      }
      for (Neighbour& each : neighbours_) {
        if (packet->header.dest == near_.id_of(each.rank)) take(each, packet->header);
      }
    }
  }

  void take(Neighbour& to, const PacketHeader& header) {
    known_ids_[next_known_++ % known_ids_.size()] = header.drqid != 0 ? header.drqid : header.srqid;
    bool due = false;
    switch (header.type) {
      case PacketType::kProtoAck:
        FUZZ_REQUIRE(to.ahead_of_engine.acknowledged(to.marks) || forged_);
        return;
      case PacketType::kData:
      case PacketType::kDataSync: {
        const bool rest = header.type == PacketType::kData && header.msglen > kDatalen;
        const std::uint32_t payload = rest ? FlowMarks::kRestPayload : header.len;
        // What the others forge takes no part in their accounts.
        FUZZ_REQUIRE(to.from_engine.packet_arrived(to.marks, payload) || forged_);
        due = to.from_engine.packet_received(to.marks, payload);
        break;
      }
      default:
        due = to.from_engine.control_received(to.marks);
    }
    if (header.type == PacketType::kDataSync || header.type == PacketType::kCancel)
      to.to_answer.push_back(header);
    if (header.type == PacketType::kSyncAck) matched(to, header);
    if (due) say(to, near_.header(to.rank, PacketType::kProtoAck, 0));
  }

  /// The rest of a long message may follow.
  void matched(Neighbour& to, const PacketHeader& header) {
    const auto found = to.unmatched.find(header.srqid);
    if (found == to.unmatched.end()) return;
    PacketHeader rest = near_.header(to.rank, PacketType::kData, header.srqid);
    rest.drqid = header.drqid;
    rest.msglen = found->second;
    rest.len = static_cast<std::uint32_t>(found->second - kDatalen);
    to.unmatched.erase(found);
    to.rests.push_back(rest);
  }

  void say(Neighbour& from, const PacketHeader& header) {
    latest_ = header;
    near_.say(link_of(from), header);
  }

  /// What has waited longest, or, by choice, the first CANCEL, before the message that it asks
  /// about has matched.
  void answer(Input& input) {
    Neighbour& from = any(input);
    const unsigned how = input.byte();
    auto asked = from.to_answer.begin();
    if (how % 4 >= 2) {
      asked = std::ranges::find(from.to_answer, PacketType::kCancel, &PacketHeader::type);
    }
    if (asked == from.to_answer.end()) return;
    const std::uint64_t request = asked->srqid;
    const bool cancel = asked->type == PacketType::kCancel;
    from.to_answer.erase(asked);
    PacketHeader header = near_.header(from.rank, PacketType::kSyncAck, request);
    header.drqid = how;
    if (cancel) header.type = answer_to_cancel(from, request, how % 2 == 0);
    if (!cancel) from.answered.insert(request);
    from.ahead_of_engine.control_sent(from.marks);
    say(from, header);
  }

  /// A short message that asks for no answer may have matched or not.
  static PacketType answer_to_cancel(Neighbour& from, std::uint64_t request,
                                     bool short_one_is_there) {
    const auto unmatched = std::ranges::find(from.to_answer, request, &PacketHeader::srqid);
    if (unmatched != from.to_answer.end()) {
      from.to_answer.erase(unmatched);
      return PacketType::kCancelYes;
    }
    const bool there = short_one_is_there && from.answered.count(request) == 0;
    return there ? PacketType::kCancelYes : PacketType::kCancelNo;
  }

  void say_message(Input& input) {
    Neighbour& from = any(input);
    const unsigned how = input.byte();
    if (!from.ahead_of_engine.may_send(from.marks)) return;
    const std::size_t size = kSizes[how % kSizes.size()];
    PacketHeader header = near_.header(from.rank, PacketType::kData, next_request_++);
    header.len = static_cast<std::uint32_t>(std::min<std::size_t>(size, kDatalen));
    header.msglen = size;
    if (size > kDatalen || how >= 128) header.type = PacketType::kDataSync;
    if (size > kDatalen) from.unmatched[header.srqid] = size;
    from.messages.push_back(header.srqid);
    from.ahead_of_engine.packet_sent(from.marks, header.len);
    say(from, header);
  }

  void say_rest(Input& input) {
    Neighbour& from = any(input);
    if (from.rests.empty() || !from.ahead_of_engine.may_send(from.marks)) return;
    PacketHeader header = from.rests.front();
    const std::uint32_t size = std::min(header.len, kDatalen);
    from.rests.front().len -= size;
    if (from.rests.front().len == 0) from.rests.pop_front();
    header.len = size;
    from.ahead_of_engine.packet_sent(from.marks, FlowMarks::kRestPayload);
    say(from, header);
  }

  void say_cancel(Input& input) {
    Neighbour& from = any(input);
    const bool waits = from.marks.counts_control() && !from.ahead_of_engine.may_send(from.marks);
    if (from.messages.empty() || waits) return;
    const std::uint64_t request = from.messages.front();
    from.messages.pop_front();
    from.ahead_of_engine.control_sent(from.marks);
    say(from, near_.header(from.rank, PacketType::kCancel, request));
  }

  // What they do that is wrong, or may be.

  void say_doubled(Input& input) {
    forged_ = true;
    if (latest_) say(any(input), *latest_);
  }

  /// An acknowledgement of a request that is known, or guessed.
  void forge_control(Input& input) {
    static constexpr std::array<PacketType, 8> kTypes = {
        PacketType::kSyncAck,  PacketType::kCancelYes, PacketType::kCancelNo,  PacketType::kCancel,
        PacketType::kProtoAck, PacketType::kSyncAck,   PacketType::kCancelYes, PacketType::kData};
    forged_ = true;
    Neighbour& from = any(input);
    const PacketType type = kTypes[input.byte() % kTypes.size()];
    PacketHeader header = near_.header(from.rank, type, id(input));
    header.drqid = id(input);
    say(from, header);
  }

  /// A header of which everything may be wrong.
  void forge_any(Input& input) {
    static constexpr std::array<std::uint64_t, 8> kLengths = {
        0, 1, 100, 1025, kDatalen, kDatalen + 1, 5000, ~std::uint64_t{0}};
    static constexpr std::array<std::uint32_t, 12> kTypes = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 0x49530001, 0x49530002, 0x49530003};
    forged_ = true;
    Neighbour& over = any(input);
    const int from = input.byte() % 4;
    const auto type = static_cast<PacketType>(kTypes[input.byte() % kTypes.size()]);
    PacketHeader header = near_.header(from, type, id(input));
    header.dest = near_.id_of(input.byte() % 8 == 0 ? 3 : 1);
    header.drqid = id(input);
    header.len = static_cast<std::uint32_t>(kLengths[input.byte() % 7]);
    header.msglen = kLengths[input.byte() % kLengths.size()];
    header.tag = static_cast<std::int32_t>(input.byte()) - 1;
    header.cid = input.byte() % 3;
    std::vector<std::byte> bytes(kPacketHeaderSize +
                                 std::min<std::size_t>(header.payload_size(), 8192));
    encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
    // Cut short now and then, so that another packet's bytes are taken for its payload.
    const std::size_t cut = input.byte();
    near_.say_bytes(
        link_of(over),
        std::span(bytes).first(bytes.size() - (cut < 32 ? std::min(cut, bytes.size()) : 0)));
  }

  void end_something(Input& input) {
    Neighbour& from = any(input);
    switch (input.byte() % 8) {
      case 0:
        closed_ = true;
        return near_.engine->close();
      case 1:
        cut_ = true;
        return link_of(from).cut();
      case 2:
        // What is said after it is wrong.
        forged_ = true;
        return say(from, near_.header(from.rank, PacketType::kFini, 0));
      default:
        return hear_all(from);
    }
  }

  std::uint64_t id(Input& input) {
    const unsigned which = input.byte();
    if (which < 64) return which;
    if (which < 192) return known_ids_[which % known_ids_.size()];
    if (which < 224) return known_ids_[which % known_ids_.size()] + which - 200;
    // Where the engine would keep an operation, if it took ids for their addresses.
    const auto& slot = sends_[which % kSlots];
    return slot ? reinterpret_cast<std::uintptr_t>(&slot->operation) : ~std::uint64_t{0};
  }

  RawNeighbours near_;
  std::vector<Neighbour> neighbours_;
  std::array<std::unique_ptr<Owned<SendOperation>>, kSlots> sends_;
  std::array<std::unique_ptr<Owned<ReceiveOperation>>, kSlots> receives_;
  MatchedMessagePointer matched_;
  std::optional<PacketHeader> latest_;
  std::array<std::uint64_t, 8> known_ids_{};
  std::size_t next_known_ = 0;
  std::uint64_t next_request_ = 1;
  bool closed_ = false;
  bool cut_ = false;
  bool forged_ = false;  ///< the neighbours' accounts no longer hold
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const unsigned setting = input.byte();
  Session session(setting, static_cast<std::uint32_t>(size));
  while (!input.empty() && !session.over()) session.step(input.byte(), input);
  session.drain();
  return 0;
}
