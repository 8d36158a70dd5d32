// SPDX-License-Identifier: Apache-2.0
/// What fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

/// An invariant that no input may break.
#define FUZZ_REQUIRE(condition)                                                               \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); /*NOLINT*/ \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace impishim::fuzz {

/// The input, read from its beginning; what is missing is zero.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(std::as_bytes(std::span(data, size))) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    const auto taken = bytes(1);
    return taken.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(taken.front());
  }
  /// At most `count` bytes.
  std::span<const std::byte> bytes(std::size_t count) {
    const auto taken = rest_.first(count < rest_.size() ? count : rest_.size());
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> rest() { return bytes(rest_.size()); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace impishim::fuzz
