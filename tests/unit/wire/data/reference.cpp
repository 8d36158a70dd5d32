// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/wire/data/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace impishim::wire::reference {
namespace {

template <class Value>
Value load(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

template <class Value>
void store(std::byte* at, Value value) {
  std::memcpy(at, &value, sizeof(value));
}

/// The lowest `size` bytes of `value`, highest first.
std::vector<std::byte> big_endian(unsigned __int128 value, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[size - 1 - i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}

/// binary128 from the value alone, whatever the format of long double: sign, exponent and fraction
/// by arithmetic.
unsigned __int128 quad_of(long double value) {
  constexpr int kBias = 16383;
  const unsigned __int128 sign = std::signbit(value) ? 1 : 0;
  if (value == 0) return sign << 127;
  int exponent = 0;
  long double rest =
      std::frexp(std::fabs(value), &exponent);  // value = rest * 2^exponent, 0.5 <= rest < 1
  int biased = exponent - 1 + kBias;
  rest = rest * 2 - 1;
  if (biased <= 0) {
    // Below the normal range there is no hidden one.
    rest = std::ldexp(rest + 1, biased - 1);
    biased = 0;
  }
  unsigned __int128 fraction = 0;
  for (int bit = 111; bit >= 0; --bit) {
    rest *= 2;
    if (rest >= 1) {
      fraction |= static_cast<unsigned __int128>(1) << bit;
      rest -= 1;
    }
  }
  return (sign << 127) | (static_cast<unsigned __int128>(static_cast<unsigned>(biased)) << 112) |
         fraction;
}

std::uint64_t pick(std::mt19937_64& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

/// Appends a block somewhere behind `end`, the first byte that no block has used yet.
void add_block(Sample& sample, std::ptrdiff_t& end, std::mt19937_64& random) {
  Block block;
  block.type = static_cast<BasicType>(
      pick(random, 0, static_cast<std::uint64_t>(BasicType::kNumberOfTypes) - 1));
  if (!sample.blocks.empty() && pick(random, 0, 2) == 0) block.type = sample.blocks.back().type;
  block.count = pick(random, 0, 5);
  block.repeat = pick(random, 0, 3) == 0 ? pick(random, 0, 6) : 1;
  const auto run =
      static_cast<std::ptrdiff_t>(block.count * element_size(block.type, Format::kNative));
  const std::ptrdiff_t gap =
      pick(random, 0, 1) == 0 ? 0 : static_cast<std::ptrdiff_t>(pick(random, 1, 9));
  const std::ptrdiff_t step =
      run + (pick(random, 0, 2) == 0 ? 0 : static_cast<std::ptrdiff_t>(pick(random, 1, 11)));
  const std::ptrdiff_t span =
      block.repeat == 0 ? 0 : step * static_cast<std::ptrdiff_t>(block.repeat - 1) + run;
  const bool backwards = pick(random, 0, 3) == 0;
  block.stride = backwards ? -step : step;
  block.offset = end + gap + (backwards && block.repeat > 0 ? span - run : 0);
  end += gap + span;
  sample.blocks.push_back(block);
}

}  // namespace

std::vector<Entry> type_map_of(const std::vector<Block>& blocks) {
  std::vector<Entry> entries;
  for (const Block& block : blocks) {
    const auto size = static_cast<std::ptrdiff_t>(element_size(block.type, Format::kNative));
    for (std::uint64_t run = 0; run < block.repeat; ++run) {
      for (std::uint64_t i = 0; i < block.count; ++i) {
        entries.push_back({block.type, block.offset +
                                           static_cast<std::ptrdiff_t>(run) * block.stride +
                                           static_cast<std::ptrdiff_t>(i) * size});
      }
    }
  }
  return entries;
}

void store_random(BasicType type, std::byte* at, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  switch (type) {
    case BasicType::kSignedLong:
      return store(at, static_cast<long>(static_cast<std::int32_t>(bits)));
    case BasicType::kUnsignedLong:
      return store(at, static_cast<unsigned long>(static_cast<std::uint32_t>(bits)));
    case BasicType::kWideChar:
      return store(at, static_cast<wchar_t>(static_cast<std::uint16_t>(bits)));
    case BasicType::kLongDouble: {
      std::memset(at, 0, sizeof(long double));
      // 64 random bits of significand, so that the last bit of x87's form counts.
      const long double value = std::ldexp(static_cast<long double>(bits | 1U),
                                           static_cast<int>(random() % 32000) - 16400);
      const long double with_sign = (random() & 1U) != 0 ? -value : value;
      std::memcpy(at, &with_sign,
                  sizeof(with_sign) > 10 && std::numeric_limits<long double>::digits == 64
                      ? 10
                      : sizeof(with_sign));
      return;
    }
    default: {
      const std::uint64_t two[2] = {bits, random()};
      std::memcpy(at, two, element_size(type, Format::kNative));
      return;
    }
  }
}

Sample random_sample(std::mt19937_64& random) {
  Sample sample;
  std::ptrdiff_t end = static_cast<std::ptrdiff_t>(pick(random, 0, 40)) - 20;
  const std::ptrdiff_t begin = end;
  const std::uint64_t blocks = pick(random, 0, 6);
  for (std::uint64_t i = 0; i < blocks; ++i) add_block(sample, end, random);
  if (pick(random, 0, 1) == 0) std::shuffle(sample.blocks.begin(), sample.blocks.end(), random);
  sample.type_map = type_map_of(sample.blocks);
  sample.count = pick(random, 0, 4);
  const std::ptrdiff_t gap =
      pick(random, 0, 1) == 0 ? 0 : static_cast<std::ptrdiff_t>(pick(random, 1, 13));
  sample.extent = end - begin + gap;
  if (pick(random, 0, 3) == 0) sample.extent = -sample.extent;
  const std::ptrdiff_t last =
      static_cast<std::ptrdiff_t>(sample.count > 0 ? sample.count - 1 : 0) * sample.extent;
  const std::ptrdiff_t first = std::min<std::ptrdiff_t>(0, begin);
  sample.origin = -first - std::min<std::ptrdiff_t>(0, last);
  sample.memory.resize(
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, end) - first + std::abs(last)));
  for (std::byte& noise : sample.memory) noise = static_cast<std::byte>(random());
  for (std::uint64_t item = 0; item < sample.count; ++item) {
    for (const Entry& entry : sample.type_map) {
      store_random(entry.type, sample.memory.data() + sample.address(item, entry), random);
    }
  }
  return sample;
}

std::vector<std::byte> element_to_wire(BasicType type, Format format, const std::byte* at) {
  const std::size_t native = element_size(type, Format::kNative);
  if (format == Format::kNative) return {at, at + native};
  const bool narrow = format == Format::kExternal32;
  switch (type) {
    case BasicType::kByte:
      return {*at};
    case BasicType::kInt16:
      return big_endian(load<std::uint16_t>(at), 2);
    case BasicType::kInt32:
    case BasicType::kFloat:
      return big_endian(load<std::uint32_t>(at), 4);
    case BasicType::kInt64:
    case BasicType::kDouble:
      return big_endian(load<std::uint64_t>(at), 8);
    case BasicType::kSignedLong:
      return big_endian(static_cast<unsigned __int128>(static_cast<__int128>(load<long>(at))),
                        narrow ? 4 : 8);
    case BasicType::kUnsignedLong:
      return big_endian(load<unsigned long>(at), narrow ? 4 : 8);
    case BasicType::kWideChar:
      return big_endian(static_cast<unsigned __int128>(load<wchar_t>(at)), narrow ? 2 : 4);
    case BasicType::kLongDouble:
      return big_endian(quad_of(load<long double>(at)), 16);
    case BasicType::kQuad:
      return big_endian(load<unsigned __int128>(at), 16);
    default:
      std::abort();
  }
}

std::vector<std::byte> pack(const Sample& sample, Format format) {
  std::vector<std::byte> packed;
  for (std::uint64_t item = 0; item < sample.count; ++item) {
    for (const Entry& entry : sample.type_map) {
      const auto bytes =
          element_to_wire(entry.type, format, sample.memory.data() + sample.address(item, entry));
      packed.insert(packed.end(), bytes.begin(), bytes.end());
    }
  }
  return packed;
}

std::string describe(const Sample& sample) {
  std::string text = fmt::format("count {}, extent {}", sample.count, sample.extent);
  for (const Block& block : sample.blocks) {
    text += fmt::format("\n  offset {}, type {}, {} elements, {} times, stride {}", block.offset,
                        static_cast<int>(block.type), block.count, block.repeat, block.stride);
  }
  return text;
}

}  // namespace impishim::wire::reference
