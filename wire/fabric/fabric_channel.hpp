// SPDX-License-Identifier: Apache-2.0
/// A channel over libfabric: a stream of bytes as ordered messages (FI_EP_RDM with FI_ORDER_SAS).
/// Messages go through buffers of the channel, with credits, so that the receiver always has a
/// buffer for what arrives.
///
/// Sleep: if the provider's completion queue has a descriptor, libfabric wakes the owner through
/// it. If it has none (shm, and efa in some releases), the guard socket carries control messages,
/// called words. A side that goes to sleep says "asleep, I have n of your messages". The other side
/// answers "wake": at once if it has sent more than n messages, otherwise with its next message.
/// The sleeper polls once more after its word, and the other side reads words after each message it
/// sends, so no wake-up is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"
#include "wire/fabric/fabric_endpoint.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {

/// The socket that guards a channel. It carries GuardWords in both directions and never blocks.
class GuardSocket {
 public:
  GuardSocket() = default;
  explicit GuardSocket(Descriptor socket) : socket_(std::move(socket)) {}
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] Descriptor release() { return std::move(socket_); }
  /// Sends a word. Returns false if there is no room or the peer is gone.
  bool say(const GuardWord& word);
  /// Returns the next word if it has arrived completely. Fails with kConnection if the peer is
  /// gone, and with kProtocol for an invalid word.
  [[nodiscard]] Result<std::optional<GuardWord>> hear();

 private:
  Descriptor socket_;
  std::array<std::byte, GuardWord::kSize> bytes_{};
  std::size_t received_ = 0;
};

/// A channel over an endpoint that it shares with the other channels of the same provider.
class FabricChannel final : public Channel, private FabricPeer {
 public:
  /// `index` and `secret` identify the peer's messages.
  FabricChannel(std::shared_ptr<FabricEndpoint> endpoint, std::uint32_t index, std::uint32_t secret,
                std::string peer_name);
  /// Waits, for a bounded time, until the last bytes no longer need this process.
  ~FabricChannel() override;

  // The steps to open a channel: lead_to(), greet() until it is done, reached(), guard().

  /// Sets the destination of messages from the peer's offer.
  [[nodiscard]] Result<void> lead_to(const FabricOffer& offer);
  /// Sends the first message. Returns false if the provider is busy.
  [[nodiscard]] Result<bool> greet();
  /// Returns true when messages pass in both directions.
  [[nodiscard]] Result<bool> reached() const;
  /// Takes the socket to the peer. After this call the channel can be used.
  [[nodiscard]] Result<void> guard(GuardSocket socket);

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return epoll_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override;
  void shutdown_output() override;
  /// The provider's own descriptors stay open in the child, because only the provider's library may
  /// use them. The peer watches the guard socket.
  void close_in_forked_child() override {
    guard_.release().reset();
    epoll_.reset();
  }
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

 private:
  void arrived(FabricBuffer& buffer) override;
  void left(int error) override;

  /// Sends one message. Returns false if the provider is busy.
  [[nodiscard]] Result<bool> send_message(FabricHeader::Kind kind, std::span<const iovec> pieces,
                                          std::size_t skip, std::size_t size);
  [[nodiscard]] Result<std::size_t> send_pieces(std::span<const iovec> pieces);
  std::size_t read_pieces(std::span<const iovec> pieces);
  void finish_reading(FabricBuffer& buffer);
  void return_credits();
  void send_end();
  void look_at_guard();
  void fail(Error error);
  [[nodiscard]] bool wakes_by_words() const { return endpoint_->descriptor() < 0; }
  [[nodiscard]] bool input_over() const;

  std::shared_ptr<FabricEndpoint> endpoint_;
  std::uint32_t index_;
  std::uint32_t secret_;
  GuardSocket guard_;
  std::string peer_name_;
  Descriptor epoll_;

  // The state of the peer.
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  std::uint32_t peer_channel_ = 0;
  std::uint32_t peer_secret_ = 0;
  std::size_t message_size_ = 0;  ///< largest message for which both ends have buffers
  std::uint32_t granted_ = 0;     ///< number of buffers that the peer offered for data messages
  std::uint32_t credits_ = 0;     ///< number of data messages that may still be sent

  std::uint32_t sent_ = 0;         ///< number of messages
  std::uint32_t received_ = 0;     ///< number of messages
  std::uint32_t owed_ = 0;         ///< number of credits to return
  std::size_t under_way_ = 0;      ///< number of buffers that libfabric is sending
  FabricBuffer* first_ = nullptr;  ///< arrived but not yet read
  FabricBuffer* last_ = nullptr;

  bool greeted_ = false;
  bool greeting_came_ = false;
  bool want_output_ = false;
  bool provider_busy_ = false;  ///< it took no message, and does not announce when it will
  bool end_wanted_ = false;
  bool end_sent_ = false;
  bool end_came_ = false;
  bool asleep_told_ = false;   ///< the peer has our word that this side sleeps
  bool peer_asleep_ = false;   ///< this side has the peer's word that it sleeps
  std::uint64_t gone_at_ = 0;  ///< time at which the guard socket ended, in ns; 0: it has not ended
  std::optional<Error> failure_;
  std::uint32_t empty_reads_ = 0;
};

}  // namespace impishim::wire
