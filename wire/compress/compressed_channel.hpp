// SPDX-License-Identifier: Apache-2.0
/// A channel whose bytes are compressed on another one, as pieces (piece.hpp).
///
/// The other channel may take less of a piece than there is. The rest waits here, at most
/// kBufferSize bytes, and leaves in the owner's next calls. descriptor() is an epoll descriptor. It
/// watches the other channel for input, and for room while a rest waits. It also watches an event
/// that is ready while input is left in this object.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/linear_buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/compress/compression_choice.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/piece_decoder.hpp"
#include "wire/compress/piece_encoder.hpp"

namespace impishim::wire {

/// Both ends must be one. It owns the other channel.
class CompressedChannel final : public Channel {
 public:
  static constexpr std::size_t kPieceRoom = Piece::kHeaderSize + Piece::kMostPlain;
  /// While so much waits, nothing more is compressed.
  static constexpr std::size_t kMostWaiting = kPieceRoom;
  static constexpr std::size_t kBufferSize = 4 * kPieceRoom;

  /// Begins a stream on a channel that nothing was sent on. Fails with kConfiguration if zstd is
  /// not installed, with kSystem if no descriptors are left.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(std::unique_ptr<Channel> channel);
  /// For make() only: `events` watches the channel and `ready`.
  CompressedChannel(std::unique_ptr<Channel> channel, Descriptor events, Descriptor ready);
  /// Waits, for a bounded time, until the other channel has taken the last bytes.
  ~CompressedChannel() override;

  /// Sends what the other channel takes as it is, and compresses more when that one is full, as
  /// CompressionChoice says.
  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  /// Decompresses into the pieces, and reads the other channel at most once. Fails with kProtocol
  /// if the peer breaks the stream of pieces.
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return channel_->announces_input(); }
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override { channel_->end_sleep(); }
  /// Ends the stream behind all output. If the other channel does not take everything now, later
  /// calls do the rest.
  void shutdown_output() override;
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override {
    return channel_->peer_silence();
  }
  [[nodiscard]] std::uint64_t delivered() override { return channel_->delivered(); }
  [[nodiscard]] std::optional<RoadState> road() const override { return channel_->road(); }
  void close_in_forked_child() override;
  [[nodiscard]] std::string peer_name() const override { return channel_->peer_name(); }

 private:
  void flush();
  void watch_channel();
  void announce_input();
  void read_channel();
  void fail_output(const Error& error);
  [[nodiscard]] bool append_compressed(std::span<const std::span<const std::byte>> parts,
                                       std::size_t size);
  [[nodiscard]] std::size_t send_plain(std::span<const std::span<const std::byte>> parts,
                                       std::size_t size);
  [[nodiscard]] bool has_input() const { return input_error_ || decoder_.has_input(); }
  [[nodiscard]] Error end_of_input() const;

  std::unique_ptr<Channel> channel_;
  Descriptor events_;
  Descriptor ready_;  ///< always readable; watched while input is left here
  std::uint32_t channel_events_;
  PieceEncoder encoder_;
  PieceDecoder decoder_;
  CompressionChoice choice_;
  LinearBuffer output_{kBufferSize};
  bool announced_ = false;
  bool want_output_ = false;
  bool wanted_of_channel_ = false;
  bool end_wanted_ = false;
  bool end_sent_ = false;
  std::uint64_t sent_plain_ = 0;
  std::uint64_t compressed_ = 0;       ///< bytes that were compressed
  std::uint64_t compressed_size_ = 0;  ///< what they became
  std::optional<Error> input_error_;   ///< of the other channel
  std::optional<Error> output_error_;  ///< of the other channel, or of zstd
};

}  // namespace impishim::wire
