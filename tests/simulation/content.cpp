// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/content.hpp"

#include <vector>

#include "tests/simulation/random.hpp"
#include "wire/base/assert.hpp"

namespace impishim::wire::test {
namespace {

constexpr std::size_t kPeriod = 65537;

std::vector<std::byte> make_content() {
  Random random(7);
  std::vector<std::byte> content(kPeriod + kMostContent);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = i < kPeriod ? static_cast<std::byte>(random.next()) : content[i - kPeriod];
  return content;
}

}  // namespace

std::span<const std::byte> content_at(std::uint64_t position, std::size_t size) {
  static const std::vector<std::byte> content = make_content();
  IMPISHIM_ASSERT(size <= kMostContent);
  return std::span(content).subspan(position % kPeriod, size);
}

}  // namespace impishim::wire::test
