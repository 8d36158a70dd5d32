// SPDX-License-Identifier: Apache-2.0
// Views and steps against a model that lists every byte.
#include "wire/file/file_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_steps.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const TypeLayout> layout(const std::vector<Block>& blocks, std::ptrdiff_t extent) {
  return std::make_shared<const TypeLayout>(blocks, extent);
}

/// The place of each byte of a view's data, in its order.
std::vector<std::uint64_t> places(std::uint64_t displacement, const TypeLayout& type,
                                  std::size_t repetitions) {
  std::vector<std::uint64_t> all;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    for (const Block& block : type.blocks()) {
      const std::uint64_t bytes = block.count * element_size(block.type, Format::kNative);
      for (std::uint64_t run = 0; run < block.repeat; ++run) {
        for (std::uint64_t byte = 0; byte < bytes; ++byte)
          all.push_back(displacement + repetition * static_cast<std::uint64_t>(type.extent()) +
                        static_cast<std::uint64_t>(block.offset) +
                        run * static_cast<std::uint64_t>(block.stride) + byte);
      }
    }
  }
  return all;
}

std::vector<std::uint64_t> places_of(const std::vector<FilePiece>& pieces) {
  std::vector<std::uint64_t> all;
  for (const FilePiece& piece : pieces) {
    for (std::uint64_t byte = 0; byte < piece.bytes; ++byte) all.push_back(piece.offset + byte);
  }
  return all;
}

std::vector<FilePiece> pieces_of(const FileView& view, std::uint64_t first, std::uint64_t bytes,
                                 std::size_t most = 1000) {
  std::vector<FilePiece> pieces;
  static_cast<void>(view.pieces(first, bytes, most, pieces));
  return pieces;
}

constexpr std::size_t kRepetitions = 4;

void expect_like_model(std::uint64_t displacement, const std::shared_ptr<const TypeLayout>& type,
                       std::mt19937& random) {
  const FileView view(displacement, 1, type);
  const std::vector<std::uint64_t> model = places(displacement, *type, kRepetitions);
  for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(view.place_of(i), model[i]) << i;
  for (int i = 0; i < 10; ++i) {
    const std::size_t first = random() % model.size();
    const std::size_t bytes = 1 + random() % (model.size() - first);
    const std::vector<std::uint64_t> expected(
        model.begin() + static_cast<std::ptrdiff_t>(first),
        model.begin() + static_cast<std::ptrdiff_t>(first + bytes));
    ASSERT_EQ(places_of(pieces_of(view, first, bytes)), expected);
    // A limit of pieces gives the beginning of them.
    const std::size_t most = 1 + random() % 5;
    std::vector<FilePiece> few;
    const std::uint64_t held = view.pieces(first, bytes, most, few);
    ASSERT_LE(few.size(), most);
    ASSERT_TRUE(held == bytes || few.size() == most);
    ASSERT_EQ(places_of(few),
              std::vector(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(held)));
  }
  // No repetition after these has data before the end.
  const auto end = displacement + kRepetitions * static_cast<std::uint64_t>(type->extent());
  for (std::uint64_t at = 0; at <= end; ++at) {
    ASSERT_EQ(view.data_before(at),
              std::ranges::count_if(model, [&](auto place) { return place < at; }))
        << at;
  }
}

TEST(FileView, BytesOneAfterAnother) {
  const FileView view(100, 4);
  EXPECT_EQ(view.unit(), 4U);
  EXPECT_THAT(pieces_of(view, 8, 1000), ElementsAre(FilePiece{108, 1000}));
  EXPECT_EQ(view.place_of(7), 107U);
  EXPECT_EQ(view.data_before(90), 0U);
  EXPECT_EQ(view.data_before(130), 30U);
  EXPECT_EQ(FileView(0, 0).unit(), 1U);
}

TEST(FileView, ATypeWithoutGapsIsOnePiece) {
  const FileView view(16, 4, layout({{0, BasicType::kInt32, 4, 1, 0}}, 16));
  EXPECT_THAT(pieces_of(view, 4, 100), ElementsAre(FilePiece{20, 100}));
}

TEST(FileView, LikeTheModel) {
  std::mt19937 random(1);
  // A vector; one with a lower bound; a resized one; repetitions that interleave.
  for (const auto& type : {layout({{0, BasicType::kInt32, 2, 3, 20}}, 60),
                           layout({{12, BasicType::kByte, 5, 1, 0}}, 30),
                           layout({{0, BasicType::kByte, 3, 1, 0},
                                   {7, BasicType::kByte, 3, 1, 0},
                                   {20, BasicType::kInt32, 1, 2, 8}},
                                  50),
                           layout({{0, BasicType::kByte, 4, 4, 16}}, 4)})
    expect_like_model(random() % 100, type, random);
  for (int i = 0; i < 200; ++i) {
    std::vector<Block> blocks;
    std::ptrdiff_t at = 0;
    for (std::size_t block = 0; block <= random() % 4; ++block) {
      at += static_cast<std::ptrdiff_t>(random() % 9);
      const std::uint64_t count = 1 + random() % 6;
      const std::uint64_t repeat = 1 + random() % 4;
      const auto stride = static_cast<std::ptrdiff_t>(count + random() % 7);
      blocks.push_back({at, BasicType::kByte, count, repeat, stride});
      at += static_cast<std::ptrdiff_t>(repeat) * stride;
    }
    expect_like_model(random() % 50, layout(blocks, at + static_cast<int>(random() % 9)), random);
    if (HasFatalFailure()) return;
  }
}

TEST(FileView, ATypeWithoutDataShowsNone) {
  for (const auto& type :
       {layout({}, 0), layout({}, 8), layout({{0, BasicType::kByte, 0, 5, 8}}, 8)}) {
    const FileView view(8, 1, type);
    EXPECT_FALSE(view.has_data());
    EXPECT_THAT(pieces_of(view, 0, 10), IsEmpty());
    EXPECT_EQ(view.place_of(5), 8U);
    EXPECT_EQ(view.data_before(1000), 0U);
    EXPECT_FALSE(FileSteps(std::make_shared<FileView>(view), 0, 10, 2).next().has_value());
  }
}

TEST(FileView, PlacesThatNoFileHas) {
  constexpr std::uint64_t kLast = INT64_MAX;
  EXPECT_EQ(FileView(kLast).place_of(1), FileView::kNoPlace);
  EXPECT_EQ(FileView(kLast).place_of(UINT64_MAX), FileView::kNoPlace);
  const auto sparse = layout({{0, BasicType::kByte, 1, 1, 0}}, 1024);
  const FileView view(0, 1, sparse);
  EXPECT_EQ(view.place_of(std::uint64_t{1} << 52U), std::uint64_t{1} << 62U);
  EXPECT_EQ(view.place_of(std::uint64_t{1} << 54U), FileView::kNoPlace);
  EXPECT_EQ(view.place_of(UINT64_MAX), FileView::kNoPlace);
  EXPECT_THAT(pieces_of(view, std::uint64_t{1} << 60U, 2),
              ElementsAre(FilePiece{FileView::kNoPlace, 1}, FilePiece{FileView::kNoPlace, 1}));
  EXPECT_EQ(FileView(kLast, 1, sparse).place_of(1), FileView::kNoPlace);
  EXPECT_EQ(FileView(0, 1, layout({{-5, BasicType::kByte, 1, 1, 0}}, 8)).place_of(0),
            FileView::kNoPlace);
  EXPECT_EQ(view.data_before(UINT64_MAX), view.data_before(kLast));
}

/// Returns the places of all steps, in their order. Checks the bounds of each.
std::vector<std::uint64_t> walk(const FileView& view, std::uint64_t first, std::uint64_t bytes,
                                std::size_t servers, std::size_t& steps) {
  FileSteps all(std::make_shared<FileView>(view), first, bytes, servers);
  std::vector<std::uint64_t> starts;
  std::uint64_t sum = 0;
  for (steps = 0;; ++steps) {
    const auto step = all.next();
    if (!step) break;
    EXPECT_LE(step->bytes, FileRequest::kMostData);
    EXPECT_LE(step->pieces.size(), FileRequest::kMostPieces);
    std::uint64_t held = 0;
    for (const FilePiece& piece : step->pieces) {
      held += piece.bytes;
      const std::uint64_t stripe = piece.offset / FileSteps::kStripe;
      EXPECT_TRUE(servers > 1 ? step->server == stripe % servers : step->server == 0);
      EXPECT_TRUE(servers == 1 || (piece.offset + piece.bytes - 1) / FileSteps::kStripe == stripe);
    }
    EXPECT_EQ(held, step->bytes);
    EXPECT_EQ(step->pieces.front().offset, view.place_of(first + sum));
    sum += step->bytes;
    starts.push_back(step->pieces.front().offset);
  }
  EXPECT_EQ(sum, view.has_data() ? bytes : 0);
  return starts;
}

TEST(FileSteps, CutsAtStripesAndAtTheLongestRequest) {
  constexpr std::uint64_t kHalf = FileRequest::kMostData / 2;
  std::size_t steps = 0;
  EXPECT_THAT(walk(FileView(FileSteps::kStripe - kHalf), 0, FileRequest::kMostData, 3, steps),
              ElementsAre(FileSteps::kStripe - kHalf, FileSteps::kStripe));
  EXPECT_THAT(walk(FileView(FileSteps::kStripe - kHalf), 0, FileRequest::kMostData, 1, steps),
              ElementsAre(FileSteps::kStripe - kHalf));
  static_cast<void>(walk(FileView(5), 3, 10 * FileRequest::kMostData + 1, 1, steps));
  EXPECT_EQ(steps, 11U);
  static_cast<void>(walk(FileView(5), 3, 0, 2, steps));
  EXPECT_EQ(steps, 0U);
}

TEST(FileSteps, BoundsThePieces) {
  const FileView view(0, 1, layout({{0, BasicType::kByte, 1, 1, 0}}, 1024));
  std::size_t steps = 0;
  static_cast<void>(walk(view, 7, 3 * FileRequest::kMostPieces, 1, steps));
  EXPECT_EQ(steps, 3U);
  // 32768 pieces are in a stripe.
  static_cast<void>(walk(view, 0, 100000, 4, steps));
  EXPECT_GE(steps, 100000 / FileRequest::kMostPieces);
}

}  // namespace
}  // namespace impishim::wire
