// SPDX-License-Identifier: Apache-2.0
/// The owner of one end of a resumable stream.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/simulation/random.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/lasting_channel.hpp"

namespace impishim::wire::test {

/// When an owner calls its channel.
enum class Watching : std::uint8_t {
  kPolls,    ///< again and again
  kSleeps,   ///< as long as it gets something, and then when the descriptor is readable
  kWatches,  ///< only when the descriptor is readable
};

/// What an owner does. It ends its output when it has sent and received everything.
struct StreamPlan {
  std::uint64_t to_send = 0;
  std::uint64_t to_receive = 0;
  std::uint64_t first = 0;  ///< position in the content of the first byte to send
  std::uint64_t first_received = 0;
  std::size_t most_at_once = 1;
  std::size_t bound = ResumeLimits().kept;
  std::size_t most_memory = 0;  ///< of the channel
  Watching watching = Watching::kPolls;
};

class StreamEnd {
 public:
  StreamEnd(Random& random, std::unique_ptr<Channel> channel, const StreamPlan& plan);

  /// Sends and receives something, or nothing. Throws a Violation if what it gets is wrong.
  void step();
  /// Sleeps if the plan allows it. Returns true if it sleeps now.
  bool fall_asleep();
  /// Ends the sleep if the descriptor is readable. Returns true if it was.
  bool wake_up();
  [[nodiscard]] bool asleep() const { return asleep_; }
  /// Returns true if the stream has ended in order.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] const StreamPlan& plan() const { return plan_; }
  /// Throws a Violation if the channel keeps more memory than it may.
  void check_memory() const;
  [[nodiscard]] ResumeCounters counters() const { return resumable().counters(); }
  void close() { channel_.reset(); }
  [[nodiscard]] bool closed() const { return channel_ == nullptr; }

 private:
  [[nodiscard]] const LastingChannel& resumable() const {
    return static_cast<const LastingChannel&>(*channel_);
  }
  /// Cuts memory into pieces of odd sizes, some of them empty.
  std::span<iovec> cut(std::span<const std::byte> memory);
  bool send();
  bool receive();
  void end(const Error& error);

  Random& random_;
  std::unique_ptr<Channel> channel_;
  StreamPlan plan_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  bool shut_down_ = false;
  bool ended_ = false;
  bool asleep_ = false;
  bool wants_room_ = false;
  std::vector<std::byte> room_;
  std::vector<iovec> pieces_;
};

}  // namespace impishim::wire::test
