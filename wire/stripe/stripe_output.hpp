// SPDX-License-Identifier: Apache-2.0
/// The sending half of a striped stream: makes frames (stripe_frame.hpp) for several connections,
/// its *strands*, keeps what is not acknowledged, and knows which bytes a lost strand had.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/byte_ranges.hpp"
#include "wire/resume/resend_buffer.hpp"
#include "wire/stripe/stripe_frame.hpp"

namespace impishim::wire {

/// Not thread-safe. `received` is always the number of bytes of the other direction that this end
/// has received.
class StripeOutput {
 public:
  /// Most separate ranges that are on their way. Half of what a receiver accepts, since a frame
  /// arrives in parts.
  static constexpr std::size_t kMostRanges = 1U << 14U;

  /// Keeps at most `bound` bytes.
  StripeOutput(std::size_t bound, std::size_t strands) : kept_(bound), strands_(strands) {}

  /// Begins a connection of a strand: kResume is the next frame there.
  void begin(std::size_t strand);
  /// Ends the connection of a strand. What was on its way there is to be sent again.
  void lose(std::size_t strand);
  /// Handles the peer's kResume, which must be the first frame of the connection, or an
  /// acknowledgement. They fail with kProtocol if the peer cannot have received that number.
  [[nodiscard]] Result<void> resume(std::size_t strand, std::uint64_t position);
  [[nodiscard]] Result<void> acknowledge(std::size_t strand, std::uint64_t position);
  /// Sends an acknowledgement with the next flush().
  void want_acknowledgement() { acknowledgement_due_ = true; }
  /// Asks the peer for an acknowledgement, unless the stream ends.
  void ask() { question_due_ = !end_due_; }
  /// Ends the stream behind all bytes.
  void end() {
    end_due_ = true;
    question_due_ = false;
  }

  /// Sends the next frame of the stream, with bytes of `pieces`, and keeps them. Returns their
  /// number, 0 if the strand takes none now. Fails as the channel does; no byte was taken then.
  [[nodiscard]] Result<std::size_t> send(std::size_t strand, Channel& channel,
                                         std::span<const iovec> pieces, std::uint64_t received);
  /// Sends frames that are due, as far as the channel takes them. Fails as the channel does.
  [[nodiscard]] Result<void> flush(std::size_t strand, Channel& channel, std::uint64_t received);
  /// Returns true if flush() has something to send on this strand.
  [[nodiscard]] bool has_output(std::size_t strand) const;
  /// Returns true if send() can take bytes as soon as the channel has room.
  [[nodiscard]] bool can_send(std::size_t strand) const {
    return strands_[strand].peer_ready && kept_.room() > 0 && ranges_ < kMostRanges;
  }
  /// Returns true if a frame has begun on the strand and is to be completed.
  [[nodiscard]] bool in_frame(std::size_t strand) const { return strands_[strand].in_frame(); }
  /// Returns what this end has acknowledged.
  [[nodiscard]] std::uint64_t acknowledged_input() const { return acknowledged_input_; }
  [[nodiscard]] bool ended() const { return end_due_; }
  [[nodiscard]] bool all_acknowledged() const { return acknowledged_ == kept_.end(); }
  [[nodiscard]] const ResendBuffer& kept() const { return kept_; }
  /// Returns the number of bytes that were sent more than once.
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }

 private:
  /// Pieces of one call: those of the caller, and the header.
  static constexpr std::size_t kMostPieces = 129;
  using Pieces = std::array<iovec, kMostPieces>;

  struct Strand {
    StripeHeader header{};
    std::size_t header_sent = StripeFrame::kHeaderSize;
    std::uint64_t place = 0;       ///< of the next byte of the frame that has begun
    std::size_t frame_left = 0;    ///< bytes of that frame that are not sent
    std::deque<ByteRange> sent{};  ///< what its frames have and is not acknowledged, in order
    std::uint64_t heard = 0;       ///< latest acknowledgement on this connection
    bool resume_due = false;
    bool peer_ready = false;  ///< the peer's kResume has arrived on this connection
    bool has_end = false;     ///< kEnd was sent here

    [[nodiscard]] bool in_frame() const { return header_sent < header.size() || frame_left > 0; }
  };

  /// Returns true if frames without bytes may go to this strand: the peer has it, or has none.
  [[nodiscard]] bool may_speak(const Strand& strand) const;
  /// Returns true if the end of the stream can be said on this strand. The peer's kResume need not
  /// have arrived if it has acknowledged everything: an owner that has met the peer's end reads no
  /// more.
  [[nodiscard]] bool can_end(const Strand& strand) const {
    return end_due_ && !end_sent_ && again_.empty() && (strand.peer_ready || all_acknowledged()) &&
           may_speak(strand);
  }
  /// Prepares the header of the next frame that is due, if there is one.
  [[nodiscard]] bool begin_frame(Strand& strand, std::uint64_t received);
  void set_header(Strand& strand, const StripeFrame& frame);
  /// Returns the rest of the frame that has begun.
  [[nodiscard]] std::span<const iovec> rest_of_frame(Strand& strand, Pieces& pieces);
  void drop_sent(Strand& strand, std::size_t bytes);
  void note_sent(Strand& strand, ByteRange range);
  /// Forgets bytes that are acknowledged and that no frame that has begun needs.
  void forget();

  ResendBuffer kept_;
  std::vector<Strand> strands_;
  ByteRanges again_;        ///< bytes of lost strands that are to be sent again
  std::size_t ranges_ = 0;  ///< number of Strand::sent, of all strands
  std::uint64_t acknowledged_ = 0;
  std::uint64_t most_sent_ = 0;  ///< position behind the last byte that a channel has taken
  std::uint64_t repeated_ = 0;
  std::uint64_t acknowledged_input_ = 0;
  bool acknowledgement_due_ = false;
  bool question_due_ = false;
  bool end_due_ = false;
  bool end_sent_ = false;  ///< on a strand that is not lost
};

}  // namespace impishim::wire
