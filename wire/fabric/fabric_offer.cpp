// SPDX-License-Identifier: Apache-2.0
#include "wire/fabric/fabric_offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint32_t kMagic = 0x494d4642;
/// The version of offers, words and message headers.
constexpr std::uint32_t kVersion = 1;

void put_block(ByteWriter& out, std::span<const std::byte> bytes) {
  out.put(static_cast<std::uint16_t>(bytes.size()));
  out.put_bytes(bytes);
}

std::optional<std::span<const std::byte>> get_block(ByteReader& in) {
  const auto size = in.get<std::uint16_t>();
  return size ? in.get_bytes(*size) : std::nullopt;
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) text += std::to_integer<char>(each);
  return text;
}

Error garbled(const char* what) {
  return {ErrorKind::kProtocol, fmt::format("an offer of libfabric that is garbled: {}", what)};
}

}  // namespace

std::vector<std::byte> FabricOffer::encode() const {
  ByteWriter rest;
  rest.put(kVersion);
  put_block(rest, std::as_bytes(std::span(provider)));
  put_block(rest, std::as_bytes(
                      std::span(reason).first(std::min<std::size_t>(reason.size(), kMaxSize / 2))));
  for (const std::uint32_t each :
       {protocol, protocol_version, channel, secret, message_size, credits})
    rest.put(each);
  put_block(rest, address);
  ByteWriter whole;
  whole.put(kMagic);
  whole.put(static_cast<std::uint32_t>(rest.bytes().size()));
  whole.put_bytes(rest.bytes());
  return whole.take();
}

Result<std::size_t> FabricOffer::length_after(std::span<const std::byte, kHeadSize> head) {
  if (load_big_endian<std::uint32_t>(head.data()) != kMagic)
    return garbled("it begins with something else");
  const auto length = load_big_endian<std::uint32_t>(head.data() + 4);
  if (length > kMaxSize) return garbled("it is too long");
  return std::size_t{length};
}

Result<FabricOffer> FabricOffer::decode(std::span<const std::byte> rest) {
  ByteReader in(rest);
  const auto version = in.get<std::uint32_t>();
  if (version && *version != kVersion) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("it runs version {} of impishim's messages over libfabric, this library {}: "
                    "use the same impishim in every system",
                    *version, kVersion)};
  }
  FabricOffer offer;
  const auto provider = get_block(in);
  const auto reason = get_block(in);
  if (!provider || !reason) return garbled("it is cut");
  offer.provider = text_of(*provider);
  offer.reason = text_of(*reason);
  for (std::uint32_t* each : {&offer.protocol, &offer.protocol_version, &offer.channel,
                              &offer.secret, &offer.message_size, &offer.credits}) {
    const auto value = in.get<std::uint32_t>();
    if (!value) return garbled("it is cut");
    *each = *value;
  }
  const auto address = get_block(in);
  if (!address || in.remaining() != 0) return garbled("its length is wrong");
  offer.address.assign(address->begin(), address->end());
  if (offer.provider.empty()) return offer;
  if (offer.message_size <= FabricHeader::kSize || offer.credits == 0 || offer.credits > 0xFFFF ||
      offer.address.empty()) {
    return garbled("values that cannot be");
  }
  return offer;
}

std::array<std::byte, GuardWord::kSize> GuardWord::encode() const {
  std::array<std::byte, kSize> bytes;
  store_big_endian(bytes.data(), static_cast<std::uint32_t>(kind));
  store_big_endian(bytes.data() + 4, number);
  return bytes;
}

Result<GuardWord> GuardWord::decode(std::span<const std::byte, kSize> bytes) {
  const auto kind = load_big_endian<std::uint32_t>(bytes.data());
  if (kind < static_cast<std::uint32_t>(Kind::kReached) ||
      kind > static_cast<std::uint32_t>(Kind::kWake)) {
    return Error{
        ErrorKind::kProtocol,
        fmt::format("the socket that guards a libfabric channel brought garbage ({:#x})", kind)};
  }
  return GuardWord{static_cast<Kind>(kind), load_big_endian<std::uint32_t>(bytes.data() + 4)};
}

void FabricHeader::encode(std::byte* at) const {
  store_big_endian(at, channel);
  store_big_endian(at + 4, secret);
  store_big_endian(at + 8, sequence);
  store_big_endian(at + 12, credits);
  at[14] = static_cast<std::byte>(kind);
  at[15] = std::byte{0};
}

FabricHeader FabricHeader::decode(const std::byte* at) {
  FabricHeader header;
  header.channel = load_big_endian<std::uint32_t>(at);
  header.secret = load_big_endian<std::uint32_t>(at + 4);
  header.sequence = load_big_endian<std::uint32_t>(at + 8);
  header.credits = load_big_endian<std::uint16_t>(at + 12);
  header.kind = static_cast<Kind>(at[14]);
  return header;
}

}  // namespace impishim::wire
