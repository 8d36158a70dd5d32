// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/darray/index/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace impishim_test {

namespace {

Pieces in_blocks(Index extent, const std::vector<Index>& lengths) {
  Pieces pieces(lengths.size());
  Index next = 0;
  for (std::size_t part = 0; part < lengths.size(); ++part) {
    for (Index i = 0; i < lengths[part] && next < extent; ++i) pieces[part].push_back(next++);
  }
  return pieces;
}

Pieces dealt(Index extent, int parts, Index block, int first) {
  Pieces pieces(static_cast<std::size_t>(parts));
  std::size_t part = static_cast<std::size_t>(first);
  for (Index next = 0; next < extent; part = (part + 1) % pieces.size()) {
    for (Index i = 0; i < block && next < extent; ++i) pieces[part].push_back(next++);
  }
  return pieces;
}

Case bounded(Index extent, int parts) {
  // Uneven, and the first part and every third one empty where there are several.
  std::vector<Index> bounds{0};
  for (int part = 0; part < parts; ++part) {
    const Index length = parts > 1 && part % 3 == 0 ? 0 : part + 1;
    bounds.push_back(part == parts - 1 ? extent : std::min(extent, bounds.back() + length));
  }
  std::vector<Index> lengths;
  for (std::size_t part = 1; part < bounds.size(); ++part)
    lengths.push_back(bounds[part] - bounds[part - 1]);
  return {"bounded", DimMap::bounded(bounds), in_blocks(extent, lengths)};
}

Case unstructured(Index extent, int parts) {
  // A permutation: 7 has no common divisor with the extents of the tests, but for its own
  // multiples.
  Pieces labels(static_cast<std::size_t>(parts));
  const Index factor = extent % 7 == 0 ? 1 : 7;
  for (Index i = 0; i < extent; ++i)
    labels[static_cast<std::size_t>(i * i % parts)].push_back(i * factor % extent);
  return {"unstructured", DimMap::unstructured(labels, true), labels};
}

}  // namespace

std::vector<Case> cases(Index extent, int parts, Index blocks) {
  std::vector<Case> all;
  if (parts == 1)
    all.push_back({"collapsed", DimMap::collapsed(extent), in_blocks(extent, {extent})});
  Index block = 0;
  while (block * parts < extent) ++block;
  const auto count = static_cast<std::size_t>(parts);
  all.push_back(
      {"block", DimMap::block(extent, parts), in_blocks(extent, std::vector<Index>(count, block))});
  std::vector<Index> lengths(count, 0);
  for (Index i = 0; i < extent; ++i) ++lengths[static_cast<std::size_t>(i) % count];
  all.push_back({"balanced", DimMap::balanced(extent, parts), in_blocks(extent, lengths)});
  all.push_back(bounded(extent, parts));
  for (Index size = 1; size <= blocks; ++size) {
    for (int first = 0; first < parts; ++first) {
      all.push_back({fmt::format("cyclic {} first {}", size, first),
                     DimMap::block_cyclic(extent, parts, size, first),
                     dealt(extent, parts, size, first)});
    }
  }
  all.push_back(unstructured(extent, parts));
  for (Case& each : all) each.name = fmt::format("{} {} on {}", each.name, extent, parts);
  return all;
}

Pieces pieces_of(const DimMap& map) {
  Pieces pieces(static_cast<std::size_t>(map.parts()));
  for (int part = 0; part < map.parts(); ++part) {
    for (Index local = 0; local < map.owned(part); ++local)
      pieces[static_cast<std::size_t>(part)].push_back(map.global(part, local));
  }
  return pieces;
}

std::vector<Triplet> sections(Index extent, bool few) {
  std::vector<Triplet> all{{0, 0, 1}, {0, 0, -1}};
  int number = 0;
  for (const Index step : {1, 2, 3, 5, -1, -2, -4}) {
    for (Index start = 0; start < extent; ++start) {
      const Index most = step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1;
      for (Index count = 1; count <= most; ++count) {
        if (!few || number++ % 7 == 0) all.push_back({start, count, step});
      }
    }
  }
  return all;
}

}  // namespace impishim_test
