// SPDX-License-Identifier: Apache-2.0
#include "collectives/movement/bcast_segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {
namespace {

/// The division of the packed form into segments.
struct Cut {
  Cut(const ConstData& data, const Limits& limits)
      : format(transit_format(limits)),
        bytes(packed_bytes(data, format)),
        size(limits.overrides.segment),
        count(segment_count(data, limits)),
        in_place(format == wire::Format::kNative && data.straight()) {}
  [[nodiscard]] std::uint64_t size_of(std::uint64_t number) const {
    return std::min(size, bytes - number * size);
  }
  /// Returns the slot of segment `number` in memory that holds `kWindow` segments, used in turn.
  [[nodiscard]] std::span<std::byte> slot(const Bytes& slots, std::uint64_t number) const {
    return slots.all().subspan(number % kWindow * size, size_of(number));
  }
  [[nodiscard]] std::uint64_t slot_bytes() const {
    return in_place ? 0 : std::min(bytes, kWindow * size);
  }

  wire::Format format;
  std::uint64_t bytes;
  std::uint64_t size;
  std::uint64_t count;
  bool in_place;  ///< segments are parts of the user's memory
};

/// The segments of data to send.
class Departing {
 public:
  Departing(const ConstData& data, const Limits& limits)
      : cut(data, limits),
        data_(data),
        cursor_(data.buffer(), cut.format),
        slots_(cut.slot_bytes()) {}
  /// Packs the next segment, in order.
  [[nodiscard]] Result<void> pack(std::uint64_t number) {
    if (cut.in_place) return {};
    const auto packed = cursor_.pack(cut.slot(slots_, number));
    return packed ? Result<void>() : Result<void>(packed.error());
  }
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t number) const {
    if (cut.in_place) return {data_.first_byte() + number * cut.size, cut.size_of(number)};
    return cut.slot(slots_, number);
  }
  Cut cut;

 private:
  ConstData data_;
  wire::PackCursor cursor_;
  Bytes slots_;
};

/// The segments of data to receive.
class Arriving {
 public:
  Arriving(const Data& data, const Limits& limits)
      : cut(data, limits),
        data_(data),
        cursor_(data.buffer(), cut.format),
        slots_(cut.slot_bytes()) {}
  [[nodiscard]] std::span<std::byte> at(std::uint64_t number) const {
    if (!cut.in_place) return cut.slot(slots_, number);
    return {moved(data_.base, data_.type->layout->first_offset()) + number * cut.size,
            cut.size_of(number)};
  }
  /// Unpacks the next segment, in order.
  [[nodiscard]] Result<void> unpack(std::uint64_t number) {
    return cut.in_place ? Result<void>() : cursor_.unpack(cut.slot(slots_, number));
  }
  Cut cut;

 private:
  Data data_;
  wire::UnpackCursor cursor_;
  Bytes slots_;
};

constexpr std::int32_t kBcastFirstTag =
    1 << 30;  ///< plus the number of segments; above all other tags

std::int32_t first_tag(std::uint64_t count, const Limits& limits) {
  if (!limits.lengths_may_differ) return kBcastSegmentTag;
  return count == 1 ? kBcastTag : kBcastFirstTag + static_cast<std::int32_t>(count);
}

std::uint64_t count_told_by(std::int32_t tag) {
  return tag > kBcastFirstTag ? static_cast<std::uint64_t>(tag - kBcastFirstTag) : 1;
}

Error unlike(ErrorKind kind, const char* what) {
  return {kind, fmt::format("message sizes do not match across processes: the root sends {} than "
                            "this process asks for",
                            what)};
}

Result<void> agree(std::uint64_t sent, std::uint64_t asked) {
  if (sent < asked) return unlike(ErrorKind::kTooLittle, "less");
  if (sent > asked) return unlike(ErrorKind::kTruncation, "more");
  return {};
}

/// Room for the segments of a sender that may send more of them than are asked for, which nobody
/// will read.
class Pieces {
 public:
  Pieces(const Data& data, const Limits& limits)
      : count(segment_count(data, limits)), data_(data), limits_(limits) {
    if (count > 1) segments_.emplace(data, limits);
  }
  /// The only one is the data as it is.
  [[nodiscard]] bool is_whole(std::uint64_t number) const { return count == 1 && number == 0; }
  [[nodiscard]] std::span<std::byte> at(std::uint64_t number) {
    if (segments_ && number < count) return segments_->at(number);
    const std::uint64_t size = limits_.overrides.segment;
    if (!superfluous_) superfluous_.emplace(kWindow * size);
    return superfluous_->all().subspan(number % kWindow * size, size);
  }
  [[nodiscard]] wire::MutableBuffer room(std::uint64_t number) {
    return is_whole(number) ? data_.buffer() : buffer_of(at(number));
  }
  /// Of a segment, as it is asked for.
  [[nodiscard]] std::uint64_t asked(std::uint64_t number) const {
    if (is_whole(number)) return ConstData(data_).native_bytes();
    return number < count ? segments_->cut.size_of(number) : 0;
  }
  /// Brings `bytes` of the segment to their place.
  [[nodiscard]] Result<void> take(std::uint64_t number, std::uint64_t bytes) {
    if (number >= count) return {};
    if (bytes < asked(number)) return unlike(ErrorKind::kTooLittle, "less");
    return segments_ ? segments_->unpack(number) : Result<void>();
  }
  /// Whole elements of the only segment.
  [[nodiscard]] Data whole(std::uint64_t bytes) const {
    const std::uint64_t all = ConstData(data_).native_bytes();
    return {data_.base, bytes >= all ? data_.count : data_.count * bytes / all, data_.type};
  }
  std::uint64_t count;  ///< that are asked for

 private:
  Data data_;
  const Limits& limits_;
  std::optional<Arriving> segments_;
  std::optional<Bytes> superfluous_;
};

Task pass_on_pieces(const Team& team, std::int32_t from, std::span<const std::int32_t> to,
                    LocalGroup& local, std::int32_t speaker, Data data) {
  Pieces pieces(data, team.limits);
  std::array<Pending*, kWindow> coming{};
  std::array<Arrival, kWindow> arrivals{};
  co_await team.leaders.post_receive(from, kAnyTag, pieces.room(0), arrivals[0]);
  const std::uint64_t count = count_told_by(arrivals[0].tag);
  co_await agree(count, pieces.count);
  const auto expect = [&](std::uint64_t number) {
    if (number >= count) return;
    const std::size_t slot = number % kWindow;
    coming[slot] =
        &team.leaders.post_receive(from, kBcastSegmentTag, pieces.room(number), arrivals[slot]);
  };
  for (std::uint64_t number = 1; number < kWindow; ++number) expect(number);
  std::vector<Pending*> passed;
  for (std::uint64_t number = 0; number < count; ++number) {
    if (number > 0) co_await *coming[number % kWindow];
    const std::int32_t tag = number == 0 ? first_tag(count, team.limits) : kBcastSegmentTag;
    Piece piece{arrivals[number % kWindow].bytes, number + 1 == count};
    if (pieces.is_whole(number)) {
      const Data whole = pieces.whole(piece.bytes);
      for (const std::int32_t each : to)
        passed.push_back(&team.leaders.post_send(each, tag, ConstData(whole)));
      co_await local.broadcast_piece(whole, speaker, piece);
    } else {
      const std::span<std::byte> bytes = pieces.at(number).first(piece.bytes);
      for (const std::int32_t each : to) {
        passed.push_back(
            &team.leaders.post_send(each, tag, buffer_of(std::span<const std::byte>(bytes))));
      }
      co_await local.broadcast_piece(bytes, speaker, piece);
    }
    for (Pending* const sent : passed) co_await *sent;
    passed.clear();
    co_await pieces.take(number, arrivals[number % kWindow].bytes);
    expect(number + kWindow);
  }
}

Task take_pieces(const Limits& limits, LocalGroup& local, std::int32_t speaker, Data data) {
  Pieces pieces(data, limits);
  Piece piece;
  std::uint64_t number = 0;
  do {
    piece = {pieces.asked(number), number + 1 >= pieces.count};
    if (pieces.is_whole(number)) {
      co_await local.broadcast_piece(data, speaker, piece);
    } else {
      co_await local.broadcast_piece(pieces.at(number), speaker, piece);
    }
    co_await pieces.take(number, piece.bytes);
    ++number;
  } while (!piece.last);
  co_await agree(number, pieces.count);
}

}  // namespace

std::uint64_t segment_count(const ConstData& data, const Limits& limits) {
  return std::max<std::uint64_t>(1,
                                 message_count(packed_bytes(data, transit_format(limits)), limits));
}

Task send_segments(const Team& team, std::span<const std::int32_t> to, ConstData data) {
  if (to.empty()) co_return;
  std::deque<Pending*> under_way;
  if (segment_count(data, team.limits) == 1) {
    for (const std::int32_t each : to)
      under_way.push_back(&team.leaders.post_send(each, kBcastSegmentTag, data));
    for (Pending* const sent : under_way) co_await *sent;
    co_return;
  }
  Departing segments(data, team.limits);
  for (std::uint64_t number = 0; number < segments.cut.count; ++number) {
    for (; under_way.size() > (kWindow - 1) * to.size(); under_way.pop_front())
      co_await *under_way.front();
    co_await segments.pack(number);
    const std::int32_t tag =
        number == 0 ? first_tag(segments.cut.count, team.limits) : kBcastSegmentTag;
    for (const std::int32_t each : to) {
      under_way.push_back(&team.leaders.post_send(each, tag, buffer_of(segments.at(number))));
    }
  }
  for (Pending* const sent : under_way) co_await *sent;
}

Task pass_on_segments(const Team& team, std::int32_t from, std::span<const std::int32_t> to,
                      LocalGroup& local, std::int32_t speaker, Data data) {
  if (team.limits.lengths_may_differ) {
    co_await pass_on_pieces(team, from, to, local, speaker, data);
    co_return;
  }
  if (segment_count(data, team.limits) == 1) {
    co_await team.leaders.post_receive(from, kBcastSegmentTag, data);
    Pending& spread = local.broadcast(data, speaker);
    co_await send_segments(team, to, data);
    co_await spread;
    co_return;
  }
  Arriving segments(data, team.limits);
  std::array<Pending*, kWindow> coming{};
  const auto expect = [&](std::uint64_t number) {
    if (number >= segments.cut.count) return;
    coming[number % kWindow] =
        &team.leaders.post_receive(from, kBcastSegmentTag, buffer_of(segments.at(number)));
  };
  for (std::uint64_t number = 0; number < kWindow; ++number) expect(number);
  std::vector<Pending*> passed;
  for (std::uint64_t number = 0; number < segments.cut.count; ++number) {
    co_await *coming[number % kWindow];
    const std::span<const std::byte> bytes = segments.at(number);
    for (const std::int32_t each : to) {
      passed.push_back(&team.leaders.post_send(each, kBcastSegmentTag, buffer_of(bytes)));
    }
    co_await local.broadcast(segments.at(number), speaker);
    for (Pending* const sent : passed) co_await *sent;
    passed.clear();
    co_await segments.unpack(number);
    expect(number + kWindow);
  }
}

Task take_segments(const Limits& limits, LocalGroup& local, std::int32_t speaker, Data data) {
  if (limits.lengths_may_differ) {
    co_await take_pieces(limits, local, speaker, data);
    co_return;
  }
  if (segment_count(data, limits) == 1) {
    co_await local.broadcast(data, speaker);
    co_return;
  }
  Arriving segments(data, limits);
  for (std::uint64_t number = 0; number < segments.cut.count; ++number) {
    co_await local.broadcast(segments.at(number), speaker);
    co_await segments.unpack(number);
  }
}

}  // namespace impishim::collectives
