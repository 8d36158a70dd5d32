// SPDX-License-Identifier: Apache-2.0
// PackCursor and UnpackCursor against the reference, on random datatypes, in pieces of any size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/wire/data/reference.hpp"
#include "wire/data/conversion.hpp"

namespace impishim::wire {
namespace {

using reference::Sample;

constexpr Format kFormats[] = {Format::kNative, Format::kExternal32, Format::kWide};

/// Sizes of the pieces that a stream of `total` bytes comes in.
std::vector<std::size_t> random_pieces(std::uint64_t total, std::mt19937_64& random) {
  std::vector<std::size_t> pieces;
  const std::uint64_t largest = 1 + random() % 40;
  for (std::uint64_t left = total; left > 0; left -= pieces.back()) {
    pieces.push_back(std::min<std::uint64_t>(left, 1 + random() % largest));
  }
  return pieces;
}

std::vector<std::byte> pack_in_pieces(const Sample& sample, const TypeLayout& layout, Format format,
                                      const std::vector<std::size_t>& pieces) {
  PackCursor cursor({sample.memory.data() + sample.origin, sample.count, &layout}, format);
  std::vector<std::byte> packed;
  for (const std::size_t piece : pieces) {
    std::vector<std::byte> out(piece);
    const auto size = cursor.pack(out);
    if (!size) {
      ADD_FAILURE() << size.error().text;
      break;
    }
    EXPECT_EQ(*size, piece);
    packed.insert(packed.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*size));
    EXPECT_EQ(cursor.position(), packed.size());
  }
  std::byte beyond{};
  EXPECT_EQ(*cursor.pack({&beyond, 1}), 0U);
  return packed;
}

/// The memory that the stream makes of `room`.
std::vector<std::byte> unpack_in_pieces(std::vector<std::byte> room, const Sample& sample,
                                        const TypeLayout& layout, Format format,
                                        std::span<const std::byte> stream,
                                        const std::vector<std::size_t>& pieces) {
  UnpackCursor cursor({room.data() + sample.origin, sample.count, &layout}, format);
  std::size_t done = 0;
  for (const std::size_t piece : pieces) {
    const auto stored = cursor.unpack(stream.subspan(done, piece));
    EXPECT_TRUE(stored.ok()) << stored.error().text;
    done += piece;
    EXPECT_EQ(cursor.position(), done);
  }
  EXPECT_EQ(cursor.native_bytes(), sample.count * layout.packed_size(Format::kNative));
  return room;
}

/// `sample`'s elements in memory whose gaps hold something else.
std::vector<std::byte> expected_memory(const Sample& sample, std::vector<std::byte> room) {
  for (std::uint64_t item = 0; item < sample.count; ++item) {
    for (const reference::Entry& entry : sample.type_map) {
      const std::size_t at = sample.address(item, entry);
      std::copy_n(sample.memory.begin() + static_cast<std::ptrdiff_t>(at),
                  element_size(entry.type, Format::kNative),
                  room.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return room;
}

void check(const Sample& sample, Format format, std::mt19937_64& random) {
  const TypeLayout layout(sample.blocks, sample.extent);
  const auto expected = reference::pack(sample, format);
  const PackCursor fresh({sample.memory.data() + sample.origin, sample.count, &layout}, format);
  ASSERT_EQ(fresh.total(), expected.size());
  std::vector<std::byte> room(sample.memory.size(), std::byte{0xa5});
  const auto stored = expected_memory(sample, room);

  std::vector<std::vector<std::size_t>> cuts = {{expected.size()},
                                                std::vector<std::size_t>(expected.size(), 1)};
  for (int i = 0; i < 4; ++i) cuts.push_back(random_pieces(expected.size(), random));
  if (expected.size() <= 100) {
    for (std::size_t cut = 0; cut <= expected.size(); ++cut)
      cuts.push_back({cut, expected.size() - cut});
  }
  for (const auto& pieces : cuts) {
    ASSERT_EQ(pack_in_pieces(sample, layout, format, pieces), expected);
    ASSERT_EQ(unpack_in_pieces(room, sample, layout, format, expected, pieces), stored);
  }
}

class RandomLayouts : public testing::TestWithParam<unsigned> {};

TEST_P(RandomLayouts, AreTheReferencesBytesInAnyPieces) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    const Sample sample = reference::random_sample(random);
    for (const Format format : kFormats) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", " << format_name(format) << ": "
                                      << reference::describe(sample));
      check(sample, format, random);
    }
  }
}

TEST_P(RandomLayouts, CountTheTypeMapsElements) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    const Sample sample = reference::random_sample(random);
    const TypeLayout layout(sample.blocks, sample.extent);
    EXPECT_EQ(layout.basic_count(), sample.type_map.size());
    EXPECT_EQ(layout.extent(), sample.extent);
    if (!sample.type_map.empty()) {
      EXPECT_EQ(layout.first_offset(), sample.type_map.front().offset);
    }
  }
}

/// Contiguous means: every element of the type map starts where the one before it ends.
TEST_P(RandomLayouts, AreContiguousExactlyIfTheTypeMapIs) {
  std::mt19937_64 random(GetParam());
  int contiguous = 0;
  for (int round = 0; round < 1000 && !HasFailure(); ++round) {
    const Sample sample = reference::random_sample(random);
    if (sample.type_map.empty()) continue;
    const TypeLayout layout(sample.blocks, sample.extent);
    for (std::uint64_t count = 1; count <= 3; ++count) {
      bool expected = true;
      std::ptrdiff_t next = sample.type_map.front().offset;
      for (std::uint64_t item = 0; item < count; ++item) {
        for (const reference::Entry& entry : sample.type_map) {
          const std::ptrdiff_t at =
              static_cast<std::ptrdiff_t>(item) * sample.extent + entry.offset;
          expected = expected && at == next;
          next = at + static_cast<std::ptrdiff_t>(element_size(entry.type, Format::kNative));
        }
      }
      EXPECT_EQ(layout.contiguous(count), expected)
          << reference::describe(sample) << "\nfor " << count;
      contiguous += expected ? 1 : 0;
    }
  }
  EXPECT_GT(contiguous, 10) << "the samples test nothing";
}

TEST_P(RandomLayouts, StoreWhatFitsAndReportTheRest) {
  std::mt19937_64 random(GetParam());
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    const Sample sample = reference::random_sample(random);
    const TypeLayout layout(sample.blocks, sample.extent);
    for (const Format format : kFormats) {
      auto stream = reference::pack(sample, format);
      const std::size_t fits = stream.size();
      stream.resize(fits + 1 + random() % 30, std::byte{0x77});
      std::vector<std::byte> room(sample.memory.size(), std::byte{0xa5});
      const auto expected = expected_memory(sample, room);
      UnpackCursor cursor({room.data() + sample.origin, sample.count, &layout}, format);
      const std::size_t first = random() % (fits + 1);
      ASSERT_TRUE(cursor.unpack(std::span(stream).first(first)).ok());
      const auto result = cursor.unpack(std::span(stream).subspan(first));
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().kind, ErrorKind::kTruncation);
      EXPECT_EQ(room, expected);
      EXPECT_EQ(cursor.position(), fits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayouts, testing::Values(1U, 20U, 300U, 4000U));

}  // namespace
}  // namespace impishim::wire
