// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "simulated_communicator.hpp"

namespace impishim::collectives::test {
namespace {

std::vector<std::byte> packed(const wire::ConstBuffer& data, wire::Format format) {
  std::vector<std::byte> bytes(data.packed_size(format));
  wire::PackCursor cursor(data, format);
  if (!cursor.pack(bytes)) bytes.clear();
  return bytes;
}

bool plain_bytes(const wire::TypeLayout& layout, std::uint64_t count) {
  const auto& blocks = layout.blocks();
  return layout.contiguous(count) && std::ranges::all_of(blocks, [](const auto& b) {
           return b.type == wire::BasicType::kByte;
         });
}

}  // namespace

void SimulatedLeaders::check_plain(std::int32_t member, const wire::TypeLayout& layout,
                                   std::uint64_t count) {
  if (!layout.contiguous(count)) world_.fail("a wire buffer with gaps");
  if (membership_.is_local(member) && !plain_bytes(layout, count))
    world_.fail("a typed wire buffer for the own client");
}

SimulatedLeaders::SimulatedLeaders(SimulatedCommunicator& communicator,
                                   const Membership& membership)
    : communicator_(communicator), world_(communicator.world), membership_(membership) {}

Pending& SimulatedLeaders::all_posted() {
  const auto finish = [this] {
    match();
    return std::ranges::all_of(pendings_,
                               [](auto& pending) { return pending.awaited() || pending.done(); });
  };
  const auto after = [this] {
    for (auto& pending : pendings_) {
      if (!pending.awaited()) (void)pending.outcome();
    }
    return 0;
  };
  return all_posted_.emplace_back(world_, false, communicator_.clock(membership_.rank), finish,
                                  after);
}

Pending& SimulatedLeaders::post_send(std::int32_t to, std::int32_t tag,
                                     const wire::ConstBuffer& data) {
  check_plain(to, *data.layout, data.count);
  return send(to, tag, data);
}

Pending& SimulatedLeaders::post_receive(std::int32_t from, std::int32_t tag,
                                        const wire::MutableBuffer& room) {
  check_plain(from, *room.layout, room.count);
  return receive(from, tag, room);
}

Pending& SimulatedLeaders::post_send(std::int32_t to, std::int32_t tag, const ConstData& data) {
  return send(to, tag, data.buffer());
}

Pending& SimulatedLeaders::post_receive(std::int32_t from, std::int32_t tag, const Data& room) {
  return receive(from, tag, room.buffer());
}

Pending& SimulatedLeaders::post_receive(std::int32_t from, std::int32_t tag,
                                        const wire::MutableBuffer& room, Arrival& arrival) {
  if (membership_.is_local(from)) world_.fail("an arrival from the own client");
  return receive(from, tag, room, &arrival);
}

Pending& SimulatedLeaders::send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) {
  const bool local = membership_.is_local(to);
  const auto format = communicator_.format_between(membership_.rank, to);
  if (format != wire::Format::kNative && data.count > 0 && plain_bytes(*data.layout, data.count)) {
    if (!world_.bytes_may_cross)
      world_.fail("untyped bytes between clients that represent data differently");
    world_.untyped.push_back(packed(data, wire::Format::kNative));
  }
  std::int32_t& clock = communicator_.clock(membership_.rank);
  auto parcel = std::make_shared<Parcel>();
  *parcel = {tag,
             format,
             packed(data, format),
             clock + (local ? 0 : 1),
             world_.round + world_.random() % 3,
             false};
  if (parcel->bytes.size() != data.packed_size(format)) world_.fail("a message does not pack");
  world_.messages.push_back({communicator_.process(membership_.rank), communicator_.process(to),
                             tag, data.count * data.layout->basic_count(), local});
  communicator_.under_way[{membership_.rank, to}].push_back(parcel);
  if (!local) world_.crossing_bytes += parcel->bytes.size();
  const auto finish = [this, parcel, data] {
    match();  // whoever waits makes progress with everything of its own
    if (world_.send_ends == SendEnds::kAtMatch && !parcel->matched) return false;
    if (packed(data, parcel->format) != parcel->bytes)
      world_.fail("a message's buffer has been changed before its end");
    return true;
  };
  return pendings_.emplace_back(world_, local, clock, finish, [] { return 0; });
}

Pending& SimulatedLeaders::receive(std::int32_t from, std::int32_t tag,
                                   const wire::MutableBuffer& room, Arrival* arrival) {
  Room& waiting = rooms_.emplace_back(Room{from, tag, room, arrival, nullptr});
  const auto finish = [this, &waiting] {
    match();
    return waiting.parcel != nullptr;
  };
  return pendings_.emplace_back(world_, membership_.is_local(from),
                                communicator_.clock(membership_.rank), finish,
                                [&waiting] { return waiting.parcel->clock; });
}

void SimulatedLeaders::match() {
  for (Room& room : rooms_) {
    if (room.parcel == nullptr) fill(room);
  }
}

void SimulatedLeaders::fill(Room& room) {
  auto& parcels = communicator_.under_way[{room.from, membership_.rank}];
  const auto next = std::ranges::find_if(parcels, [&room](const auto& parcel) {
    return room.tag == kAnyTag || parcel->tag == room.tag;
  });
  if (next == parcels.end() || (*next)->arrives > world_.round) return;
  room.parcel = *next;
  parcels.erase(next);
  const Parcel& parcel = *room.parcel;
  if (parcel.bytes.size() != room.buffer.packed_size(parcel.format)) {
    world_.fail(fmt::format("a message of {} bytes from {} to {}, tag {}, for a room of {}",
                            parcel.bytes.size(), room.from, membership_.rank, room.tag,
                            room.buffer.packed_size(parcel.format)));
    return;
  }
  room.parcel->matched = true;
  if (room.arrival != nullptr)
    *room.arrival = {parcel.tag, room.buffer.packed_size(wire::Format::kNative)};
  wire::UnpackCursor cursor(room.buffer, parcel.format);
  if (!cursor.unpack(parcel.bytes)) world_.fail("a message does not unpack");
}

bool SimulatedLeaders::all_awaited() const {
  return std::ranges::all_of(pendings_, [](const auto& pending) { return pending.awaited(); });
}

}  // namespace impishim::collectives::test
