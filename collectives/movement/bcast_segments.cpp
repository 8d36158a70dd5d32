#include "collectives/movement/bcast_segments.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/core/bundle.hpp"

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
    return {data_.base + data_.type->layout->first_offset() + number * cut.size,
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
    for (const std::int32_t each : to) {
      under_way.push_back(
          &team.leaders.post_send(each, kBcastSegmentTag, buffer_of(segments.at(number))));
    }
  }
  for (Pending* const sent : under_way) co_await *sent;
}

Task pass_on_segments(const Team& team, std::int32_t from, std::span<const std::int32_t> to,
                      LocalGroup& local, std::int32_t speaker, Data data) {
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
