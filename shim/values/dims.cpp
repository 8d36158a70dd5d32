// SPDX-License-Identifier: Apache-2.0
#include "shim/values/dims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include "wire/base/result.hpp"

namespace impishim::shim {
namespace {

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    divisors.push_back(divisor);
    if (divisor * divisor != number) divisors.push_back(number / divisor);
  }
  std::ranges::sort(divisors);
  return divisors;
}

/// Divides a number into non-increasing factors: the first as small as possible, then the second,
/// and so on.
class Factoring {
 public:
  explicit Factoring(std::int64_t number) : divisors_(divisors_of(number)) {
    for (const std::int64_t divisor : divisors_) {
      const bool prime = divisor > 1 && std::ranges::none_of(primes_, [&](std::int64_t p) {
                           return divisor % p == 0;
                         });
      if (prime) primes_.push_back(divisor);
    }
  }

  /// Appends `count` factors of `number`, none above `limit`, to `factors`. Returns false if there
  /// are none; nothing is appended then.
  bool divide(std::int64_t number, std::size_t count, std::int64_t limit,
              std::vector<std::int64_t>& factors) const {
    if (count == 0) return number == 1;
    for (const std::int64_t first : divisors_) {
      if (first > limit) return false;
      if (number % first != 0 || !reaches(first, count, number) ||
          largest_prime(number / first) > first)
        continue;
      factors.push_back(first);
      if (divide(number / first, count - 1, first, factors)) return true;
      factors.pop_back();
    }
    return false;
  }

 private:
  /// Returns true if first ^ count >= number.
  static bool reaches(std::int64_t first, std::size_t count, std::int64_t number) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < count && product < number; ++i) {
      product *= first;
      if (first == 1) break;
    }
    return product >= number;
  }
  [[nodiscard]] std::int64_t largest_prime(std::int64_t number) const {
    const auto found = std::find_if(primes_.rbegin(), primes_.rend(),
                                    [&](std::int64_t prime) { return number % prime == 0; });
    return found == primes_.rend() ? 1 : *found;
  }

  std::vector<std::int64_t> divisors_;
  std::vector<std::int64_t> primes_;  ///< prime factors of the number, ascending
};

}  // namespace

Result<void> choose_dims(std::int32_t nodes, std::span<std::int32_t> dims) {
  if (nodes < 1) return Error{ErrorKind::kConfiguration, fmt::format("{} nodes", nodes)};
  std::int64_t given = 1;
  std::size_t open = 0;
  for (const std::int32_t dim : dims) {
    if (dim < 0) return Error{ErrorKind::kConfiguration, fmt::format("a dimension of {}", dim)};
    if (dim == 0) ++open;
    if (dim > 0) given *= dim;
    if (given > nodes) break;
  }
  const bool fits = given <= nodes && nodes % given == 0 && (open > 0 || given == nodes);
  if (!fits)
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{} nodes cannot be laid out in the given dimensions", nodes)};
  if (open == 0) return {};
  const std::int64_t rest = nodes / given;
  std::vector<std::int64_t> factors;
  Factoring(rest).divide(rest, open, rest, factors);  // rest * 1 * ... * 1 always exists
  auto next = factors.begin();
  for (std::int32_t& dim : dims) {
    if (dim == 0) dim = static_cast<std::int32_t>(*next++);
  }
  return {};
}

}  // namespace impishim::shim
