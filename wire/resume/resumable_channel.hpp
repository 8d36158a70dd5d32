// SPDX-License-Identifier: Apache-2.0
/// A channel that outlives its connections: when one is lost, the next one continues the stream
/// where the peer has it, with nothing lost and nothing twice.
///
/// Both ends keep what the peer has not acknowledged (resume_output.hpp). A thread that connects
/// passes new connections through a ConnectionSlot; until one is there, the stream is full and
/// empty. The stream ends by the peer's kEnd, by an error of the slot, or when the peer breaks the
/// protocol. A connection that is lost after shutdown_output(), when the peer has acknowledged all
/// bytes, is the end of the stream too: the owner expects nothing more then.
///
/// descriptor() is an epoll descriptor, which watches the connection and the slot.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/answer_watch.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/lasting_channel.hpp"
#include "wire/resume/resume_input.hpp"
#include "wire/resume/resume_output.hpp"

namespace impishim::wire {

class ResumableChannel final : public LastingChannel {
 public:
  /// Begins a stream on its first connection. Fails with kSystem if no descriptors are left.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(std::unique_ptr<Channel> first,
                                                             std::shared_ptr<ConnectionSlot> slot,
                                                             const ResumeLimits& limits = {});
  /// For make() only.
  ResumableChannel(std::unique_ptr<Channel> first, std::shared_ptr<ConnectionSlot> slot,
                   const ResumeLimits& limits, Descriptor events);
  /// Waits, for a bounded time, until the connection has taken the last frames.
  ~ResumableChannel() override;

  /// Takes bytes only while there is a connection and room in what an end may keep.
  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return true; }
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override;
  void shutdown_output() override;
  /// Returns nothing: a silent machine is a lost connection. Asks a silent process for an answer,
  /// and fails with kTimeout if none comes (ResumeLimits::answer).
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override;
  void close_in_forked_child() override;
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

  [[nodiscard]] ResumeCounters counters() const override {
    return {connections_, output_.repeated()};
  }
  /// Returns the memory for bytes that are not acknowledged.
  [[nodiscard]] std::size_t memory() const override { return output_.kept().memory(); }

 private:
  void take_delivery();
  void attach(std::unique_ptr<Channel> connection);
  void flush();
  void lose(const Error& error);
  /// Lets the slot tell the peer of the end, which may connect again after nobody looks after this
  /// channel any more.
  void finish();
  void finish_if_over();
  void fail(Error error);
  void watch_connection();
  void check_answers();
  /// Reads until the pieces are full or the connection is empty.
  std::size_t receive(std::span<const iovec> pieces);

  std::shared_ptr<ConnectionSlot> slot_;
  std::unique_ptr<Channel> connection_;  ///< null while it is lost
  Descriptor events_;
  std::string peer_name_;
  ResumeOutput output_;
  ResumeInput input_;
  AnswerWatch answers_;
  std::uint32_t connection_events_ = 0;
  std::uint64_t connections_ = 0;
  bool want_output_ = false;
  std::optional<Error> failure_;
};

}  // namespace impishim::wire
