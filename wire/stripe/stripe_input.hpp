// SPDX-License-Identifier: Apache-2.0
/// The receiving half of a striped stream: takes the bytes of the stream out of the frames of its
/// strands (stripe_frame.hpp), and puts them into order. Bytes that come in order are read straight
/// into the caller's memory; others wait in a bounded buffer.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/stripe/reorder_buffer.hpp"
#include "wire/stripe/stripe_frame.hpp"
#include "wire/stripe/stripe_output.hpp"

namespace impishim::wire {

/// Not thread-safe.
class StripeInput {
 public:
  /// Pieces of the caller that one read uses; further ones are left to the next read.
  static constexpr std::size_t kMostPieces = 16;

  /// Tells `output`, which must outlive this object, what the peer has received. The peer keeps at
  /// most `bound` bytes.
  StripeInput(StripeOutput& output, std::size_t bound, std::size_t strands)
      : output_(output), bound_(bound), strands_(strands) {}

  /// Begins a connection of a strand, whose first frame must be kResume.
  void begin(std::size_t strand);
  /// Reads once from a strand's channel, and takes what has come before, into `pieces` behind their
  /// first `skip` bytes. Returns the number of bytes that it has put there. It reads bytes of the
  /// stream that come next only if there is room for them. Fails as the channel does, and with
  /// kProtocol if the peer sent something else than a striped stream.
  [[nodiscard]] Result<std::size_t> read(std::size_t strand, Channel& channel,
                                         std::span<const iovec> pieces, std::size_t skip);
  /// Returns true if the strand's channel gave all that the last read() asked for.
  [[nodiscard]] bool may_have_more(std::size_t strand) const {
    return strands_[strand].may_have_more;
  }
  /// Returns true if there are bytes that a read() takes without its channel.
  [[nodiscard]] bool has_ready() const;
  /// Returns the number of bytes of the stream that read() has returned.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// Returns a number that grows with each frame and each byte of the stream that arrives.
  [[nodiscard]] std::uint64_t heard() const { return heard_; }
  /// Returns true if the peer has ended the stream and all of it was read.
  [[nodiscard]] bool ended() const { return end_ && received_ >= *end_; }
  /// Returns the memory for bytes that came before others, in bytes.
  [[nodiscard]] std::size_t memory() const { return early_.memory(); }

 private:
  /// What is read beyond the frame that is arriving. Short frames come with their header in it.
  static constexpr std::size_t kStage = 1U << 13U;
  /// Most pieces of one read of a channel.
  static constexpr std::size_t kMostAreas = kMostPieces + 1;
  using Areas = std::array<iovec, kMostAreas>;

  struct Strand {
    std::vector<std::byte> stage{};
    std::size_t staged_from = 0;
    std::size_t staged_to = 0;
    StripeHeader header{};
    std::size_t header_got = 0;
    std::size_t frame_left = 0;  ///< bytes of the stream in the frame that is arriving
    std::uint64_t place = 0;     ///< position of the next one
    bool begun = false;          ///< kResume has arrived on this connection
    bool may_have_more = false;

    [[nodiscard]] std::size_t staged() const { return staged_to - staged_from; }
  };

  /// Where the next bytes of a frame go.
  enum class Way : std::uint8_t {
    kCaller,  ///< they come next
    kEarly,   ///< others come first
    kNowhere  ///< they have come already
  };
  [[nodiscard]] Way way_of(const Strand& strand) const;
  /// Fills `areas` with the memory for the next bytes of the frame, in `room` if they come next.
  [[nodiscard]] std::span<iovec> places_of(const Strand& strand, std::span<const iovec> room,
                                           Areas& areas);
  /// Says that the next `size` bytes of the frame are in their places. Returns how many the caller
  /// has got.
  [[nodiscard]] Result<std::size_t> placed(Strand& strand, Way way, std::size_t size);
  /// Takes frames out of what was read beyond others. Returns how many bytes the caller has got.
  [[nodiscard]] Result<std::size_t> take_staged(Strand& strand, std::span<const iovec> pieces,
                                                std::size_t skip);
  void take_header(Strand& strand);
  [[nodiscard]] Result<void> handle(std::size_t number, Strand& strand);
  [[nodiscard]] Result<void> handle_data(Strand& strand, const StripeFrame& frame);
  [[nodiscard]] Result<void> handle_end(const StripeFrame& frame);
  /// Copies bytes that came early and come next. Returns their number.
  std::size_t take_early(std::span<const iovec> pieces, std::size_t skip);
  [[nodiscard]] Result<std::size_t> read_channel(Strand& strand, Channel& channel,
                                                 std::span<const iovec> pieces, std::size_t skip);

  StripeOutput& output_;
  std::size_t bound_;
  std::vector<Strand> strands_;
  ReorderBuffer early_;
  std::array<std::byte, 4096> nowhere_{};
  std::uint64_t received_ = 0;
  std::uint64_t heard_ = 0;
  std::optional<std::uint64_t> end_;  ///< bytes of the whole stream
};

}  // namespace impishim::wire
