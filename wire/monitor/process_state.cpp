// SPDX-License-Identifier: Apache-2.0
#include "wire/monitor/process_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostRanges = 1024;
constexpr std::size_t kMostGroups = kMostCalls * kMostAwaited;
constexpr std::size_t kMostSystems = 32;
constexpr std::uint32_t kInside = 1;
constexpr std::uint32_t kAnyEnds = 2;

/// The numbers of ProcessCounters in their order on the wire.
constexpr std::array kNumbers = {
    &ProcessCounters::messages_sent,       &ProcessCounters::messages_received,
    &ProcessCounters::sent_bytes,          &ProcessCounters::received_bytes,
    &ProcessCounters::flow_control_stalls, &ProcessCounters::relay_stalls,
    &ProcessCounters::packets_relayed,     &ProcessCounters::posted_receives,
    &ProcessCounters::pending_sends,       &ProcessCounters::unexpected_messages,
    &ProcessCounters::unexpected_bytes,    &ProcessCounters::queued_packets,
    &ProcessCounters::held_packets,        &ProcessCounters::relay_bytes,
    &ProcessCounters::resident_bytes,
};

class Encoder {
 public:
  template <class Integer>
  void put(Integer value) {
    bytes_.put(value);
  }
  void put_text(std::string_view text) {
    text = text.substr(0, kLongestMonitoredText);
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.put_bytes(std::as_bytes(std::span(text)));
  }
  /// Puts the count of a list and its first `most` items.
  template <class List, class Put>
  void put_list(const List& list, std::size_t most, Put&& put_item) {
    const std::size_t count = std::min(list.size(), most);
    put(static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count; ++i) put_item(list[i]);
  }
  [[nodiscard]] std::vector<std::byte> take() { return bytes_.take(); }

 private:
  ByteWriter bytes_;
};

/// Reads fields until one is missing or wrong; later ones are then zero.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : reader_(bytes) {}
  template <class Integer>
  Integer get() {
    const auto value = reader_.get<Integer>();
    if (!value) good_ = false;
    return value.value_or(Integer{});
  }
  std::string text() {
    const auto size = get<std::uint32_t>();
    const auto bytes = size > kLongestMonitoredText ? std::nullopt : reader_.get_bytes(size);
    if (!bytes) good_ = false;
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                 : std::string();
  }
  template <class Item, class Get>
  std::vector<Item> list(std::size_t most, Get&& get_item) {
    const auto count = get<std::uint32_t>();
    require(count <= most);
    std::vector<Item> items;
    for (std::uint32_t i = 0; i < count && good_; ++i) items.push_back(get_item());
    return items;
  }
  void require(bool condition) { good_ = good_ && condition; }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && reader_.remaining() == 0; }

 private:
  ByteReader reader_;
  bool good_ = true;
};

void put_group(Encoder& out, const MonitoredGroup& group) {
  out.put(group.id);
  out.put_text(group.name);
  out.put_list(group.members, kMostRanges, [&](const auto& range) {
    out.put(range.first);
    out.put(range.second);
  });
  out.put(group.begun);
  out.put_text(group.latest);
}

MonitoredGroup get_group(Decoder& in) {
  MonitoredGroup group;
  group.id = in.get<std::uint64_t>();
  group.name = in.text();
  std::int64_t last = -1;
  group.members = in.list<std::pair<std::int32_t, std::int32_t>>(kMostRanges, [&] {
    const auto first = in.get<std::int32_t>();
    const auto end = in.get<std::int32_t>();
    in.require(first > last && end >= first);
    last = end;
    return std::pair(first, end);
  });
  group.begun = in.get<std::uint64_t>();
  group.latest = in.text();
  return group;
}

void put_call(Encoder& out, const MonitoredCall& call) {
  out.put((call.inside ? kInside : 0) | (call.any_ends ? kAnyEnds : 0));
  out.put_text(call.function);
  out.put(call.age_ms);
  out.put(call.awaited_count);
  out.put_list(call.awaited, kMostAwaited, [&](const Awaited& each) {
    out.put(static_cast<std::uint32_t>(each.kind));
    out.put(each.peer);
    out.put(each.tag);
    out.put(each.group);
    out.put(each.number);
    out.put_text(each.function);
  });
}

Awaited get_awaited(Decoder& in) {
  Awaited awaited;
  const auto kind = in.get<std::uint32_t>();
  in.require(kind <= static_cast<std::uint32_t>(AwaitedKind::kOther));
  awaited.kind = static_cast<AwaitedKind>(kind);
  awaited.peer = in.get<std::int32_t>();
  in.require(awaited.peer >= kAnyPeer);
  awaited.tag = in.get<std::int32_t>();
  awaited.group = in.get<std::uint64_t>();
  awaited.number = in.get<std::uint64_t>();
  awaited.function = in.text();
  return awaited;
}

MonitoredCall get_call(Decoder& in) {
  MonitoredCall call;
  const auto flags = in.get<std::uint32_t>();
  in.require((flags & ~(kInside | kAnyEnds)) == 0);
  call.inside = (flags & kInside) != 0;
  call.any_ends = (flags & kAnyEnds) != 0;
  call.function = in.text();
  call.age_ms = in.get<std::uint64_t>();
  call.awaited_count = in.get<std::uint32_t>();
  call.awaited = in.list<Awaited>(kMostAwaited, [&] { return get_awaited(in); });
  in.require(call.awaited_count >= call.awaited.size());
  return call;
}

void put_counters(Encoder& out, const ProcessCounters& counters) {
  for (const auto& number : kNumbers) out.put(counters.*number);
  out.put_list(counters.systems, kMostSystems, [&](const SystemTraffic& each) {
    out.put(each.system);
    out.put(each.sent_packets);
    out.put(each.sent_bytes);
    out.put(each.received_packets);
    out.put(each.received_bytes);
  });
}

ProcessCounters get_counters(Decoder& in) {
  ProcessCounters counters;
  for (const auto& number : kNumbers) counters.*number = in.get<std::uint64_t>();
  counters.systems = in.list<SystemTraffic>(kMostSystems, [&] {
    SystemTraffic traffic;
    traffic.system = in.get<std::int32_t>();
    in.require(traffic.system >= 0 && traffic.system < static_cast<std::int32_t>(kMostSystems));
    traffic.sent_packets = in.get<std::uint64_t>();
    traffic.sent_bytes = in.get<std::uint64_t>();
    traffic.received_packets = in.get<std::uint64_t>();
    traffic.received_bytes = in.get<std::uint64_t>();
    return traffic;
  });
  return counters;
}

std::vector<std::byte> encode_calls(const ProcessState& state, std::size_t most_groups) {
  Encoder out;
  out.put(kVersion);
  out.put(state.rank);
  out.put(state.system);
  out.put(state.process);
  out.put_text(state.host);
  out.put_list(state.groups, most_groups,
               [&](const MonitoredGroup& each) { put_group(out, each); });
  out.put_list(state.calls, kMostCalls, [&](const MonitoredCall& each) { put_call(out, each); });
  out.put(std::uint32_t{state.counters ? 1U : 0U});
  if (state.counters) put_counters(out, *state.counters);
  return out.take();
}

}  // namespace

RankList rank_list(std::vector<std::int32_t> ranks) {
  std::ranges::sort(ranks);
  RankList list;
  for (const std::int32_t rank : ranks) {
    if (!list.empty() && rank <= list.back().second + 1)
      list.back().second = std::max(list.back().second, rank);
    else
      list.emplace_back(rank, rank);
  }
  return list;
}

std::string rank_text(const RankList& ranks) {
  std::string text;
  for (const auto& [first, last] : ranks) {
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

bool contains(const RankList& ranks, std::int32_t rank) {
  return std::ranges::any_of(
      ranks, [rank](const auto& range) { return rank >= range.first && rank <= range.second; });
}

std::vector<std::byte> encode(const ProcessState& state) {
  std::size_t groups = kMostGroups;
  auto bytes = encode_calls(state, groups);
  // Groups of very many ranges: calls on those that are left out name no communicator.
  while (bytes.size() > kMaxProcessState && groups > 0) {
    groups /= 2;
    bytes = encode_calls(state, groups);
  }
  return bytes;
}

Result<ProcessState> decode_process_state(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  ProcessState state;
  in.require(bytes.size() <= kMaxProcessState && in.get<std::uint32_t>() == kVersion);
  state.rank = in.get<std::int32_t>();
  state.system = in.get<std::int32_t>();
  in.require(state.rank >= 0 && state.system >= 0 &&
             state.system < static_cast<std::int32_t>(kMostSystems));
  state.process = in.get<std::uint32_t>();
  state.host = in.text();
  state.groups = in.list<MonitoredGroup>(kMostGroups, [&] { return get_group(in); });
  state.calls = in.list<MonitoredCall>(kMostCalls, [&] { return get_call(in); });
  const auto has_counters = in.get<std::uint32_t>();
  in.require(has_counters <= 1);
  if (in.good() && has_counters == 1) state.counters = get_counters(in);
  if (in.at_end()) return state;
  return Error{ErrorKind::kProtocol, "a process has told its state in bytes that cannot be read"};
}

}  // namespace impishim::wire
