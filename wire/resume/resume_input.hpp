// SPDX-License-Identifier: Apache-2.0
/// The receiving half of a resumable stream: takes the bytes of the stream out of their frames
/// (resume_frame.hpp). The bytes are read straight into the caller's memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/resume_frame.hpp"
#include "wire/resume/resume_output.hpp"

namespace impishim::wire {

/// Not thread-safe.
class ResumeInput {
 public:
  /// Tells `output`, which must outlive this object, what the peer has received.
  explicit ResumeInput(ResumeOutput& output) : output_(output) {}

  /// Begins a connection, whose first frame must be kResume.
  void begin();
  /// Reads once from the channel into `pieces`, behind their first `skip` bytes, and returns the
  /// number of bytes of the stream. Without pieces it reads only headers, as long as no bytes of
  /// the stream come first. Fails as the channel does, and with kProtocol if the peer sent
  /// something else than a resumable stream. Bytes before an error are lost to the caller only if
  /// the error is kProtocol.
  [[nodiscard]] Result<std::size_t> read(Channel& channel, std::span<const iovec> pieces,
                                         std::size_t skip);
  /// Returns true if the channel gave all that the last read() asked for.
  [[nodiscard]] bool may_have_more() const { return may_have_more_; }
  /// Returns the number of bytes of the stream that have been received, over all connections.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// Returns a number that grows with each frame and each byte of the stream that arrives.
  [[nodiscard]] std::uint64_t heard() const { return frames_ + received_; }
  /// Returns true if the peer has ended the stream.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  /// Takes bytes of the header that is arriving, and handles it when it is complete. Returns the
  /// number of bytes taken.
  [[nodiscard]] Result<std::size_t> take_header(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> handle(const ResumeFrame& frame);
  [[nodiscard]] Result<std::size_t> close_gaps(std::span<const iovec> areas, std::size_t begin,
                                               std::size_t end);
  std::size_t take_data(std::size_t available);

  ResumeOutput& output_;
  ResumeHeader header_{};
  std::size_t header_got_ = 0;
  std::size_t frame_left_ = 0;  ///< bytes of the stream in the frame that is arriving
  std::uint64_t received_ = 0;
  std::uint64_t frames_ = 0;
  bool begun_ = false;  ///< kResume has arrived on this connection
  bool ended_ = false;
  bool may_have_more_ = false;
};

}  // namespace impishim::wire
