// SPDX-License-Identifier: Apache-2.0
/// The sending half of a resumable stream: makes frames (resume_frame.hpp), keeps what is not
/// acknowledged, and sends it again on the next connection.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/resend_buffer.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire {

/// Not thread-safe. `received` is always the number of bytes of the other direction that this end
/// has received.
class ResumeOutput {
 public:
  /// Keeps at most `bound` bytes.
  explicit ResumeOutput(std::size_t bound) : kept_(bound) {}

  /// Begins a connection: kResume is the next frame. Bytes of the previous connection that were on
  /// their way are sent again as soon as the peer has said what it has.
  void begin();
  /// Handles the peer's kResume. Fails with kProtocol if the peer cannot have received that number,
  /// and with kConnection if it has acknowledged more: the connection is stale then.
  [[nodiscard]] Result<void> resume_from(std::uint64_t position);
  /// Handles an acknowledgement. Fails with kProtocol if it cannot be true.
  [[nodiscard]] Result<void> acknowledge(std::uint64_t position);
  /// Sends an acknowledgement with the next flush().
  void want_acknowledgement() { acknowledgement_due_ = true; }
  /// Asks the peer for an acknowledgement behind all bytes, unless the stream ends.
  void ask() { question_due_ = !end_due_; }
  /// Ends the stream behind all bytes.
  void end() {
    end_due_ = true;
    question_due_ = false;
  }

  /// Sends bytes of `pieces`, and keeps them. Returns their number, 0 if there is no room in the
  /// channel or in the buffer, or the peer's kResume has not arrived. Fails as the channel does; no
  /// byte was taken then.
  [[nodiscard]] Result<std::size_t> send(Channel& channel, std::span<const iovec> pieces,
                                         std::uint64_t received);
  /// Sends frames that are due, as far as the channel takes them. Fails as the channel does.
  [[nodiscard]] Result<void> flush(Channel& channel, std::uint64_t received);
  /// Returns true if flush() has something to send on this connection.
  [[nodiscard]] bool has_output() const;
  /// Returns true if send() can take bytes as soon as the channel has room.
  [[nodiscard]] bool can_send() const { return peer_ready_ && kept_.room() > 0; }
  /// Returns what this end has acknowledged.
  [[nodiscard]] std::uint64_t acknowledged_input() const { return acknowledged_input_; }
  [[nodiscard]] bool ended() const { return end_due_; }
  [[nodiscard]] bool all_acknowledged() const { return kept_.begin() == kept_.end(); }
  [[nodiscard]] const ResendBuffer& kept() const { return kept_; }
  /// Returns the number of bytes that were sent more than once.
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }

 private:
  /// Pieces of one call: those of the caller, and the header.
  static constexpr std::size_t kMostPieces = 129;
  using Pieces = std::array<iovec, kMostPieces>;

  /// Returns true if the end of the stream can be said on this connection. The peer's kResume need
  /// not have arrived if it has acknowledged everything: an owner that has met the peer's end reads
  /// no more.
  [[nodiscard]] bool can_end() const {
    return end_due_ && !end_sent_ && sent_ == kept_.end() && (peer_ready_ || all_acknowledged());
  }
  /// Prepares the header of the next frame that is due, if there is one.
  [[nodiscard]] bool begin_frame(std::uint64_t received);
  void set_header(const ResumeFrame& frame);
  /// Returns the rest of the frame that has begun.
  [[nodiscard]] std::span<const iovec> rest_of_frame(Pieces& pieces);
  void drop_sent(std::size_t bytes);
  [[nodiscard]] bool in_frame() const { return header_sent_ < header_.size() || frame_left_ > 0; }

  ResendBuffer kept_;
  ResumeHeader header_{};
  std::size_t header_sent_ = ResumeFrame::kHeaderSize;
  std::size_t frame_left_ = 0;   ///< bytes of the frame's data that are not sent
  std::uint64_t sent_ = 0;       ///< position of the next byte to send on this connection
  std::uint64_t most_sent_ = 0;  ///< greatest value of sent_ on any connection
  std::uint64_t repeated_ = 0;
  std::uint64_t acknowledged_input_ = 0;
  bool resume_due_ = false;
  bool peer_ready_ = false;  ///< the peer's kResume has arrived on this connection
  bool acknowledgement_due_ = false;
  bool question_due_ = false;
  bool end_due_ = false;
  bool end_sent_ = false;  ///< on this connection
};

}  // namespace impishim::wire
