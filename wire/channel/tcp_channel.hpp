/// A channel over a connected TCP socket.
#pragma once

#include <memory>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// How long data may stay unacknowledged by the peer's machine before the connection counts as cut.
inline constexpr unsigned kTcpDeadPeerMs = 30000;

/// Makes a connected stream socket non-blocking, and one of TCP without delay, with keepalive and kTcpDeadPeerMs.
void set_stream_options(int socket);

class TcpChannel final : public Channel {
 public:
  /// Takes over a connected stream socket and sets its options.
  TcpChannel(Descriptor socket, std::string peer_name);

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return true; }
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override { return true; }  // the kernel announces input by itself
  void end_sleep() override {}
  void shutdown_output() override;
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

 private:
  Descriptor socket_;
  std::string peer_name_;
  bool want_output_ = false;
};

}  // namespace impishim::wire
