// SPDX-License-Identifier: Apache-2.0
// What a peer says on a socket before the channel goes over to libfabric, and while it sleeps.
#include <algorithm>

#include "tests/fuzz/fuzz.hpp"
#include "wire/fabric/fabric_offer.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using impishim::wire::FabricOffer;
  using impishim::wire::GuardWord;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size < FabricOffer::kHeadSize) return 0;
  auto word = GuardWord::decode(bytes.first<GuardWord::kSize>());
  FUZZ_REQUIRE(!word || GuardWord::decode(word->encode())->number == word->number);
  auto length = FabricOffer::length_after(bytes.first<FabricOffer::kHeadSize>());
  if (!length) return 0;
  FUZZ_REQUIRE(*length <= FabricOffer::kMaxSize);
  const auto rest = bytes.subspan(FabricOffer::kHeadSize);
  auto offer = FabricOffer::decode(rest.first(std::min(*length, rest.size())));
  if (!offer) return 0;
  const auto again = offer->encode();
  auto same = FabricOffer::decode(std::span(again).subspan(FabricOffer::kHeadSize));
  FUZZ_REQUIRE(same.ok() && same->encode() == again);
  return 0;
}
