// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/simulated_network.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {
namespace {

/// Longest times until an end learns that its connection is lost.
constexpr VirtualTime kReset = 50 * kMillisecond;
constexpr VirtualTime kSilence = 300 * kMillisecond;
constexpr VirtualTime kLongSilence = 2 * kSecond;

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

}  // namespace

void ByteQueue::append(std::span<const std::byte> bytes) {
  if (begin_ > 4096 && begin_ > bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void ByteQueue::take(std::span<std::byte> bytes) {
  IMPISHIM_ASSERT(bytes.size() <= size());
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes.size(), bytes.begin());
  begin_ += bytes.size();
}

SimulatedNetwork::Ends SimulatedNetwork::connect() {
  auto connection = std::make_shared<SimulatedConnection>();
  const bool slow = shape_.uneven && random_.one_in(2);
  connection->most_delay = slow ? 10 * shape_.most_delay : shape_.most_delay;
  std::erase_if(connections_, [](const auto& each) { return each.expired(); });
  connections_.push_back(connection);
  return {std::make_unique<SimulatedChannel>(*this, connection, 0),
          std::make_unique<SimulatedChannel>(*this, connection, 1)};
}

std::size_t SimulatedNetwork::room(const SimulatedStream& stream) const {
  return shape_.capacity - std::min(shape_.capacity, stream.bytes.size());
}

std::size_t SimulatedNetwork::shortened(std::size_t size) {
  if (size == 0 || random_.one_in(2)) return size;
  return random_.one_in(4) ? 0 : 1 + random_.below(size);
}

std::size_t SimulatedNetwork::taken(const SimulatedStream& stream, std::size_t offered) {
  constexpr std::size_t kHeaders = 64;
  if (draining_) return offered;
  const std::size_t fits = std::min(offered, room(stream));
  const bool whole = !shape_.splits_headers && offered <= kHeaders && fits == offered;
  return whole ? fits : shortened(fits);
}

void SimulatedNetwork::carry(const Shared& connection, std::size_t end, std::size_t size) {
  SimulatedStream& stream = connection->from[end];
  while (size > 0 && !stream.broken) {
    const std::size_t part = random_.one_in(3) ? 1 + random_.below(size) : size;
    size -= part;
    stream.latest = std::max(stream.latest, clock_.now() + delay(*connection));
    clock_.at(stream.latest, [connection, end, part] {
      SimulatedStream& arriving = connection->from[end];
      if (arriving.broken) return;
      arriving.arrived += part;
      update(*connection);
    });
  }
}

/// Closes an end. The peer reads what is on its way and then the end, but bytes that were not read
/// here may make it a reset, which destroys what is on its way.
void SimulatedNetwork::close(const Shared& connection, std::size_t end) {
  connection->ends[end] = nullptr;
  SimulatedStream& out = connection->from[end];
  SimulatedStream& in = connection->from[1 - end];
  const bool resets = in.bytes.size() > 0 && random_.one_in(2);
  in.broken = true;
  if (connection->cut) return;
  connection->cut = true;
  if (resets) out.broken = true;
  const VirtualTime arrives = std::max(out.latest, clock_.now() + delay(*connection));
  clock_.at(arrives, [connection, end] {
    connection->from[end].ended = true;
    update(*connection);
  });
  clock_.at(arrives + delay(*connection), [connection, end] {
    connection->from[1 - end].refused = true;
    update(*connection);
  });
}

void SimulatedNetwork::learn(SimulatedConnection& connection, std::size_t end, bool drop_unread) {
  SimulatedStream& out = connection.from[end];
  SimulatedStream& in = connection.from[1 - end];
  out.broken = in.broken = true;
  out.refused = true;
  in.ended = true;
  if (drop_unread) {
    in.bytes.clear();
    in.arrived = 0;
  }
  update(connection);
}

void SimulatedNetwork::cut(const Shared& connection) {
  connection->cut = true;
  ++cuts_;
  const auto kind = random_.below(4);
  const std::size_t first = random_.below(2);
  std::array<VirtualTime, 2> learns = {random_.scaled(kReset), random_.scaled(kReset)};
  // One direction may go on for a while.
  connection->from[first].broken = true;
  if (kind != 0) connection->from[1 - first].broken = true;
  if (kind >= 2) {
    connection->silent = true;
    learns[first] = random_.scaled(kSilence);
    learns[1 - first] = random_.scaled(kLongSilence);
  }
  for (std::size_t end = 0; end < 2; ++end) {
    clock_.after(learns[end],
                 [connection, end, drop = random_.one_in(2)] { learn(*connection, end, drop); });
  }
}

void SimulatedNetwork::cut_any() {
  std::vector<Shared> good;
  for (const auto& each : connections_) {
    if (Shared connection = each.lock(); connection && !connection->cut)
      good.push_back(std::move(connection));
  }
  if (!good.empty()) cut(good[random_.below(good.size())]);
}

void SimulatedNetwork::update(SimulatedConnection& connection) {
  for (SimulatedChannel* const end : connection.ends) {
    if (end != nullptr) end->update();
  }
}

SimulatedChannel::SimulatedChannel(SimulatedNetwork& network,
                                   std::shared_ptr<SimulatedConnection> connection, std::size_t end)
    : network_(network),
      connection_(std::move(connection)),
      end_(end),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  IMPISHIM_ASSERT(event_.valid());
  connection_->ends[end] = this;
}

SimulatedChannel::~SimulatedChannel() { network_.close(connection_, end_); }

Result<std::size_t> SimulatedChannel::try_send(std::span<const iovec> pieces) {
  if (out().refused) return Error{ErrorKind::kConnection, "connection reset"};
  const std::size_t offered = size_of(pieces);
  const std::size_t size = network_.taken(out(), offered);
  std::size_t left = size;
  for (const iovec& piece : pieces) {
    const std::size_t part = std::min(left, piece.iov_len);
    out().bytes.append({static_cast<const std::byte*>(piece.iov_base), part});
    left -= part;
  }
  network_.carry(connection_, end_, size);
  update();
  return size;
}

Result<std::size_t> SimulatedChannel::try_receive(std::span<const iovec> pieces) {
  if (in().arrived == 0 && in().ended) return Error{ErrorKind::kConnection, "end of connection"};
  const std::size_t size = network_.shortened(std::min(size_of(pieces), in().arrived));
  std::size_t left = size;
  for (const iovec& piece : pieces) {
    const std::size_t part = std::min(left, piece.iov_len);
    in().bytes.take({static_cast<std::byte*>(piece.iov_base), part});
    left -= part;
  }
  in().arrived -= size;
  SimulatedNetwork::update(*connection_);
  return size;
}

std::uint32_t SimulatedChannel::epoll_events() const { return EPOLLIN; }

bool SimulatedChannel::set_want_output(bool want) {
  want_output_ = want;
  update();
  return false;
}

bool SimulatedChannel::prepare_to_sleep() { return in().arrived == 0 && !in().ended; }

std::optional<std::chrono::seconds> SimulatedChannel::peer_silence() {
  if (!connection_->silent) return std::nullopt;
  return std::chrono::seconds(1);
}

void SimulatedChannel::update() {
  const bool ready =
      in().arrived > 0 || in().ended || out().refused || (want_output_ && network_.room(out()) > 0);
  if (ready == raised_) return;
  raised_ = ready;
  eventfd_t count = 0;
  const int done = ready ? eventfd_write(event_.get(), 1) : eventfd_read(event_.get(), &count);
  IMPISHIM_ASSERT(done == 0);
}

}  // namespace impishim::wire::test
