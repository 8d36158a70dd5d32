// SPDX-License-Identifier: Apache-2.0
// What a peer may say on the connections of a striped stream. Input: 1 byte (kind), 1 byte (seed of
// the splits), then what happens, one byte and its arguments each: frames on one of three strands,
// bytes that are none, other connections, and what this end does. Of another kind all the rest is
// what the peer says on the first strand.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/resend_buffer.hpp"
#include "wire/stripe/reorder_buffer.hpp"
#include "wire/stripe/stripe_frame.hpp"
#include "wire/stripe/striped_channel.hpp"

using impishim::Error;
using impishim::ErrorKind;
using impishim::fuzz::Input;
using namespace impishim::wire;
using test::ScriptedChannel;

namespace {

constexpr std::size_t kBound = 2000;
constexpr std::size_t kStrands = 3;
constexpr std::size_t kMostMemory = 2 * kBound + 4 * ResendBuffer::kBlockSize +
                                    (ReorderBuffer::kKeptBlocks + 2) * ReorderBuffer::kBlockSize;

/// Returns the byte of the peer's stream at a position.
std::byte byte_at(std::uint64_t position) { return static_cast<std::byte>(position * 37 % 251); }

class Stream {
 public:
  explicit Stream(unsigned seed) : random_(seed) {
    StripedChannel::Slots slots;
    for (auto& slot : slots_) {
      slot = ConnectionSlot::make(WakeEvent::make().value()).value();
      slots.push_back(slot);
    }
    channel_ = StripedChannel::make(next_connection(0), slots, {.kept = kBound}).value();
    for (std::size_t i = 1; i < kStrands; ++i) replace(i);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // A destructor that waits for room would wait for ever.
  ~Stream() {
    for (std::size_t i = 0; i < kStrands; ++i)
      if (alive(i)) strands_[i]->most_sent = ScriptedChannel::kAll;
  }

  void say(std::size_t strand, std::span<const std::byte> bytes) {
    honest_ = false;
    if (alive(strand)) test::append_bytes(strands_[strand]->input, bytes);
  }
  void say_frame(Input& input);
  void replace(std::size_t strand) {
    if (alive(strand)) strands_[strand]->most_sent = ScriptedChannel::kAll;
    slots_[strand]->deliver(next_connection(strand));
    receive();
  }
  void cut(std::size_t strand) {
    if (alive(strand)) strands_[strand]->error = Error{ErrorKind::kConnection, "cut"};
    receive();
  }
  void send(std::size_t size);
  void shut_down() { channel_->shutdown_output(); }
  /// Reads all that the peer has said, in pieces of odd sizes.
  void receive();

 private:
  [[nodiscard]] bool alive(std::size_t strand) const {
    return strands_[strand] != nullptr && *alive_[strand];
  }
  std::unique_ptr<Channel> next_connection(std::size_t strand) {
    auto next = std::make_unique<ScriptedChannel>();
    next->announce();
    strands_[strand] = next.get();
    alive_[strand] = next->alive;
    return next;
  }
  /// Splits the calls of the connections.
  void split() {
    for (std::size_t i = 0; i < kStrands; ++i) {
      if (!alive(i)) continue;
      strands_[i]->most_read = random_() % 3 == 0 ? ScriptedChannel::kAll : 1 + random_() % 40;
      strands_[i]->most_sent = random_() % 3 == 0 ? ScriptedChannel::kAll : random_() % 40;
    }
  }
  void end(const Error& error) {
    FUZZ_REQUIRE(error.kind == ErrorKind::kProtocol || error.kind == ErrorKind::kConnection);
    ended_ = true;
  }

  std::mt19937 random_;
  std::array<std::shared_ptr<ConnectionSlot>, kStrands> slots_;
  std::array<ScriptedChannel*, kStrands> strands_{};
  std::array<std::shared_ptr<bool>, kStrands> alive_;
  std::unique_ptr<Channel> channel_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  bool honest_ = true;  ///< all bytes of data were those of the peer's stream
  bool ended_ = false;
};

void Stream::say_frame(Input& input) {
  constexpr std::array kTypes = {StripeFrameType::kResume,      StripeFrameType::kData,
                                 StripeFrameType::kData,        StripeFrameType::kData,
                                 StripeFrameType::kAcknowledge, StripeFrameType::kEnd,
                                 StripeFrameType::kQuestion};
  const std::size_t strand = input.byte() % kStrands;
  StripeFrame frame;
  frame.type = kTypes[input.byte() % kTypes.size()];
  frame.received = input.byte() % (sent_ + 2);
  const std::uint64_t place = received_ + input.byte() * std::uint64_t{8};
  const bool data = frame.type == StripeFrameType::kData;
  if (data || frame.type == StripeFrameType::kEnd)
    frame.place = place - std::min(place, std::uint64_t{40});
  std::vector<std::byte> bytes(data ? 1U + input.byte() : 0U);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(frame.place + i);
  frame.size = static_cast<std::uint32_t>(bytes.size());
  if (!alive(strand)) return;
  test::append_bytes(strands_[strand]->input, encode_stripe_frame(frame));
  test::append_bytes(strands_[strand]->input, bytes);
}

void Stream::send(std::size_t size) {
  if (ended_) return;
  split();
  std::vector<std::byte> bytes(size);
  const iovec one = {bytes.data(), bytes.size()};
  const auto sent = channel_->try_send(std::span(&one, 1));
  if (!sent) return end(sent.error());
  FUZZ_REQUIRE(*sent <= size);
  sent_ += *sent;
}

void Stream::receive() {
  std::array<std::byte, 300> room{};
  for (int quiet = 0; quiet < 3 && !ended_;) {
    split();
    std::vector<iovec> pieces;
    for (std::size_t used = 0, count = random_() % 24; pieces.size() < count;) {
      const std::size_t size = std::min<std::size_t>(random_() % 20, room.size() - used);
      pieces.push_back({room.data() + used, size});
      used += size;
    }
    const auto got = channel_->try_receive(pieces);
    FUZZ_REQUIRE(static_cast<const StripedChannel&>(*channel_).memory() <= kMostMemory);
    if (!got) return end(got.error());
    quiet = *got > 0 ? 0 : quiet + 1;
    for (std::size_t i = 0; honest_ && i < *got; ++i)
      FUZZ_REQUIRE(room[i] == byte_at(received_ + i));
    received_ += *got;
  }
}

void run(Stream& stream, Input& input) {
  while (!input.empty()) {
    switch (input.byte() % 16) {
      case 0: {
        const std::size_t strand = input.byte() % kStrands;
        stream.say(strand, input.bytes(input.byte()));
        break;
      }
      case 1:
        stream.replace(input.byte() % kStrands);
        break;
      case 2:
        stream.cut(input.byte() % kStrands);
        break;
      case 3:
        stream.shut_down();
        break;
      case 4:
      case 5:
        stream.send(input.byte() * std::size_t{4});
        break;
      case 6:
      case 7:
        stream.receive();
        break;
      default:
        stream.say_frame(input);
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto kind = input.byte();
  Stream stream(input.byte());
  if (kind % 4 != 0) {
    run(stream, input);
  } else {
    stream.say(0, input.rest());
  }
  stream.receive();
  return 0;
}
