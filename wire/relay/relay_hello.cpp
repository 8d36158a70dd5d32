// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_hello.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kHeaderSize = 8;
constexpr std::uint32_t kHelloLength = kRelayHelloSize - kHeaderSize;
constexpr std::uint32_t kAnswerLength = kRelayAnswerSize - kHeaderSize;
constexpr std::uint32_t kPairIsComplete = 0;

Result<void> check_header(const std::byte* at, std::uint32_t length) {
  const auto command = load_big_endian<std::uint32_t>(at);
  if (command != kRelayCommand)
    return Error{ErrorKind::kProtocol,
                 fmt::format("command {:#010x} instead of {:#010x}", command, kRelayCommand)};
  const auto given = load_big_endian<std::uint32_t>(at + sizeof(command));
  if (given == length) return {};
  return Error{ErrorKind::kProtocol, fmt::format("length {} instead of {}", given, length)};
}

}  // namespace

Result<void> check_relay_ends(const RelayEnds& ends) {
  if (ends.own >= 0 && ends.other >= 0 && ends.own != ends.other) return {};
  return Error{ErrorKind::kProtocol,
               fmt::format("ends {} and {}: they must be two different numbers, and not negative",
                           ends.own, ends.other)};
}

std::array<std::byte, kRelayHelloSize> encode_relay_hello(const RelayHello& hello) {
  std::array<std::byte, kRelayHelloSize> bytes{};
  std::byte* at = bytes.data();
  store_big_endian(at, kRelayCommand);
  store_big_endian(at + 4, kHelloLength);
  at = std::ranges::copy(hello.token, at + kHeaderSize).out;
  store_big_endian(at, hello.ends.own);
  store_big_endian(at + 4, hello.ends.other);
  return bytes;
}

Result<std::optional<RelayHello>> decode_relay_hello(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderSize) return std::optional<RelayHello>();
  auto header = check_header(bytes.data(), kHelloLength);
  if (!header) return header.error();
  if (bytes.size() < kRelayHelloSize) return std::optional<RelayHello>();
  RelayHello hello;
  const auto token = bytes.subspan(kHeaderSize, hello.token.size());
  std::ranges::copy(token, hello.token.begin());
  const std::byte* const ends = token.data() + token.size();
  hello.ends = {load_big_endian<std::int32_t>(ends), load_big_endian<std::int32_t>(ends + 4)};
  auto checked = check_relay_ends(hello.ends);
  if (!checked) return checked.error();
  return std::optional(hello);
}

std::array<std::byte, kRelayAnswerSize> encode_relay_answer() {
  std::array<std::byte, kRelayAnswerSize> bytes{};
  store_big_endian(bytes.data(), kRelayCommand);
  store_big_endian(bytes.data() + 4, kAnswerLength);
  store_big_endian(bytes.data() + kHeaderSize, kPairIsComplete);
  return bytes;
}

Result<void> check_relay_answer(std::span<const std::byte, kRelayAnswerSize> bytes) {
  auto header = check_header(bytes.data(), kAnswerLength);
  if (!header) return header;
  const auto answer = load_big_endian<std::uint32_t>(bytes.data() + kHeaderSize);
  if (answer == kPairIsComplete) return {};
  return Error{ErrorKind::kProtocol,
               fmt::format("the relay answered {} instead of {}", answer, kPairIsComplete)};
}

}  // namespace impishim::wire
