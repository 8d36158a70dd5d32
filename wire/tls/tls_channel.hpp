// SPDX-License-Identifier: Apache-2.0
/// A channel over TCP whose bytes are encrypted (TlsSession, or with TcpOptions::kernel_tls the
/// kernel in the sending direction).
///
/// The kernel may take less ciphertext than try_send() has accepted. The rest waits here, at most
/// TlsSession::kBufferSize bytes, and leaves in the owner's next calls. descriptor() is an epoll
/// descriptor. It watches the socket for input, and for room while ciphertext waits. It also
/// watches an event that is ready while decrypted or undecrypted input is left in this object.
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
#include "wire/channel/tcp_channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/tls/kernel_tls.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// A channel over a session whose handshake is complete. It owns the socket and the session.
class TlsChannel final : public Channel {
 public:
  /// Takes the socket and the session, with all bytes that the session has read or must still send.
  /// Fails with kSystem if no descriptors are left.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(Descriptor socket,
                                                             std::unique_ptr<TlsSession> session,
                                                             std::string peer_name,
                                                             const TcpOptions& options = {});
  /// For make() only: `events` watches the socket and `ready`.
  TlsChannel(Descriptor socket, std::unique_ptr<TlsSession> session, std::string peer_name,
             Descriptor events, Descriptor ready, const TcpOptions& options);
  /// Waits, for a bounded time, until the kernel has taken the last bytes.
  ~TlsChannel() override;

  /// Encrypts what there is room for, and sends it in one call. Returns 0 if ciphertext that the
  /// kernel does not take fills the buffer. Fails with kConnection if the peer is gone, or if the
  /// kernel makes the records and the key is used up.
  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  /// Decrypts into the pieces, and reads the socket at most once. Fails with kConnection at the end
  /// of the stream ("end of stream" after close_notify, otherwise a text with "cut"), and with
  /// kProtocol for a damaged record.
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return true; }
  /// With true, descriptor() is ready when the kernel takes ciphertext.
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override {}
  /// Sends close_notify behind all output, and then ends the stream. If the kernel does not take
  /// everything now, later calls do the rest.
  void shutdown_output() override;
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override {
    return socket_.peer_silence();
  }
  [[nodiscard]] std::uint64_t delivered() override { return socket_.delivered(); }
  [[nodiscard]] std::optional<RoadState> road() const override { return socket_.road(); }
  void close_in_forked_child() override;
  [[nodiscard]] std::string peer_name() const override { return socket_.peer_name(); }

 private:
  void let_kernel_seal(const TcpOptions& options);
  void flush();
  void send_end();
  [[nodiscard]] Result<std::size_t> send_through_kernel(std::span<const iovec> pieces);
  [[nodiscard]] bool has_output() const;
  void read_socket();
  void watch_socket();
  void announce_input();
  [[nodiscard]] bool has_input() const { return input_error_ || session_->has_input(); }

  TcpChannel socket_;
  std::unique_ptr<TlsSession> session_;
  Descriptor events_;
  Descriptor ready_;  ///< always readable; watched while input is left here
  std::uint32_t socket_events_;
  bool announced_ = false;
  bool want_output_ = false;
  bool end_wanted_ = false;
  bool end_sent_ = false;
  std::optional<KernelTlsUse> kernel_;  ///< if the kernel makes the records of this end
  std::optional<Error> input_error_;    ///< of the socket
  std::optional<Error> output_error_;   ///< of the socket
};

}  // namespace impishim::wire
