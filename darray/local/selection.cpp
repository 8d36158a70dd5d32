// SPDX-License-Identifier: Apache-2.0
#include "darray/local/selection.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

// Shorter stretches cost less as words.
constexpr Index kStretch = 64;

// Returns how many offsets from the first one on are equidistant.
Index stretch_of(std::span<const Index> offsets) {
  if (offsets.size() < 3) return static_cast<Index>(offsets.size());
  const Index step = offsets[1] - offsets[0];
  std::size_t end = 2;
  while (end < offsets.size() && offsets[end] - offsets[end - 1] == step) ++end;
  return static_cast<Index>(end);
}

}  // namespace

Index Selection::size_of(const Piece& piece) {
  if (const auto* patch = std::get_if<Patch>(&piece)) return patch->size();
  return std::visit([](const auto& words) { return static_cast<Index>(words.size()); },
                    std::get<Words>(piece));
}

void Selection::add(Patch patch) {
  const Index size = patch.size();
  if (size == 0) return;
  size_ += size;
  pieces_.emplace_back(std::move(patch));
}

void Selection::add_words(std::span<const Index> offsets) {
  if (offsets.empty()) return;
  size_ += static_cast<Index>(offsets.size());
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  if (*low >= 0 && *high <= std::numeric_limits<std::uint32_t>::max()) {
    pieces_.emplace_back(Words(std::vector<std::uint32_t>(offsets.begin(), offsets.end())));
  } else {
    pieces_.emplace_back(Words(std::vector<Index>(offsets.begin(), offsets.end())));
  }
}

void Selection::add(std::span<const Index> offsets) {
  std::size_t pending = 0;  // index of the first word that is not added yet
  std::size_t at = 0;
  while (at < offsets.size()) {
    const Index stretch = stretch_of(offsets.subspan(at));
    if (stretch >= kStretch || (offsets.size() == 1 && stretch == 1)) {
      add_words(offsets.subspan(pending, at - pending));
      add(Patch{offsets[at], {{stretch, stretch > 1 ? offsets[at + 1] - offsets[at] : 1}}});
      at += static_cast<std::size_t>(stretch);
      pending = at;
    } else {
      // The last offset of a stretch may be the first one of the next stretch.
      at += static_cast<std::size_t>(std::max<Index>(1, stretch - 1));
    }
  }
  add_words(offsets.subspan(pending));
}

void Selection::add(const Selection& other) {
  add(Selection(other));  // a copy, since a selection may be appended to itself
}

void Selection::add(Selection&& other) {
  size_ += other.size_;
  if (pieces_.empty()) {
    pieces_ = std::move(other.pieces_);
  } else {
    pieces_.insert(pieces_.end(), std::make_move_iterator(other.pieces_.begin()),
                   std::make_move_iterator(other.pieces_.end()));
  }
  other = Selection();
}

std::optional<Index> Selection::contiguous() const {
  if (pieces_.empty()) return 0;
  std::optional<Index> first;
  Index next = 0;
  for (const Piece& piece : pieces_) {
    const auto* patch = std::get_if<Patch>(&piece);
    if (patch == nullptr || !patch->is_contiguous()) return std::nullopt;
    if (!first) first = next = patch->offset;
    if (patch->offset != next) return std::nullopt;
    next += patch->size();
  }
  return first;
}

Selection Selection::part_of(const Piece& piece, Index from, Index count) {
  Selection result;
  if (const auto* patch = std::get_if<Patch>(&piece)) {
    if (from == 0 && count == patch->size()) {
      result.add(*patch);
    } else {
      for (Patch& part : patch->slice(from, count)) result.add(std::move(part));
    }
    return result;
  }
  std::visit(
      [&](const auto& words) {
        result.pieces_.emplace_back(Words(
            std::decay_t<decltype(words)>(words.begin() + from, words.begin() + from + count)));
      },
      std::get<Words>(piece));
  result.size_ = count;
  return result;
}

Selection Selection::slice(Index from, Index count) const {
  if (from < 0 || count < 0 || from + count > size_) {
    fail(ErrorKind::kArgument, "elements {} to {} of a selection of {}", from, from + count, size_);
  }
  Selection result;
  for (const Piece& piece : pieces_) {
    if (count == 0) break;
    const Index size = size_of(piece);
    if (from >= size) {
      from -= size;
      continue;
    }
    const Index taken = std::min(size - from, count);
    result.add(part_of(piece, from, taken));
    count -= taken;
    from = 0;
  }
  return result;
}

std::vector<Index> Selection::offsets() const {
  std::vector<Index> result;
  result.reserve(static_cast<std::size_t>(size_));
  for (const Piece& piece : pieces_) {
    if (const auto* patch = std::get_if<Patch>(&piece)) {
      for (Index k = 0; k < patch->size(); ++k) result.push_back(patch->at(k));
    } else {
      std::visit(
          [&](const auto& words) { result.insert(result.end(), words.begin(), words.end()); },
          std::get<Words>(piece));
    }
  }
  return result;
}

}  // namespace impishim::darray
