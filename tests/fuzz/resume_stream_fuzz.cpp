// SPDX-License-Identifier: Apache-2.0
// What a peer may say on the connections of a resumable stream. Input: 1 byte (kind), 1 byte (seed
// of the splits), then what happens, one byte and its arguments each: frames, bytes that are none,
// other connections, and what this end does. Of another kind all the rest is what the peer says.
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
#include "wire/resume/resumable_channel.hpp"
#include "wire/resume/resume_frame.hpp"

using impishim::Error;
using impishim::ErrorKind;
using impishim::fuzz::Input;
using namespace impishim::wire;
using test::ScriptedChannel;

namespace {

constexpr std::size_t kBound = 2000;

/// Returns the bytes of the stream in what came over a connection, up to the first frame that may
/// not come there.
std::vector<std::byte> payload_of(std::span<const std::byte> said) {
  std::vector<std::byte> payload;
  bool begun = false;
  bool ended = false;
  while (said.size() >= ResumeFrame::kHeaderSize) {
    const auto frame = decode_resume_frame(said.first<ResumeFrame::kHeaderSize>());
    if (!frame || begun == (frame->type == ResumeFrameType::kResume)) break;
    if (ended && frame->type == ResumeFrameType::kData) break;
    begun = true;
    ended = ended || frame->type == ResumeFrameType::kEnd;
    said = said.subspan(ResumeFrame::kHeaderSize);
    const std::size_t size = std::min<std::size_t>(frame->size, said.size());
    test::append_bytes(payload, said.first(size));
    said = said.subspan(size);
  }
  return payload;
}

class Stream {
 public:
  explicit Stream(unsigned seed) : random_(seed) {
    channel_ = ResumableChannel::make(next_connection(), slot_, {.kept = kBound}).value();
  }

  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // A destructor that waits for room would wait for ever.
  ~Stream() { make_room(); }

  void say(std::span<const std::byte> bytes) {
    if (*alive_) test::append_bytes(connection_->input, bytes);
  }
  void say_frame(Input& input);
  void replace() {
    slot_->deliver(next_connection());
    receive();
  }
  void send(std::size_t size);
  void shut_down() { channel_->shutdown_output(); }
  /// Reads all that the peer has said, in pieces of odd sizes.
  void receive();

 private:
  std::unique_ptr<Channel> next_connection() {
    make_room();
    auto next = std::make_unique<ScriptedChannel>();
    connection_ = next.get();
    alive_ = next->alive;
    got_.clear();
    return next;
  }
  void make_room() {
    if (*alive_) connection_->most_sent = ScriptedChannel::kAll;
  }
  /// Splits the calls of the connection.
  void split() {
    if (!*alive_) return;
    connection_->most_read = random_() % 3 == 0 ? ScriptedChannel::kAll : 1 + random_() % 40;
    connection_->most_sent = random_() % 3 == 0 ? ScriptedChannel::kAll : random_() % 40;
  }
  /// Checks that what came is what the peer has said, if the connection is not lost.
  void check_bytes() {
    if (!*alive_) return;
    const auto payload = payload_of(connection_->input);
    FUZZ_REQUIRE(got_.size() <= payload.size());
    FUZZ_REQUIRE(std::equal(got_.begin(), got_.end(), payload.begin()));
    if (connection_->read == connection_->input.size()) FUZZ_REQUIRE(got_.size() == payload.size());
  }
  void end(const Error& error) {
    FUZZ_REQUIRE(error.kind == ErrorKind::kProtocol || error.kind == ErrorKind::kConnection);
    ended_ = true;
  }

  std::mt19937 random_;
  std::shared_ptr<ConnectionSlot> slot_ = ConnectionSlot::make(WakeEvent::make().value()).value();
  std::unique_ptr<Channel> channel_;
  ScriptedChannel* connection_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(false);  ///< the connection exists
  std::vector<std::byte> got_;                                   ///< on this connection
  std::uint64_t sent_ = 0;
  bool ended_ = false;
};

void Stream::say_frame(Input& input) {
  constexpr std::array kTypes = {ResumeFrameType::kResume, ResumeFrameType::kData,
                                 ResumeFrameType::kAcknowledge, ResumeFrameType::kEnd};
  const ResumeFrameType type = kTypes[input.byte() % kTypes.size()];
  const std::uint64_t position = input.byte() % (sent_ + 2);
  const bool data = type == ResumeFrameType::kData;
  const auto bytes = data ? input.bytes(input.byte()) : std::span<const std::byte>();
  if (*alive_) test::append_frame(connection_->input, type, position, bytes);
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
  for (int quiet = 0; quiet < 2 && !ended_;) {
    split();
    std::vector<iovec> pieces;
    for (std::size_t used = 0, count = random_() % 24; pieces.size() < count;) {
      const std::size_t size = std::min<std::size_t>(random_() % 20, room.size() - used);
      pieces.push_back({room.data() + used, size});
      used += size;
    }
    const auto got = channel_->try_receive(pieces);
    const auto& resumable = static_cast<const ResumableChannel&>(*channel_);
    FUZZ_REQUIRE(resumable.memory() <= kBound + 2 * ResendBuffer::kBlockSize);
    if (!got) return end(got.error());
    quiet = *got > 0 ? 0 : quiet + 1;
    test::append_bytes(got_, std::span(room).first(*got));
    check_bytes();
  }
}

void run(Stream& stream, Input& input) {
  while (!input.empty()) {
    switch (input.byte() % 8) {
      case 0:
        stream.say(input.bytes(input.byte()));
        break;
      case 1:
        stream.replace();
        break;
      case 2:
        stream.send(input.byte() * std::size_t{4});
        break;
      case 3:
        stream.shut_down();
        break;
      case 4:
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
  if (kind % 2 == 0) {
    run(stream, input);
  } else {
    stream.say(input.rest());
  }
  stream.receive();
  return 0;
}
