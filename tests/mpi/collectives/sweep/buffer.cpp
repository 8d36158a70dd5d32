// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/buffer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace sweep {
namespace {

constexpr std::ptrdiff_t kGuard = 64;

std::byte untouched(std::size_t position) {
  return static_cast<std::byte>(0xA0 + position * 7 % 90);
}

}  // namespace

std::ptrdiff_t Block::begin() const {
  if (count == 0) return at;
  return at + layout->low +
         std::min<std::ptrdiff_t>(0, (static_cast<std::ptrdiff_t>(count) - 1) * layout->extent);
}

std::ptrdiff_t Block::end() const {
  if (count == 0) return at;
  return at + layout->high +
         std::max<std::ptrdiff_t>(0, (static_cast<std::ptrdiff_t>(count) - 1) * layout->extent);
}

Buffer::Buffer(const std::vector<Block>& blocks) {
  std::ptrdiff_t low = 0;
  std::ptrdiff_t high = 0;
  for (const Block& block : blocks) {
    low = std::min(low, block.begin());
    high = std::max(high, block.end());
  }
  origin_ = (kGuard - low + 15) / 16 * 16;
  const auto size = static_cast<std::size_t>(origin_ + high + kGuard);
  memory_.resize(size);
  expected_.resize(size);
  mask_.resize(size);
  reset();
}

void Buffer::reset() {
  for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = expected_[i] = untouched(i);
  std::ranges::fill(mask_, 0xFF);
}

template <typename Visit>
void Buffer::visit(const Block& block, Visit&& visit_element) const {
  std::size_t dense = 0;
  for (std::size_t item = 0; item < block.count; ++item) {
    const std::ptrdiff_t base =
        origin_ + block.at + static_cast<std::ptrdiff_t>(item) * block.layout->extent;
    for (std::size_t i = 0; i < block.layout->map.size(); ++i) {
      const Basic& type = *block.layout->map[i];
      visit_element(static_cast<std::size_t>(base + block.layout->offsets[i]), dense, type);
      dense += type.size;
    }
  }
}

void Buffer::put(const Block& block, const Dense& content) {
  visit(block, [&](std::size_t to, std::size_t from, const Basic& type) {
    std::memcpy(memory_.data() + to, content.data() + from, type.size);
  });
  expect(block, content);
}

void Buffer::expect(const Block& block, const Dense& content) {
  visit(block, [&](std::size_t to, std::size_t from, const Basic& type) {
    std::memcpy(expected_.data() + to, content.data() + from, type.size);
    std::memcpy(mask_.data() + to, type.mask.data(), type.size);
  });
}

void Buffer::ignore(const Block& block) {
  visit(block, [&](std::size_t to, std::size_t, const Basic& type) {
    std::memset(mask_.data() + to, 0, type.size);
  });
}

std::string Buffer::difference() const {
  if (std::memcmp(memory_.data(), expected_.data(), memory_.size()) == 0) return {};
  const auto differs = [&](std::size_t i) {
    return ((memory_[i] ^ expected_[i]) & static_cast<std::byte>(mask_[i])) != std::byte{0};
  };
  std::size_t wrong = 0;
  std::size_t first = memory_.size();
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!differs(i)) continue;
    first = std::min(first, i);
    ++wrong;
  }
  if (wrong == 0) return {};
  char text[200];
  std::snprintf(text, sizeof(text),
                "%zu bytes are wrong, the first at %td (of %td to %td): 0x%02x, not 0x%02x%s",
                wrong, static_cast<std::ptrdiff_t>(first) - origin_, -origin_,
                static_cast<std::ptrdiff_t>(memory_.size()) - origin_,
                static_cast<unsigned>(memory_[first]), static_cast<unsigned>(expected_[first]),
                memory_[first] == untouched(first)     ? " (nothing came)"
                : expected_[first] == untouched(first) ? " (nothing belongs here)"
                                                       : "");
  return text;
}

Dense content(const std::vector<const Basic*>& pattern, std::size_t elements, std::uint64_t seed,
              Op op) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < elements; ++i) size += pattern[i % pattern.size()]->size;
  Dense made(size);
  std::size_t at = 0;
  Random random(seed);
  for (std::size_t i = 0; i < elements; ++i) {
    const Basic& type = *pattern[i % pattern.size()];
    type.make(made.data() + at, random.next(), op);
    at += type.size;
  }
  return made;
}

}  // namespace sweep
