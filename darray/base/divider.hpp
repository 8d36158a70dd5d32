// SPDX-License-Identifier: Apache-2.0
/// Division by a constant divisor without a division instruction, so that maps answer in a few
/// nanoseconds.
#pragma once

#include <bit>
#include <cstdint>

namespace impishim::darray {

/// Divides integers from 0 to 2^63-1 by a fixed divisor of at least 1 (Granlund and Montgomery,
/// "Division by invariant integers using multiplication", theorem 4.2 with 63 bits).
class Divider {
 public:
  constexpr Divider() : Divider(1) {}
  explicit constexpr Divider(std::int64_t divisor)
      : divisor_(divisor),
        shift_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor) - 1))) {
    multiplier_ = static_cast<std::uint64_t>((Wide{1} << (63 + shift_)) /
                                             static_cast<std::uint64_t>(divisor)) +
                  1;
  }

  [[nodiscard]] constexpr std::int64_t divisor() const { return divisor_; }

  [[nodiscard]] constexpr std::int64_t quotient(std::int64_t value) const {
    const Wide product = static_cast<Wide>(multiplier_) * (static_cast<std::uint64_t>(value) << 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 64) >> shift_);
  }

  [[nodiscard]] constexpr std::int64_t remainder(std::int64_t value) const {
    return value - quotient(value) * divisor_;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::int64_t divisor_;
  int shift_;
  std::uint64_t multiplier_ = 0;
};

}  // namespace impishim::darray
