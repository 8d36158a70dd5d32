// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/piece_words.hpp"

#include "darray/base/error.hpp"

namespace impishim::darray::dap {

namespace {

/// Calls visit(key's bit, member) for every member that is one integer or boolean, or two integers.
/// The writer and the reader share this order.
template <class Dimension, class Visit>
void for_each_number(Dimension& dimension, Visit visit) {
  int bit = 0;
  const auto next = [&](auto& member) { visit(Index{1} << bit++, member); };
  next(dimension.dist_type);
  next(dimension.size);
  next(dimension.proc_grid_size);
  next(dimension.proc_grid_rank);
  next(dimension.start);
  next(dimension.stop);
  next(dimension.padding);
  next(dimension.periodic);
  next(dimension.block_size);
  next(dimension.one_to_one);
}
constexpr Index kHasIndices = Index{1} << 10;

class Words {
 public:
  explicit Words(std::span<const Index> words) : rest_(words) {}
  Index take() { return take(1).front(); }
  std::span<const Index> take(Index count) {
    if (count < 0 || static_cast<std::size_t>(count) > rest_.size())
      fail(ErrorKind::kProtocol,
           "dictionaries of another process end early: {} words where {} are wanted", rest_.size(),
           count);
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] std::size_t rest() const { return rest_.size(); }

 private:
  std::span<const Index> rest_;
};

void put(std::vector<Index>& words, const Padding& padding) {
  words.insert(words.end(), padding.begin(), padding.end());
}
void put(std::vector<Index>& words, auto number) { words.push_back(static_cast<Index>(number)); }

void take(Words& words, std::optional<Padding>& member) {
  const auto both = words.take(2);
  member = Padding{both[0], both[1]};
}
template <class T>
void take(Words& words, std::optional<T>& member) {
  member = static_cast<T>(words.take());
}

}  // namespace

std::vector<Index> to_words(const ProcessPiece& piece) {
  std::vector<Index> words{static_cast<Index>(piece.buffer_shape.size())};
  words.insert(words.end(), piece.buffer_shape.begin(), piece.buffer_shape.end());
  words.push_back(static_cast<Index>(piece.dimensions.size()));
  for (const DimData& dimension : piece.dimensions) {
    Index keys = dimension.indices ? kHasIndices : 0;
    for_each_number(dimension, [&](Index bit, const auto& member) { keys |= member ? bit : 0; });
    words.push_back(keys);
    for_each_number(dimension, [&](Index, const auto& member) {
      if (member) put(words, *member);
    });
    if (!dimension.indices) continue;
    words.push_back(static_cast<Index>(dimension.indices->size()));
    words.insert(words.end(), dimension.indices->begin(), dimension.indices->end());
  }
  return words;
}

ProcessPiece piece_from_words(std::span<const Index> all) {
  Words words(all);
  ProcessPiece piece;
  const auto shape = words.take(words.take());
  piece.buffer_shape.assign(shape.begin(), shape.end());
  const Index count = words.take();
  if (count < 0 || static_cast<std::size_t>(count) > words.rest())
    fail(ErrorKind::kProtocol, "{} dictionaries in {} words", count, words.rest());
  for (Index number = 0; number < count; ++number) {
    DimData& dimension = piece.dimensions.emplace_back();
    const Index keys = words.take();
    for_each_number(dimension, [&](Index bit, auto& member) {
      if ((keys & bit) != 0) take(words, member);
    });
    if ((keys & kHasIndices) == 0) continue;
    const auto labels = words.take(words.take());
    dimension.indices.emplace(labels.begin(), labels.end());
  }
  if (words.rest() != 0)
    fail(ErrorKind::kProtocol, "{} words behind the last dictionary", words.rest());
  return piece;
}

}  // namespace impishim::darray::dap
