// SPDX-License-Identifier: Apache-2.0
/// Two ends of a stream in one process, for tests of upper layers. Reads and writes can be randomly
/// short (with a seed), and the stream can be cut.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// The behaviour of a stream in memory.
struct MemoryChannelOptions {
  std::size_t capacity = 1U << 20U;  ///< bytes in transit per direction
  std::uint32_t seed = 0;            ///< 0: complete reads and writes; otherwise random short ones
  std::uint64_t cut_after = 0;       ///< bytes per direction after which the stream ends; 0: never
};

/// One end of a stream in memory.
class MemoryChannel final : public Channel {
 public:
  /// Returns both ends. Two threads may use them only under one common lock.
  [[nodiscard]] static std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> make_pair(
      const MemoryChannelOptions& options);

  MemoryChannel(MemoryChannelOptions options, int end);
  ~MemoryChannel() override;
  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return event_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override {}
  void shutdown_output() override;
  void close_in_forked_child() override { event_.reset(); }
  [[nodiscard]] std::string peer_name() const override { return "memory"; }

 private:
  struct Stream {
    std::deque<std::byte> bytes;
    std::uint64_t carried = 0;
    bool ended = false;
  };
  std::size_t shortened(std::size_t size);
  MemoryChannelOptions options_;
  std::mt19937 random_;
  Descriptor event_;
  std::shared_ptr<Stream> in_;
  std::shared_ptr<Stream> out_;
};

}  // namespace impishim::wire
