// SPDX-License-Identifier: Apache-2.0
/// Parents and children in the trees of IMPI's collectives, as pure arithmetic on master numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace impishim::collectives {

/// Returns the smallest d with 2^d >= n, for n >= 1.
[[nodiscard]] constexpr int cubedim(std::int32_t n) {
  return std::bit_width(static_cast<std::uint32_t>(n) - 1U);
}

/// Returns the index of the highest bit that is set in `value` below bit `dim`, or -1.
[[nodiscard]] constexpr int hibit(std::int32_t value, int dim) {
  return std::bit_width(static_cast<std::uint32_t>(value) &
                        ((1U << static_cast<unsigned>(dim)) - 1U)) -
         1;
}

/// Convert a master's number to its distance from the root, and back.
[[nodiscard]] constexpr std::int32_t to_virtual(std::int32_t number, std::int32_t root,
                                                std::int32_t count) {
  return (number - root + count) % count;
}
[[nodiscard]] constexpr std::int32_t from_virtual(std::int32_t number, std::int32_t root,
                                                  std::int32_t count) {
  return (number + root) % count;
}

/// Returns the parent of `node` in the hypercube tree of Barrier and Bcast: `node` without its
/// highest bit.
[[nodiscard]] constexpr std::int32_t hypercube_parent(std::int32_t node) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(node) ^
                                   std::bit_floor(static_cast<std::uint32_t>(node)));
}

/// Returns the children of `node` in that tree, ascending: one for each dimension above its highest
/// bit.
[[nodiscard]] inline std::vector<std::int32_t> hypercube_children(std::int32_t node,
                                                                  std::int32_t count) {
  const int dim = cubedim(count);
  std::vector<std::int32_t> children;
  for (int i = hibit(node, dim) + 1; i < dim; ++i) {
    const std::int32_t child = node | (1 << i);
    if (child < count) children.push_back(child);
  }
  return children;
}

/// Returns the parent of `node` in the binomial tree of Reduce and Gather: `node` without its
/// lowest bit.
[[nodiscard]] constexpr std::int32_t binomial_parent(std::int32_t node) {
  return node & (node - 1);
}

/// Returns the children of `node` in that tree, ascending: one for each bit below its lowest bit.
[[nodiscard]] inline std::vector<std::int32_t> binomial_children(std::int32_t node,
                                                                 std::int32_t count) {
  std::vector<std::int32_t> children;
  for (std::int32_t bit = 1; (node & bit) == 0 && (node | bit) < count; bit <<= 1)
    children.push_back(node | bit);
  return children;
}

/// Returns the number after the last node of a binomial subtree, which holds consecutive numbers.
[[nodiscard]] constexpr std::int32_t binomial_end(std::int32_t node, std::int32_t count) {
  if (node == 0) return count;
  const std::int32_t end = node + (node & -node);
  return end < count ? end : count;
}

}  // namespace impishim::collectives
