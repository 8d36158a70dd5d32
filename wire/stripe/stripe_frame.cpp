// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/stripe_frame.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

StripeHeader encode_stripe_frame(const StripeFrame& frame) {
  StripeHeader header;
  store_big_endian(header.data(), static_cast<std::uint32_t>(frame.type));
  store_big_endian(header.data() + 4, frame.size);
  store_big_endian(header.data() + 8, frame.received);
  store_big_endian(header.data() + 16, frame.place);
  return header;
}

Result<StripeFrame> decode_stripe_frame(
    std::span<const std::byte, StripeFrame::kHeaderSize> header) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const auto type = load_big_endian<std::uint32_t>(header.data());
  StripeFrame frame;
  frame.type = static_cast<StripeFrameType>(type);
  frame.size = load_big_endian<std::uint32_t>(header.data() + 4);
  frame.received = load_big_endian<std::uint64_t>(header.data() + 8);
  frame.place = load_big_endian<std::uint64_t>(header.data() + 16);
  switch (frame.type) {
    case StripeFrameType::kData:
      if (frame.size >= 1 && frame.size <= StripeFrame::kMostFrame &&
          frame.place <= kMost - frame.size)
        return frame;
      break;
    case StripeFrameType::kEnd:
      if (frame.size == 0) return frame;
      break;
    case StripeFrameType::kResume:
    case StripeFrameType::kAcknowledge:
    case StripeFrameType::kQuestion:
      if (frame.size == 0 && frame.place == 0) return frame;
      break;
    default:
      return Error{ErrorKind::kProtocol,
                   fmt::format("a frame of the striped stream has the unknown type 0x{:x}", type)};
  }
  return Error{ErrorKind::kProtocol,
               fmt::format("a frame of the striped stream, of type 0x{:x}, has the impossible size "
                           "{} or place {}",
                           type, frame.size, frame.place)};
}

}  // namespace impishim::wire
