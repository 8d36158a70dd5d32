// SPDX-License-Identifier: Apache-2.0
#include "wire/monitor/monitor_message.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"

namespace impishim::wire {

std::vector<std::byte> encode(const MonitorHello& hello) {
  ByteWriter out;
  out.put(hello.client);
  out.put(hello.rank);
  out.put(hello.size);
  return out.take();
}

std::optional<MonitorHello> decode_monitor_hello(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto client = in.get<std::int32_t>();
  const auto rank = in.get<std::int32_t>();
  const auto size = in.get<std::int32_t>();
  if (!size || in.remaining() != 0 || *client < 0 || *rank < 0 || *rank >= *size)
    return std::nullopt;
  return MonitorHello{*client, *rank, *size};
}

std::vector<std::byte> encode(const MonitorQuestion& question) {
  ByteWriter out;
  out.put(question.number);
  out.put(question.wants);
  return out.take();
}

std::optional<MonitorQuestion> decode_monitor_question(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto number = in.get<std::uint32_t>();
  const auto wants = in.get<std::uint32_t>();
  if (!wants || in.remaining() != 0 || *wants == 0 || (*wants & ~kWantsAll) != 0)
    return std::nullopt;
  return MonitorQuestion{*number, *wants};
}

std::vector<std::byte> encode(const MonitorEnd& end) {
  ByteWriter out;
  out.put(end.size);
  out.put(end.watched);
  for (const std::int32_t rank : end.silent) out.put(rank);
  return out.take();
}

std::optional<MonitorEnd> decode_monitor_end(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto size = in.get<std::int32_t>();
  const auto watched = in.get<std::int32_t>();
  if (!watched || *size < 0 || *watched < 0 || *watched > *size ||
      in.remaining() % sizeof(std::int32_t) != 0 ||
      in.remaining() / sizeof(std::int32_t) > static_cast<std::size_t>(*watched))
    return std::nullopt;
  MonitorEnd end{*size, *watched, {}};
  while (const auto rank = in.get<std::int32_t>()) {
    if (*rank < 0 || *rank >= *size) return std::nullopt;
    end.silent.push_back(*rank);
  }
  return end;
}

std::vector<std::byte> encode_answer(std::uint32_t number, const ProcessState& state) {
  ByteWriter out;
  out.put(number);
  out.put_bytes(encode(state));
  return out.take();
}

}  // namespace impishim::wire
