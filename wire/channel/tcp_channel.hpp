// SPDX-License-Identifier: Apache-2.0
/// A channel over a connected TCP socket.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/silence.hpp"
#include "wire/channel/tcp_options.hpp"

namespace impishim::wire {

/// A channel over TCP, or over another connected stream socket. It owns the socket.
class TcpChannel final : public Channel {
 public:
  /// Takes ownership of a connected stream socket and calls set_tcp_options().
  TcpChannel(Descriptor socket, std::string peer_name, const TcpOptions& options = {});

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return true; }
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override {
    return true;
  }  // the kernel announces input by itself
  void end_sleep() override {}
  void shutdown_output() override;
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override;
  [[nodiscard]] std::uint64_t delivered() override;
  [[nodiscard]] std::optional<RoadState> road() const override;
  void close_in_forked_child() override { socket_.reset(); }
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

 private:
  [[nodiscard]] Error lost(int error) const;

  Descriptor socket_;
  std::string peer_name_;
  std::uint64_t sent_ = 0;
  bool want_output_ = false;
  Heartbeat heartbeat_;
  SilenceDetector silence_;
};

}  // namespace impishim::wire
