// SPDX-License-Identifier: Apache-2.0
/// A channel that outlives its connections, as ResumableChannel, and has several of them at once:
/// its *strands*. Frames carry their place in the stream, and each goes to the first strand that
/// has room, so that a slow strand takes as much as it can carry and no more. Short writes keep to
/// the first strand as long as it has room.
///
/// A thread that connects passes the connections of each strand through a ConnectionSlot. The
/// channel needs one strand. What a lost strand had on its way goes to the others at once. If all
/// are lost, the stream is full and empty until one is there; it ends when the slot of the first
/// strand has an error then.
///
/// descriptor() is an epoll descriptor, which watches the connections, the slots, and an event for
/// bytes that wait in this object.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/answer_watch.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/lasting_channel.hpp"
#include "wire/stripe/stream_choice.hpp"
#include "wire/stripe/stripe_input.hpp"
#include "wire/stripe/stripe_output.hpp"

namespace impishim::wire {

class StripedChannel final : public LastingChannel {
 public:
  /// Most strands of a channel.
  static constexpr std::size_t kMostStrands = 64;
  using Slots = std::vector<std::shared_ptr<ConnectionSlot>>;

  /// Begins a stream on the first connection of the first strand, and asks for those of the others.
  /// Fails with kSystem if no descriptors are left.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(std::unique_ptr<Channel> first,
                                                             Slots slots,
                                                             const ResumeLimits& limits = {});
  /// For make() only.
  StripedChannel(std::unique_ptr<Channel> first, Slots slots, const ResumeLimits& limits,
                 Descriptor events, std::shared_ptr<WakeEvent> ready);
  /// Waits, for a bounded time, until the connections have taken the last frames.
  ~StripedChannel() override;

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
  /// As ResumableChannel's.
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override;
  void close_in_forked_child() override;
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

  [[nodiscard]] ResumeCounters counters() const override {
    return {connections_, output_.repeated()};
  }
  [[nodiscard]] std::size_t memory() const override {
    return output_.kept().memory() + input_.memory();
  }

 private:
  struct Strand {
    std::shared_ptr<ConnectionSlot> slot;
    std::unique_ptr<Channel> connection{};  ///< null while it is lost
    std::uint32_t events = 0;
    bool may_have_input = false;
    bool was_there = false;
  };

  [[nodiscard]] std::size_t live() const;
  void ask_for(std::size_t count);
  void take_deliveries();
  void attach(std::size_t number, std::unique_ptr<Channel> connection);
  void watch_new(std::size_t number);
  void lose(std::size_t number, const Error& error);
  void end_of_all(const Error& error);
  void finish();
  void finish_if_over();
  void fail(Error error);
  void flush();
  void watch();
  void check_answers();
  /// Asks for more strands if the road needs them.
  void choose_strands();
  /// Finds the strands that have input.
  void look_at_events();
  void announce_ready(bool ready);
  std::size_t receive(std::span<const iovec> pieces);
  std::size_t receive_from(std::size_t number, std::span<const iovec> pieces, std::size_t total);

  std::vector<Strand> strands_;
  Descriptor events_;
  std::shared_ptr<WakeEvent> ready_;  ///< raised while input waits in this object
  std::string peer_name_;
  StripeOutput output_;
  StripeInput input_;
  AnswerWatch answers_;
  StreamChoice choice_;
  std::size_t wanted_ = 1;  ///< strands that this end has asked for
  std::uint64_t connections_ = 0;
  bool announced_ = false;  ///< ready_ is raised
  bool want_output_ = false;
  std::optional<Error> failure_;
};

}  // namespace impishim::wire
