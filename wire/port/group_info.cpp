// SPDX-License-Identifier: Apache-2.0
#include "wire/port/group_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint32_t kMagic = 0x494d5047;  // "IMPG"
constexpr std::uint32_t kVersion = 1;

Error malformed() {
  return {ErrorKind::kProtocol,
          "the other group's description is not one that this version of the library sends"};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Value>
std::optional<std::string> differs(const char* variable, Value ours, Value theirs) {
  if (ours == theirs) return std::nullopt;
  return fmt::format("{} is {} here and {} there: give both jobs the same value", variable, ours,
                     theirs);
}

}  // namespace

void GroupMember::encode(std::span<std::byte, kBytes> bytes) const {
  ByteWriter out;
  out.put_bytes(id.host);
  out.put(id.pid);
  out.put_bytes(address);
  out.put(port);
  out.put(job);
  out.put(system);
  out.put(representation);
  out.put(static_cast<std::uint8_t>(concurrent ? 1 : 0));
  const std::size_t length = std::min(node.size(), kLongestNode);
  out.put(static_cast<std::uint8_t>(length));
  out.put_bytes(std::as_bytes(std::span(node)).first(length));
  std::ranges::fill(bytes, std::byte{0});
  std::ranges::copy(out.bytes(), bytes.begin());
}

Result<GroupMember> GroupMember::decode(std::span<const std::byte, kBytes> bytes) {
  ByteReader in(bytes);
  GroupMember member;
  // kBytes has room for all fields.
  std::ranges::copy(*in.get_bytes(sizeof(HostId)), member.id.host.begin());
  member.id.pid = *in.get<std::int64_t>();
  std::ranges::copy(*in.get_bytes(sizeof(HostId)), member.address.begin());
  member.port = *in.get<std::uint16_t>();
  member.job = *in.get<std::uint64_t>();
  member.system = *in.get<std::int32_t>();
  member.representation = *in.get<std::uint64_t>();
  const auto concurrent = *in.get<std::uint8_t>();
  const auto length = *in.get<std::uint8_t>();
  if (member.port == 0 || concurrent > 1 || length > kLongestNode || member.system < 0)
    return malformed();
  member.concurrent = concurrent != 0;
  member.node = text_of(*in.get_bytes(length));
  if (printable(member.node) != member.node) return malformed();
  const auto rest = *in.get_bytes(in.remaining());
  if (!std::ranges::all_of(rest, [](std::byte each) { return each == std::byte{0}; }))
    return malformed();
  return member;
}

std::optional<std::string> GroupTerms::difference(const GroupTerms& other) const {
  const NegotiatedValues& theirs = other.values;
  for (auto each :
       {differs("IMPISHIM_DATALEN", values.datalen, theirs.datalen),
        differs("IMPISHIM_ACKMARK", values.ackmark, theirs.ackmark),
        differs("IMPISHIM_HIWATER", values.hiwater, theirs.hiwater),
        differs("IMPISHIM_COLL_XSIZE", values.coll_xsize, theirs.coll_xsize),
        differs("IMPISHIM_COLL_MAXLINEAR", values.coll_maxlinear, theirs.coll_maxlinear)}) {
    if (each) return each;
  }
  if (collectives != other.collectives)
    return "IMPISHIM_COLLECTIVES or IMPISHIM_FOREIGN differs: give both jobs the same value";
  if (wire_format != other.wire_format) {
    return fmt::format(
        "IMPISHIM_WIRE_FORMAT is {} here and {} there: give both jobs the same value", wire_format,
        printable(other.wire_format));
  }
  return std::nullopt;
}

std::vector<std::byte> GroupInfo::encode() const {
  ByteWriter out;
  out.put(kMagic);
  out.put(kVersion);
  const NegotiatedValues& values = terms.values;
  for (const std::uint32_t value : {values.datalen, values.ackmark, values.hiwater}) out.put(value);
  for (const std::int32_t value : {values.coll_xsize, values.coll_maxlinear}) out.put(value);
  out.put(terms.collectives);
  out.put(static_cast<std::uint8_t>(terms.wire_format.size()));
  out.put_bytes(std::as_bytes(std::span(terms.wire_format)));
  for (const GroupMember& member : members) {
    std::array<std::byte, GroupMember::kBytes> bytes{};
    member.encode(bytes);
    out.put_bytes(bytes);
  }
  return out.take();
}

Result<GroupInfo> GroupInfo::decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  bool complete = true;
  const auto get = [&]<class Integer>(Integer& value) {
    const auto got = in.get<Integer>();
    complete = complete && got.has_value();
    if (got) value = *got;
  };
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  get(magic);
  get(version);
  if (magic != kMagic || version != kVersion) return malformed();
  GroupInfo info;
  NegotiatedValues& values = info.terms.values;
  for (std::uint32_t* value : {&values.datalen, &values.ackmark, &values.hiwater}) get(*value);
  for (std::int32_t* value : {&values.coll_xsize, &values.coll_maxlinear}) get(*value);
  get(info.terms.collectives);
  std::uint8_t length = 0;
  get(length);
  const auto format = in.get_bytes(length);
  if (!complete || !format) return malformed();
  info.terms.wire_format = text_of(*format);
  auto members = decode_members(*in.get_bytes(in.remaining()));
  if (!members) return members.error();
  info.members = std::move(*members);
  return info;
}

Result<std::vector<GroupMember>> decode_members(std::span<const std::byte> bytes) {
  if (bytes.size() % GroupMember::kBytes != 0) return malformed();
  std::vector<GroupMember> members;
  members.reserve(bytes.size() / GroupMember::kBytes);
  while (!bytes.empty()) {
    auto member = GroupMember::decode(bytes.first<GroupMember::kBytes>());
    if (!member) return member.error();
    members.push_back(std::move(*member));
    bytes = bytes.subspan(GroupMember::kBytes);
  }
  return members;
}

}  // namespace impishim::wire
