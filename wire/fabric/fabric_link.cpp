// SPDX-License-Identifier: Apache-2.0
// Creation of libfabric channels from connected sockets.
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/fabric/fabric_channel.hpp"
#include "wire/fabric/fabric_endpoint.hpp"
#include "wire/fabric/fabric_library.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest wait for the first message if there is a fallback.
constexpr auto kReachTime = std::chrono::seconds(10);
constexpr int kPauseMs = 1;

/// Returns the address from which the links leave, if they use IP.
std::string own_address(const std::vector<FabricLink>& links) {
  SocketAddress here;
  if (links.empty() || getsockname(links.front().socket.get(), here.get(), &here.size) != 0)
    return {};
  return here.family() == AF_INET || here.family() == AF_INET6 ? address_text(here.host())
                                                               : std::string();
}

Result<std::uint32_t> random_number() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof(number), 0) == sizeof(number)) return number;
  return Error{ErrorKind::kSystem, "no random numbers for a channel of libfabric"};
}

/// A link that is being switched to libfabric.
struct Passage {
  std::string peer_name;
  GuardSocket socket;
  std::unique_ptr<FabricChannel> channel;  ///< null: this process has no endpoint
  std::vector<std::byte> unsent;
  std::vector<std::byte> received;
  std::size_t wanted = FabricOffer::kHeadSize;
  std::optional<FabricOffer> offer;
  std::optional<Error> unreached;       ///< the reason why messages do not pass
  bool cut = false;                     ///< the socket can no longer be used
  bool told = false;                    ///< the peer has been told whether messages pass
  std::optional<bool> peer_is_reached;  ///< the peer's own report

  [[nodiscard]] bool offers_exchanged() const { return cut || (unsent.empty() && offer); }
  [[nodiscard]] bool done() const { return cut || (told && peer_is_reached); }
};

/// The exchange of offers and first messages on all links at the same time.
class FabricHandshake {
 public:
  FabricHandshake(const std::string& provider, std::vector<FabricLink> links, int timeout_ms,
                  bool may_fail)
      : deadline_(Clock::now() + std::chrono::milliseconds(timeout_ms)), may_fail_(may_fail) {
    auto endpoint = FabricEndpoint::open(provider, own_address(links), links.size());
    if (endpoint)
      endpoint_ = std::move(*endpoint);
    else
      refusal_ = endpoint.error();
    for (FabricLink& link : links) {
      Passage passage;
      passage.peer_name = std::move(link.peer_name);
      passage.socket = GuardSocket(std::move(link.socket));
      passages_.push_back(std::move(passage));
    }
  }

  /// Runs the exchange. Its errors concern this process as a whole; each passage has its own error.
  Result<void> run() {
    for (Passage& each : passages_) {
      auto offered = offer(each);
      if (!offered) return offered.error();
    }
    while (!std::ranges::all_of(passages_, &Passage::offers_exchanged)) {
      for (Passage& each : passages_) exchange(each);
      auto waited = pause();
      if (!waited) return waited.error();
    }
    for (Passage& each : passages_) accept(each);
    reach_by_ = may_fail_ ? std::min(deadline_, Clock::now() + kReachTime) : deadline_;
    while (!std::ranges::all_of(passages_, &Passage::done)) {
      if (endpoint_) endpoint_->drive();
      for (Passage& each : passages_) reach(each);
      auto waited = pause();
      if (!waited) return waited.error();
    }
    const bool all_mapped = std::ranges::none_of(
        passages_, [](const Passage& each) { return each.unreached.has_value(); });
    if (endpoint_ && all_mapped) endpoint_->unlink_shared_memory();
    return {};
  }

  std::vector<Passage>& passages() { return passages_; }

 private:
  Result<void> offer(Passage& passage) {
    FabricOffer mine;
    if (endpoint_) {
      auto secret = random_number();
      if (!secret) return secret.error();
      const fi_info& info = endpoint_->info();
      mine.provider = endpoint_->provider();
      mine.protocol = info.ep_attr->protocol;
      mine.protocol_version = info.ep_attr->protocol_version;
      mine.channel = static_cast<std::uint32_t>(&passage - passages_.data());
      mine.secret = *secret;
      mine.message_size = FabricEndpoint::kMessageSize;
      mine.credits = static_cast<std::uint32_t>(endpoint_->credits());
      mine.address = endpoint_->address();
      passage.channel =
          std::make_unique<FabricChannel>(endpoint_, mine.channel, mine.secret, passage.peer_name);
    } else {
      mine.reason = refusal_->text;
      passage.unreached = refusal_;
    }
    passage.unsent = mine.encode();
    return {};
  }

  void exchange(Passage& passage) {
    const int socket = passage.socket.descriptor();
    if (!passage.unsent.empty()) {
      const ssize_t sent =
          send(socket, passage.unsent.data(), passage.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) passage.unsent.erase(passage.unsent.begin(), passage.unsent.begin() + sent);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return lose(passage, std::strerror(errno));
    }
    if (passage.offer || passage.cut) return;
    std::vector<std::byte>& bytes = passage.received;
    const std::size_t before = bytes.size();
    bytes.resize(passage.wanted);
    const ssize_t size = recv(socket, bytes.data() + before, passage.wanted - before, MSG_DONTWAIT);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size == 0) return lose(passage, "it closed the connection");
    if (size < 0) {
      if (errno != EAGAIN && errno != EINTR) lose(passage, std::strerror(errno));
      return;
    }
    if (bytes.size() < passage.wanted) return;
    if (passage.wanted == FabricOffer::kHeadSize) {
      auto length = FabricOffer::length_after(std::span(bytes).first<FabricOffer::kHeadSize>());
      if (!length) return cut(passage, length.error());
      passage.wanted += *length;
      if (*length > 0) return;
    }
    auto offer = FabricOffer::decode(std::span(bytes).subspan(FabricOffer::kHeadSize));
    if (!offer) return cut(passage, offer.error());
    passage.offer = std::move(*offer);
  }

  void accept(Passage& passage) {
    if (passage.unreached) return;
    const FabricOffer& theirs = *passage.offer;
    const fi_info& info = endpoint_->info();
    if (theirs.provider.empty())
      return give_up(passage,
                     {ErrorKind::kConfiguration, "it refuses: " + printable(theirs.reason)});
    if (theirs.provider != endpoint_->provider() || theirs.protocol != info.ep_attr->protocol ||
        theirs.protocol_version != info.ep_attr->protocol_version) {
      return give_up(passage,
                     {ErrorKind::kConfiguration,
                      fmt::format("it uses the provider {} (protocol {}.{}), this process {} "
                                  "({}.{}): set IMPISHIM_FABRIC alike "
                                  "and use the same libfabric",
                                  printable(theirs.provider), theirs.protocol,
                                  theirs.protocol_version, endpoint_->provider(),
                                  info.ep_attr->protocol, info.ep_attr->protocol_version)});
    }
    auto led = passage.channel->lead_to(theirs);
    if (!led) give_up(passage, led.error());
  }

  void reach(Passage& passage) {
    if (passage.cut) return;
    if (!passage.unreached) {
      auto greeted = passage.channel->greet();
      auto reached = passage.channel->reached();
      if (!greeted)
        give_up(passage, greeted.error());
      else if (!reached)
        give_up(passage, reached.error());
      else if (*reached && !passage.told)
        tell(passage, GuardWord::Kind::kReached);
      else if (Clock::now() >= reach_by_ && !passage.told)
        give_up(passage, {ErrorKind::kTimeout,
                          "its messages do not come: is its network the same as this one's?"});
    }
    if (passage.unreached && !passage.told) tell(passage, GuardWord::Kind::kNotReached);
    if (passage.peer_is_reached) return;
    auto word = passage.socket.hear();
    if (!word) {
      cut(passage, word.error());
    } else if (word->has_value()) {
      passage.peer_is_reached = (*word)->kind == GuardWord::Kind::kReached;
      if (!*passage.peer_is_reached && !passage.unreached) {
        give_up(passage, {ErrorKind::kConnection, "this process's messages do not reach it"});
      }
    }
  }

  /// Sends the word. If the socket does not take it, the socket has ended, and hear() will report
  /// that.
  static void tell(Passage& passage, GuardWord::Kind kind) {
    static_cast<void>(passage.socket.say({kind, 0}));
    passage.told = true;
  }

  static void give_up(Passage& passage, const Error& why) {
    if (!passage.unreached) passage.unreached = why;
  }

  static void cut(Passage& passage, const Error& why) {
    give_up(passage, why);
    passage.cut = true;
  }

  static void lose(Passage& passage, const std::string& why) {
    cut(passage, {ErrorKind::kConnection, why});
  }

  [[nodiscard]] Result<void> pause() {
    std::vector<pollfd> sockets;
    std::string silent;
    for (Passage& each : passages_) {
      if (each.done()) continue;
      sockets.push_back({each.socket.descriptor(), POLLIN, 0});
      silent += (silent.empty() ? "" : ", ") + each.peer_name;
    }
    // libfabric has work to do, so the pause must be short. This loop runs only at startup.
    poll(sockets.data(), sockets.size(), kPauseMs);
    if (Clock::now() < deadline_ + std::chrono::seconds(1)) return {};
    return Error{ErrorKind::kTimeout, fmt::format("libfabric: no answer in time from {}",
                                                  silent.empty() ? "the other ends" : silent)};
  }

  std::shared_ptr<FabricEndpoint> endpoint_;
  std::optional<Error> refusal_;  ///< the reason why there is no endpoint
  std::vector<Passage> passages_;
  Clock::time_point deadline_;
  Clock::time_point reach_by_;
  bool may_fail_;
};

/// Returns the channel that results from a passage.
Result<std::unique_ptr<Channel>> arrive(Passage& passage, const SocketFallback& fallback) {
  if (!passage.unreached) {
    auto guarded = passage.channel->guard(std::move(passage.socket));
    if (!guarded) return guarded.error();
    return std::unique_ptr<Channel>(std::move(passage.channel));
  }
  const std::string why =
      fmt::format("libfabric: {}: {}", passage.peer_name, passage.unreached->text);
  if (!fallback || passage.cut) return Error{passage.unreached->kind, why};
  log(LogArea::kChannel, LogLevel::kWarn, "{}; the connection stays on its socket", why);
  return fallback({passage.socket.release(), passage.peer_name});
}

}  // namespace

Result<std::vector<std::unique_ptr<Channel>>> make_fabric_channels(const std::string& provider,
                                                                   std::vector<FabricLink> links,
                                                                   int timeout_ms,
                                                                   const SocketFallback& fallback) {
  std::vector<std::unique_ptr<Channel>> channels;
  if (links.empty()) return channels;
  const SignalsKept kept;
  for (const FabricLink& link : links) set_tcp_options(link.socket.get());
  FabricHandshake crossing(provider, std::move(links), timeout_ms, fallback != nullptr);
  auto crossed = crossing.run();
  if (!crossed) return crossed.error();
  for (Passage& passage : crossing.passages()) {
    auto channel = arrive(passage, fallback);
    if (!channel) return channel.error();
    channels.push_back(std::move(*channel));
  }
  return channels;
}

}  // namespace impishim::wire
