/// A channel over libfabric: a stream of bytes as messages in order (FI_EP_RDM with FI_ORDER_SAS),
/// through buffers of its own, with credits, so that the receiver always has a buffer for what
/// arrives.
///
/// Sleep: where the provider's completion queue has a descriptor, libfabric wakes the owner by it.
/// Where it has none (shm, and efa in some releases), the guarding socket carries words: "asleep, I
/// have n of your messages" as one side goes to sleep; the other one answers "wake" at once if it
/// has sent more than n, or else with its next message. The one who sleeps looks once more after
/// its word, and the other looks for words after each message, so no wake-up is lost.
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

/// The socket that guards a channel: words of GuardWord in both directions, without waiting.
class GuardSocket {
 public:
  GuardSocket() = default;
  explicit GuardSocket(Descriptor socket) : socket_(std::move(socket)) {}
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] Descriptor release() { return std::move(socket_); }
  /// False: no room, or the peer is gone.
  bool say(const GuardWord& word);
  /// The next word, if one has come whole. kConnection: the peer is gone. kProtocol: garbage.
  [[nodiscard]] Result<std::optional<GuardWord>> hear();

 private:
  Descriptor socket_;
  std::array<std::byte, GuardWord::kSize> bytes_{};
  std::size_t received_ = 0;
};

class FabricChannel final : public Channel, private FabricPeer {
 public:
  /// `index`, `secret`: what the peer's messages are known by.
  FabricChannel(std::shared_ptr<FabricEndpoint> endpoint, std::uint32_t index, std::uint32_t secret,
                std::string peer_name);
  /// Waits, not for long, until the last bytes need this process no more.
  ~FabricChannel() override;

  // How a channel begins: lead_to(), greet() until it is done, reached(), guard().

  /// The peer's offer: there messages go.
  [[nodiscard]] Result<void> lead_to(const FabricOffer& offer);
  /// First message; false: the provider is busy.
  [[nodiscard]] Result<bool> greet();
  /// Messages pass both ways.
  [[nodiscard]] Result<bool> reached() const;
  /// The socket to the peer. Now the channel can be used.
  [[nodiscard]] Result<void> guard(GuardSocket socket);

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return epoll_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override;
  void shutdown_output() override;
  /// The provider's own descriptors stay open in the child: only its own library may touch them.
  /// The peer watches the guard.
  void close_in_forked_child() override {
    guard_.release().reset();
    epoll_.reset();
  }
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

 private:
  void arrived(FabricBuffer& buffer) override;
  void left(int error) override;

  /// One message; false: the provider is busy.
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

  // The peer's.
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  std::uint32_t peer_channel_ = 0;
  std::uint32_t peer_secret_ = 0;
  std::size_t message_size_ = 0;  ///< largest that both ends have buffers for
  std::uint32_t credits_ = 0;     ///< messages of data that may still be sent

  std::uint32_t sent_ = 0;         ///< messages
  std::uint32_t received_ = 0;     ///< messages
  std::uint32_t owed_ = 0;         ///< credits to return
  std::size_t under_way_ = 0;      ///< buffers that libfabric has for sending
  FabricBuffer* first_ = nullptr;  ///< arrived, not read
  FabricBuffer* last_ = nullptr;

  bool greeted_ = false;
  bool greeting_came_ = false;
  bool want_output_ = false;
  bool provider_busy_ = false;  ///< it took no message, and tells nobody when it will
  bool end_wanted_ = false;
  bool end_sent_ = false;
  bool end_came_ = false;
  bool asleep_told_ = false;   ///< our word stands at the peer
  bool peer_asleep_ = false;   ///< the peer's word stands here
  std::uint64_t gone_at_ = 0;  ///< when the guarding socket ended, ns; 0: it has not
  std::optional<Error> failure_;
  std::uint32_t empty_reads_ = 0;
};

}  // namespace impishim::wire
