// SPDX-License-Identifier: Apache-2.0
// Messages over a port, as the process at the other end sends them. Input: 1 byte (0: a group, 1: a
// request to a name server, other: its answer), then the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/base/result.hpp"
#include "wire/port/group_info.hpp"
#include "wire/port/name_table.hpp"

using namespace impishim::wire;  // NOLINT(google-build-using-namespace)
using impishim::fuzz::Input;

namespace {

/// Nothing is lost: what was decoded is encoded as it came.
template <class Decoded>
void require_same(const Decoded& decoded, std::span<const std::byte> message) {
  if (!decoded) {
    FUZZ_REQUIRE(decoded.error().kind == impishim::ErrorKind::kProtocol);
    return;
  }
  std::vector<std::byte> again;
  if constexpr (requires { decoded->encode(); }) {
    again = decoded->encode();
  } else {
    again = encode(*decoded);
  }
  FUZZ_REQUIRE(std::ranges::equal(again, message));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t kind = input.byte();
  const auto message = input.rest();
  if (kind == 0) {
    const auto group = GroupInfo::decode(message);
    require_same(group, message);
    if (!group) return 0;
    static_cast<void>(group->terms.difference(GroupTerms()));
    for (const GroupMember& each : group->members)
      FUZZ_REQUIRE(each.port != 0 && each.node.size() <= GroupMember::kLongestNode);
  } else if (kind == 1) {
    const auto request = decode_name_request(message);
    require_same(request, message);
    NameTable table;
    if (request) static_cast<void>(table.handle(*request));
  } else {
    require_same(decode_name_answer(message), message);
  }
  return 0;
}
