// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/startup_message.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

std::vector<std::byte> encode_startup(StartupCommand command, std::span<const std::byte> payload) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(command));
  out.put(static_cast<std::uint32_t>(payload.size()));
  out.put_bytes(payload);
  return out.take();
}

std::vector<std::byte> encode_coll(std::uint32_t label, std::span<const std::byte> data) {
  ByteWriter payload;
  payload.put(label);
  payload.put_bytes(data);
  return encode_startup(StartupCommand::kColl, payload.bytes());
}

Result<std::optional<StartupMessage>> StartupDecoder::next(std::uint32_t limit) {
  constexpr std::size_t kFrame = 8;
  if (pending_.size() < kFrame) return std::optional<StartupMessage>();
  std::array<std::byte, kFrame> frame;
  std::copy_n(pending_.begin(), kFrame, frame.begin());
  StartupMessage message;
  message.command = load_big_endian<std::uint32_t>(frame.data());
  const auto length = load_big_endian<std::uint32_t>(frame.data() + 4);
  if (length > limit) {
    return Error{
        ErrorKind::kProtocol,
        fmt::format("a startup command 0x{:08x} of {} bytes: not IMPI", message.command, length)};
  }
  if (pending_.size() < kFrame + length) return std::optional<StartupMessage>();
  const auto begin = pending_.begin() + kFrame;
  message.payload.assign(begin, begin + length);
  pending_.erase(pending_.begin(), begin + length);
  return std::optional<StartupMessage>(std::move(message));
}

bool StartupDecoder::may_be(StartupCommand command, std::uint32_t limit) const {
  constexpr std::size_t kFrame = 8;
  std::array<std::byte, kFrame> frame{};
  store_big_endian(frame.data(), static_cast<std::uint32_t>(command));
  const std::size_t known = std::min<std::size_t>(pending_.size(), sizeof(std::uint32_t));
  if (!std::equal(frame.begin(), frame.begin() + known, pending_.begin())) return false;
  if (pending_.size() < kFrame) return true;
  std::copy_n(pending_.begin(), kFrame, frame.begin());
  return load_big_endian<std::uint32_t>(frame.data() + sizeof(std::uint32_t)) <= limit;
}

std::optional<std::vector<std::byte>> StartupDecoder::next_raw(std::size_t count) {
  if (pending_.size() < count) return std::nullopt;
  const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<std::byte> bytes(pending_.begin(), end);
  pending_.erase(pending_.begin(), end);
  return bytes;
}

Result<CollAnswer> parse_coll_answer(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  CollAnswer answer;
  const auto label = reader.get<std::uint32_t>();
  const auto mask = reader.get<std::uint32_t>();
  if (!label || !mask)
    return Error{ErrorKind::kProtocol, "a COLL answer without label and client mask"};
  answer.label = *label;
  answer.client_mask = *mask;
  answer.data = payload.subspan(8);
  return answer;
}

std::vector<std::byte> encode_waiting(const WaitingNotice& notice) {
  ByteWriter payload;
  payload.put(static_cast<std::uint32_t>(notice.joined));
  payload.put(notice.clients);
  payload.put(notice.missing);
  return encode_startup(StartupCommand::kWaiting, payload.bytes());
}

std::optional<WaitingNotice> parse_waiting(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  const auto joined = reader.get<std::uint32_t>();
  const auto clients = reader.get<std::uint32_t>();
  const auto missing = reader.get<std::uint32_t>();
  if (!missing || *clients < 1 || *clients > kMaxClients) return std::nullopt;
  return WaitingNotice{*joined != 0, *clients, *missing};
}

std::vector<std::byte> encode_ended(const EndedLaunch& launch) {
  ByteWriter payload;
  payload.put(launch.client);
  payload.put(launch.age_ms);
  return encode_startup(StartupCommand::kEnded, payload.bytes());
}

std::optional<EndedLaunch> parse_ended(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  const auto client = reader.get<std::int32_t>();
  const auto age_ms = reader.get<std::uint64_t>();
  if (!client || !age_ms) return std::nullopt;
  return EndedLaunch{*client, *age_ms};
}

std::vector<std::byte> encode_ended_answer(bool never_joined) {
  ByteWriter payload;
  payload.put(static_cast<std::uint32_t>(never_joined));
  return encode_startup(StartupCommand::kEnded, payload.bytes());
}

std::optional<bool> parse_ended_answer(std::span<const std::byte> payload) {
  const auto never_joined = ByteReader(payload).get<std::uint32_t>();
  if (!never_joined) return std::nullopt;
  return *never_joined == 1;
}

std::string describe_missing(const WaitingNotice& notice) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t client = 0; client < notice.clients; ++client) {
    if ((notice.missing >> client & 1U) != 0) numbers.push_back(client);
  }
  return fmt::format("system{} {} of {}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "),
                     notice.clients);
}

}  // namespace impishim::wire
