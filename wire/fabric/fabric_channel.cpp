// SPDX-License-Identifier: Apache-2.0
#include "wire/fabric/fabric_channel.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/fabric/fabric_endpoint.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

/// Time for which the last bytes of a dead peer may still arrive: its socket and the fabric are
/// different paths.
constexpr std::uint64_t kLateBytesNs = 200'000'000;
/// Time that a channel may spend on sending its last bytes when it is destroyed.
constexpr std::uint64_t kLingerNs = 2'000'000'000;
/// A waiting owner notices a dead peer when it sleeps. An owner that only polls checks the guard
/// socket once in this many empty reads, and more often if the socket also carries words.
constexpr std::uint32_t kEmptyReadsPerLook = 4096;
constexpr std::uint32_t kEmptyReadsPerWord = 64;
/// Largest message that is built on the stack, for a provider that takes it at once.
constexpr std::size_t kLargestInjected = 1024;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

/// Copies `size` bytes of `pieces`, starting with the byte numbered `skip`, to `to`.
void gather(std::span<const iovec> pieces, std::size_t skip, std::size_t size, std::byte* to) {
  for (const iovec& piece : pieces) {
    if (size == 0) return;
    if (skip >= piece.iov_len) {
      skip -= piece.iov_len;
      continue;
    }
    const std::size_t part = std::min(piece.iov_len - skip, size);
    std::memcpy(to, static_cast<const std::byte*>(piece.iov_base) + skip, part);
    to += part;
    size -= part;
    skip = 0;
  }
}

}  // namespace

bool GuardSocket::say(const GuardWord& word) {
  const auto bytes = word.encode();
  return send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

Result<std::optional<GuardWord>> GuardSocket::hear() {
  const ssize_t size =
      recv(socket_.get(), bytes_.data() + received_, bytes_.size() - received_, MSG_DONTWAIT);
  if (size == 0) return Error{ErrorKind::kConnection, "the process has ended"};
  if (size < 0) {
    if (would_block(errno)) return std::optional<GuardWord>();
    return Error{ErrorKind::kConnection, std::strerror(errno)};
  }
  received_ += static_cast<std::size_t>(size);
  if (received_ < bytes_.size()) return std::optional<GuardWord>();
  received_ = 0;
  auto word = GuardWord::decode(bytes_);
  if (!word) return word.error();
  return std::optional<GuardWord>(*word);
}

FabricChannel::FabricChannel(std::shared_ptr<FabricEndpoint> endpoint, std::uint32_t index,
                             std::uint32_t secret, std::string peer_name)
    : endpoint_(std::move(endpoint)),
      index_(index),
      secret_(secret),
      peer_name_(std::move(peer_name)) {
  endpoint_->attach(index_, this);
}

FabricChannel::~FabricChannel() {
  if (guard_.descriptor() >= 0) {
    look_at_guard();  // a peer that is gone gets nothing
    shutdown_output();
  }
  const std::uint64_t deadline = now_ns() + kLingerNs;
  while (guard_.descriptor() >= 0 && gone_at_ == 0 && !failure_ &&
         ((end_wanted_ && !end_sent_) || under_way_ > 0) && now_ns() < deadline) {
    if (endpoint_->drive() == 0) std::this_thread::yield();
    if (!end_sent_) send_end();
    look_at_guard();
  }
  for (FabricBuffer* buffer = first_; buffer != nullptr;) {
    FabricBuffer& done = *buffer;
    buffer = buffer->next;
    endpoint_->post(done);
  }
  endpoint_->forget(index_, this);
}

Result<void> FabricChannel::lead_to(const FabricOffer& offer) {
  auto address = endpoint_->insert(offer.address);
  if (!address) return address.error();
  address_ = *address;
  peer_channel_ = offer.channel;
  peer_secret_ = offer.secret;
  message_size_ = std::min<std::size_t>(offer.message_size, FabricEndpoint::kMessageSize);
  granted_ = offer.credits;
  credits_ = offer.credits;
  return {};
}

Result<bool> FabricChannel::greet() {
  if (greeted_) return true;
  auto sent = send_message(FabricHeader::Kind::kHello, {}, 0, 0);
  if (sent && *sent) greeted_ = true;
  return sent;
}

Result<bool> FabricChannel::reached() const {
  if (failure_) return *failure_;
  return greeted_ && greeting_came_ && under_way_ == 0;
}

Result<void> FabricChannel::guard(GuardSocket socket) {
  guard_ = std::move(socket);
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  const bool watched =
      epoll_.valid() && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, guard_.descriptor(), &event) == 0 &&
      (wakes_by_words() ||
       epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, endpoint_->descriptor(), &event) == 0);
  if (watched) return {};
  return Error{ErrorKind::kSystem, fmt::format("libfabric's channel to {} cannot be watched: {}",
                                               peer_name_, std::strerror(errno))};
}

void FabricChannel::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void FabricChannel::arrived(FabricBuffer& buffer) {
  const FabricHeader header = FabricHeader::decode(buffer.bytes);
  if (header.secret != secret_) {
    // Any process that reaches the endpoint can send such a message, so it must not end the
    // channel.
    log(LogArea::kChannel, LogLevel::kDebug,
        "libfabric: a message of a stranger for the channel to {}", peer_name_);
    endpoint_->post(buffer);
    return;
  }
  if (header.sequence != received_ || header.kind > FabricHeader::Kind::kEnd) {
    endpoint_->post(buffer);
    fail({ErrorKind::kProtocol,
          fmt::format("libfabric, provider {}: message {} arrived where {} was next",
                      endpoint_->provider(), header.sequence, received_)});
    return;
  }
  if (header.credits > granted_ - credits_) {
    endpoint_->post(buffer);
    fail({ErrorKind::kProtocol,
          fmt::format("libfabric, provider {}: {} returned {} credits where {} were in use",
                      endpoint_->provider(), peer_name_, header.credits, granted_ - credits_)});
    return;
  }
  ++received_;
  credits_ += header.credits;
  if (header.kind != FabricHeader::Kind::kData) {
    greeting_came_ = greeting_came_ || header.kind == FabricHeader::Kind::kHello;
    end_came_ = end_came_ || header.kind == FabricHeader::Kind::kEnd;
    endpoint_->post(buffer);
    return;
  }
  if (buffer.begin == buffer.end) {
    finish_reading(buffer);
    return;
  }
  buffer.next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = &buffer;
  last_ = &buffer;
}

void FabricChannel::left(int error) {
  --under_way_;
  provider_busy_ = false;
  if (error < 0)
    fail({ErrorKind::kConnection,
          fmt::format("libfabric, provider {}: a message was lost", endpoint_->provider())});
}

Result<bool> FabricChannel::send_message(FabricHeader::Kind kind, std::span<const iovec> pieces,
                                         std::size_t skip, std::size_t size) {
  const FabricHeader header{peer_channel_, peer_secret_, sent_, static_cast<std::uint16_t>(owed_),
                            kind};
  const std::size_t whole = FabricHeader::kSize + size;
  // The channel waits for the end and the greeting, so they need completions.
  const bool waited_for = kind == FabricHeader::Kind::kEnd || kind == FabricHeader::Kind::kHello;
  Result<bool> taken = false;
  if (whole <= std::min(endpoint_->inject_size(), kLargestInjected) && !waited_for) {
    std::array<std::byte, kLargestInjected>
        bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): only the used part is filled
    header.encode(bytes.data());
    gather(pieces, skip, size, bytes.data() + FabricHeader::kSize);
    taken = endpoint_->inject(address_, std::span(bytes).first(whole));
  } else {
    auto buffer = endpoint_->take_buffer();
    if (!buffer) return buffer.error();
    (*buffer)->sender = this;
    header.encode((*buffer)->bytes);
    gather(pieces, skip, size, (*buffer)->bytes + FabricHeader::kSize);
    taken = endpoint_->send(address_, **buffer, whole, waited_for);
    if (taken && *taken)
      ++under_way_;
    else
      endpoint_->give_back(**buffer);
  }
  if (!taken) {
    fail(taken.error());
    return taken;
  }
  provider_busy_ = !*taken;
  if (!*taken) return taken;
  ++sent_;
  owed_ = 0;
  if (kind == FabricHeader::Kind::kData) --credits_;
  if (wakes_by_words() && guard_.descriptor() >= 0) {
    if (!peer_asleep_) look_at_guard();  // the peer's word may have arrived since the last check
    if (peer_asleep_) peer_asleep_ = !guard_.say({GuardWord::Kind::kWake, 0});
  }
  return taken;
}

/// Sends `pieces` as messages, as many as there are credits for.
Result<std::size_t> FabricChannel::send_pieces(std::span<const iovec> pieces) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) total += piece.iov_len;
  const std::size_t most = message_size_ - FabricHeader::kSize;
  std::size_t sent = 0;
  while (sent < total && credits_ > 0) {
    const std::size_t size = std::min(total - sent, most);
    auto taken = send_message(FabricHeader::Kind::kData, pieces, sent, size);
    if (!taken) return taken.error();
    if (!*taken) break;
    sent += size;
  }
  return sent;
}

Result<std::size_t> FabricChannel::try_send(std::span<const iovec> pieces) {
  if (failure_) return *failure_;
  if (gone_at_ != 0) return Error{ErrorKind::kConnection, "the process has ended"};
  auto sent = send_pieces(pieces);
  if (sent && *sent == 0) {
    endpoint_->drive();
    sent = send_pieces(pieces);
  }
  return sent;
}

std::size_t FabricChannel::read_pieces(std::span<const iovec> pieces) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) {
    auto* to = static_cast<std::byte*>(piece.iov_base);
    std::size_t room = piece.iov_len;
    while (room > 0) {
      if (first_ == nullptr) return total;
      FabricBuffer& buffer = *first_;
      const std::size_t part = std::min(room, buffer.end - buffer.begin);
      std::memcpy(to, buffer.bytes + buffer.begin, part);
      to += part;
      room -= part;
      total += part;
      buffer.begin += part;
      if (buffer.begin < buffer.end) continue;
      first_ = buffer.next;
      finish_reading(buffer);
    }
  }
  return total;
}

void FabricChannel::finish_reading(FabricBuffer& buffer) {
  endpoint_->post(buffer);
  ++owed_;
}

/// Returns credits. They normally travel with data. They travel alone only when half of all credits
/// are owed, so at most two such messages are in transit.
void FabricChannel::return_credits() {
  if (std::size_t{2} * owed_ < endpoint_->credits() || failure_ || end_came_ || gone_at_ != 0)
    return;
  static_cast<void>(
      send_message(FabricHeader::Kind::kCredits, {}, 0, 0));  // an error is kept in failure_
}

bool FabricChannel::input_over() const {
  return failure_ || end_came_ || (gone_at_ != 0 && now_ns() - gone_at_ > kLateBytesNs);
}

Result<std::size_t> FabricChannel::try_receive(std::span<const iovec> pieces) {
  if (first_ == nullptr) endpoint_->drive();
  const std::size_t size = read_pieces(pieces);
  return_credits();
  if (end_wanted_ && !end_sent_) send_end();
  if (size > 0) return size;
  if (input_over()) {
    if (failure_) return *failure_;
    return Error{ErrorKind::kConnection, gone_at_ != 0 ? "the process has ended" : "end of stream"};
  }
  if (++empty_reads_ % (wakes_by_words() ? kEmptyReadsPerWord : kEmptyReadsPerLook) == 0) {
    const bool told = asleep_told_;
    look_at_guard();
    // The word may have been for another thread, which still sleeps. So announce the sleep and then
    // poll again, as before a sleep.
    if (told && !asleep_told_ && !prepare_to_sleep()) return try_receive(pieces);
  }
  return size;
}

void FabricChannel::look_at_guard() {
  while (gone_at_ == 0) {
    auto word = guard_.hear();
    if (!word) {
      if (word.error().kind == ErrorKind::kProtocol) fail(word.error());
      gone_at_ = now_ns();
      return;
    }
    if (!word->has_value()) return;
    if ((*word)->kind == GuardWord::Kind::kWake) asleep_told_ = false;
    if ((*word)->kind != GuardWord::Kind::kAsleep) continue;
    peer_asleep_ = true;
    if ((*word)->number != sent_) peer_asleep_ = !guard_.say({GuardWord::Kind::kWake, 0});
  }
}

std::uint32_t FabricChannel::epoll_events() const { return EPOLLIN; }

bool FabricChannel::set_want_output(bool want) {
  want_output_ = want;
  return false;
}

bool FabricChannel::prepare_to_sleep() {
  look_at_guard();
  if (wakes_by_words()) {
    // Without calls from this process, messages of such a provider may not make progress.
    if (under_way_ > 0) {
      endpoint_->drive();
      if (under_way_ > 0) return false;
    }
    if (!asleep_told_) asleep_told_ = guard_.say({GuardWord::Kind::kAsleep, received_});
    if (!asleep_told_) return false;
  }
  // The completion may belong to another channel, whose owner believes that it can sleep.
  if (endpoint_->drive() > 0) return false;
  return_credits();
  if (end_wanted_ && !end_sent_) send_end();
  if (first_ != nullptr || gone_at_ != 0 || input_over() || provider_busy_) return false;
  if (want_output_ && credits_ > 0) return false;
  return wakes_by_words() || endpoint_->may_sleep();
}

void FabricChannel::end_sleep() { look_at_guard(); }

void FabricChannel::send_end() {
  auto sent = send_message(FabricHeader::Kind::kEnd, {}, 0, 0);
  end_sent_ = !sent || *sent;
}

void FabricChannel::shutdown_output() {
  if (end_wanted_ || failure_ || gone_at_ != 0) return;
  end_wanted_ = true;
  send_end();
}

}  // namespace impishim::wire
