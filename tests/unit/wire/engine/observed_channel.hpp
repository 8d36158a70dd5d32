// SPDX-License-Identifier: Apache-2.0
/// A channel that counts what an engine asks of it, and takes less on demand.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {

/// What was seen of a channel, and how it is to behave.
struct Observation {
  int asked = 0;                ///< how often somebody asked for what it is to be watched
  std::size_t most_pieces = 0;  ///< that one call offered for sending
  std::size_t room =
      SIZE_MAX;  ///< bytes that one call takes at most; if it is set, every second call takes none
  bool watchable = true;  ///< false: nobody can watch its descriptor
};

class ObservedChannel final : public Channel {
 public:
  ObservedChannel(std::unique_ptr<Channel> channel, Observation& observation)
      : channel_(std::move(channel)),
        observation_(observation),
        file_(observation.watchable ? -1 : memfd_create("unwatchable", MFD_CLOEXEC)) {}
  Result<std::size_t> try_send(std::span<const iovec> pieces) override {
    observation_.most_pieces = std::max(observation_.most_pieces, pieces.size());
    if (observation_.room == SIZE_MAX) return channel_->try_send(pieces);
    full_ = !full_;
    if (full_) return std::size_t{0};
    const iovec first = {pieces[0].iov_base, std::min(pieces[0].iov_len, observation_.room)};
    return channel_->try_send(std::span(&first, 1));
  }
  Result<std::size_t> try_receive(std::span<const iovec> pieces) override {
    return channel_->try_receive(pieces);
  }
  int descriptor() const override { return file_.get() < 0 ? channel_->descriptor() : file_.get(); }
  std::uint32_t epoll_events() const override {
    ++observation_.asked;
    return channel_->epoll_events();
  }
  bool announces_input() const override { return channel_->announces_input(); }
  bool set_want_output(bool want) override { return channel_->set_want_output(want); }
  bool prepare_to_sleep() override { return channel_->prepare_to_sleep(); }
  void end_sleep() override { channel_->end_sleep(); }
  void shutdown_output() override { channel_->shutdown_output(); }
  void close_in_forked_child() override { channel_->close_in_forked_child(); }
  std::string peer_name() const override { return "observed"; }

 private:
  std::unique_ptr<Channel> channel_;
  Observation& observation_;
  Descriptor file_;
  bool full_ = true;
};

}  // namespace impishim::wire::test
