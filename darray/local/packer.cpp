// SPDX-License-Identifier: Apache-2.0
#include "darray/local/packer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

// Staged elements pass through a buffer that stays in the fastest cache.
constexpr std::size_t kBuffer = std::size_t{16} << 10;

template <std::size_t kSize, class Word>
void gather(const std::byte* __restrict base, const std::vector<Word>& words, std::size_t,
            std::byte* __restrict out) {
  for (std::size_t k = 0; k < words.size(); ++k)
    std::memcpy(out + k * kSize, base + static_cast<Index>(words[k]) * Index{kSize}, kSize);
}

template <std::size_t kSize, class Word>
void scatter(std::byte* __restrict base, const std::vector<Word>& words, std::size_t,
             const std::byte* __restrict in) {
  for (std::size_t k = 0; k < words.size(); ++k)
    std::memcpy(base + static_cast<Index>(words[k]) * Index{kSize}, in + k * kSize, kSize);
}

template <class Word>
void gather_any(const std::byte* base, const std::vector<Word>& words, std::size_t size,
                std::byte* out) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    std::memcpy(out + k * size, base + static_cast<Index>(words[k]) * static_cast<Index>(size),
                size);
  }
}

template <class Word>
void scatter_any(std::byte* base, const std::vector<Word>& words, std::size_t size,
                 const std::byte* in) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    std::memcpy(base + static_cast<Index>(words[k]) * static_cast<Index>(size), in + k * size,
                size);
  }
}

template <class Word>
void gather_words(const std::byte* base, const std::vector<Word>& words, std::size_t size,
                  std::byte* out) {
  switch (size) {
    case 1:
      return gather<1>(base, words, size, out);
    case 2:
      return gather<2>(base, words, size, out);
    case 4:
      return gather<4>(base, words, size, out);
    case 8:
      return gather<8>(base, words, size, out);
    case 16:
      return gather<16>(base, words, size, out);
    default:
      return gather_any(base, words, size, out);
  }
}

template <class Word>
void scatter_words(std::byte* base, const std::vector<Word>& words, std::size_t size,
                   const std::byte* in) {
  switch (size) {
    case 1:
      return scatter<1>(base, words, size, in);
    case 2:
      return scatter<2>(base, words, size, in);
    case 4:
      return scatter<4>(base, words, size, in);
    case 8:
      return scatter<8>(base, words, size, in);
    case 16:
      return scatter<16>(base, words, size, in);
    default:
      return scatter_any(base, words, size, in);
  }
}

// Returns the patch as a row of bytes in the same order.
Patch packed(const Patch& patch) {
  Patch result = patch;
  Index stride = 1;
  result.offset = 0;
  for (std::size_t d = patch.dimensions.size(); d-- > 0;) {
    result.dimensions[d].stride = stride;
    stride *= patch.dimensions[d].extent;
  }
  return result;
}

// Divides two patches of one size into equal extents, if these divide each other.
bool split_alike(Patch& one, Patch& other) {
  Patch split_one{one.offset, {}};
  Patch split_other{other.offset, {}};
  auto left = one.normalised().dimensions;
  auto right = other.normalised().dimensions;
  while (!left.empty() && !right.empty()) {
    const Index extent = std::min(left.back().extent, right.back().extent);
    for (auto [from, to] : {std::pair(&left, &split_one), std::pair(&right, &split_other)}) {
      Dimension& inner = from->back();
      if (inner.extent % extent != 0) return false;
      to->dimensions.insert(to->dimensions.begin(), {extent, inner.stride});
      inner = {inner.extent / extent, inner.stride * extent};
      if (inner.extent == 1) from->pop_back();
    }
  }
  one = std::move(split_one);
  other = std::move(split_other);
  return true;
}

}  // namespace

Packer::Packer(Selection selection, std::size_t element_size, bool combining)
    : selection_(std::move(selection)), element_size_(element_size) {
  const auto most = std::max<Index>(1, static_cast<Index>(kBuffer / element_size));
  Index offset = 0;
  for (const Selection::Piece& piece : selection_.pieces()) {
    if (const auto* patch = std::get_if<Patch>(&piece)) {
      Patch row = packed(*patch);
      row.offset = offset;
      if (combining) combined_.emplace_back(*patch, element_size, most);
      blocks_.push_back(
          {StridedCopy(*patch, row, element_size), StridedCopy(row, *patch, element_size)});
    }
    offset += Selection::size_of(piece);
  }
}

void Packer::pack(const std::byte* base, std::byte* out) const {
  std::size_t block = 0;
  std::byte* next = out;
  for (const Selection::Piece& piece : selection_.pieces()) {
    if (const auto* words = std::get_if<Selection::Words>(&piece)) {
      std::visit([&](const auto& list) { gather_words(base, list, element_size_, next); }, *words);
    } else {
      blocks_[block++].pack.run(base, out);
    }
    next += static_cast<std::size_t>(Selection::size_of(piece)) * element_size_;
  }
}

void Packer::unpack(std::byte* base, const std::byte* in) const {
  std::size_t block = 0;
  const std::byte* next = in;
  for (const Selection::Piece& piece : selection_.pieces()) {
    if (const auto* words = std::get_if<Selection::Words>(&piece)) {
      std::visit([&](const auto& list) { scatter_words(base, list, element_size_, next); }, *words);
    } else {
      blocks_[block++].unpack.run(in, base);
    }
    next += static_cast<std::size_t>(Selection::size_of(piece)) * element_size_;
  }
}

void Packer::unpack_combine(std::byte* base, const std::byte* in,
                            const CombineFunction& combine) const {
  if (combined_.empty() && !blocks_.empty())
    return Packer(selection_, element_size_, true).unpack_combine(base, in, combine);
  const auto size = static_cast<Index>(element_size_);
  Index room = 0;
  for (const CombinedPatch& patch : combined_) room = std::max(room, patch.room());
  const auto buffer =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(room * size));
  std::size_t block = 0;
  for (const Selection::Piece& piece : selection_.pieces()) {
    if (std::holds_alternative<Patch>(piece)) {
      combined_[block++].run(base, in, combine, buffer.get());
    } else {
      std::visit(
          [&](const auto& words) {
            for (std::size_t k = 0; k < words.size(); ++k) {
              combine(base + static_cast<Index>(words[k]) * size, in + static_cast<Index>(k) * size,
                      1);
            }
          },
          std::get<Selection::Words>(piece));
    }
    in += Selection::size_of(piece) * size;
  }
}

LocalCopy::LocalCopy(const Selection& source, const Selection& destination,
                     std::size_t element_size, bool combining)
    : bytes_(static_cast<std::size_t>(source.size()) * element_size) {
  if (source.size() != destination.size()) {
    fail(ErrorKind::kShape, "a copy of {} elements to {}", source.size(), destination.size());
  }
  const auto limit = std::max<Index>(1, static_cast<Index>(kBuffer / element_size));
  auto to = destination.pieces().begin();
  auto from = source.pieces().begin();
  Index from_done = 0;
  Index to_done = 0;
  for (Index done = 0; done < source.size();) {
    const Index from_left = Selection::size_of(*from) - from_done;
    const Index to_left = Selection::size_of(*to) - to_done;
    Index count = std::min(from_left, to_left);
    const auto* from_patch = std::get_if<Patch>(&*from);
    const auto* to_patch = std::get_if<Patch>(&*to);
    bool together = false;
    if (!combining && from_patch != nullptr && to_patch != nullptr && from_done + to_done == 0 &&
        from_left == to_left) {
      Patch one = *from_patch;
      Patch other = *to_patch;
      together = split_alike(one, other);
      if (together) direct_.emplace_back(one, other, element_size);
    }
    if (!together) {
      count = std::min(count, limit);
      staged_.push_back({Packer(Selection::part_of(*from, from_done, count), element_size),
                         Packer(Selection::part_of(*to, to_done, count), element_size, combining)});
      buffer_ = std::max(buffer_, staged_.back().source.bytes());
    }
    done += count;
    from_done += count;
    to_done += count;
    if (from_done == Selection::size_of(*from)) ++from, from_done = 0;
    if (to_done == Selection::size_of(*to)) ++to, to_done = 0;
  }
}

void LocalCopy::run(const std::byte* source, std::byte* destination,
                    const CombineFunction& combine) const {
  for (const StridedCopy& copy : direct_) copy.run(source, destination);
  if (staged_.empty()) return;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(buffer_);
  for (const Staged& part : staged_) {
    part.source.pack(source, buffer.get());
    if (combine) {
      part.destination.unpack_combine(destination, buffer.get(), combine);
    } else {
      part.destination.unpack(destination, buffer.get());
    }
  }
}

}  // namespace impishim::darray
