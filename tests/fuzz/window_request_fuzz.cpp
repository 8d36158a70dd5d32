// SPDX-License-Identifier: Apache-2.0
// A request for a window, as an origin sends it. Input: 1 byte (representation of the data), then
// the request. It is decoded and applied to a window whose surroundings must not change.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

using namespace impishim::wire;  // NOLINT(google-build-using-namespace)
using impishim::fuzz::Input;

namespace {

constexpr std::size_t kWindowBytes = 64;
constexpr std::size_t kBorderBytes = 256;
constexpr std::byte kBorder{0xa5};

void apply(WindowTarget& target, const ArrivedRequest& arrived, Format format) {
  const WindowRequest& request = arrived.request;
  std::vector<std::byte> before;
  switch (request.kind) {
    case WindowRequestKind::kPut:
      static_cast<void>(target.put(request, arrived.data, format));
      return;
    case WindowRequestKind::kGet:
      // Long answers are sent from the window, piece by piece.
      if (target.check(request, format) == WindowStatus::kDone &&
          request.count * request.target_layout().packed_size(format) <= 4096)
        static_cast<void>(target.get(request, format, before));
      return;
    case WindowRequestKind::kAccumulate:
      static_cast<void>(target.accumulate(request, arrived.data, format, nullptr));
      return;
    case WindowRequestKind::kGetAccumulate:
      static_cast<void>(target.accumulate(request, arrived.data, format, &before));
      FUZZ_REQUIRE(before.size() <= 2 * kWindowBytes);
      return;
    case WindowRequestKind::kCompareAndSwap:
      static_cast<void>(target.compare_and_swap(request, arrived.data, format, before));
      return;
    default:
      return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto format = static_cast<Format>(input.byte() % 3);
  const auto message = input.rest();
  const auto arrived = decode_request(message);
  if (!arrived) {
    FUZZ_REQUIRE(arrived.error().kind == impishim::ErrorKind::kProtocol);
    return 0;
  }
  std::vector<std::byte> again;
  encode_request(arrived->request, arrived->data, again);
  FUZZ_REQUIRE(decode_request(again).ok());
  std::array<std::byte, kWindowBytes + 2 * kBorderBytes> room{};
  room.fill(kBorder);
  const auto window = std::span(room).subspan(kBorderBytes, kWindowBytes);
  std::fill(window.begin(), window.end(), std::byte{0});
  WindowTarget target(WindowMemory::fixed(window.data(), window.size(), 4));
  if (!arrived->request.data_follows) apply(target, *arrived, format);
  const auto is_border = [](std::byte byte) { return byte == kBorder; };
  FUZZ_REQUIRE(std::all_of(room.begin(), room.begin() + kBorderBytes, is_border));
  FUZZ_REQUIRE(std::all_of(room.end() - kBorderBytes, room.end(), is_border));
  return 0;
}
