// SPDX-License-Identifier: Apache-2.0
/// Content that is a function of its position, so that every reader can judge what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace impishim::wire::test {

/// Largest part of the content that can be asked for at once.
inline constexpr std::size_t kMostContent = 1U << 20U;

/// Returns the content from `position` on. It repeats itself after a prime number of bytes only.
[[nodiscard]] std::span<const std::byte> content_at(std::uint64_t position, std::size_t size);

}  // namespace impishim::wire::test
