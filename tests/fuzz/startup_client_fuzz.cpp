// SPDX-License-Identifier: Apache-2.0
// What a server may answer a client: frames, COLL answers, what is negotiated from them, notices
// and text for the user. Input: 2 bytes (clients, size of the pieces in which bytes arrive), then
// the stream after the client's DONE.
#include <algorithm>
#include <map>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/base/printable.hpp"
#include "wire/startup/job_secret.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/topology/job_map_codec.hpp"

using impishim::fuzz::Input;
using namespace impishim::wire;

namespace {

void check(const JobMap& map, std::int32_t clients) {
  FUZZ_REQUIRE(map.clients().size() == static_cast<std::size_t>(clients));
  const NegotiatedValues& values = map.values();
  FUZZ_REQUIRE(values.datalen >= 1 && values.tag_ub >= 32767);
  FUZZ_REQUIRE(values.ackmark >= 1 && values.ackmark <= values.hiwater);
  FUZZ_REQUIRE(values.coll_xsize >= 0 && values.coll_maxlinear >= 0);
  for (const Host& host : map.hosts()) FUZZ_REQUIRE(host.proc_count >= 1);
  for (WorldRank rank = 0; rank < map.size(); ++rank) {
    FUZZ_REQUIRE(map.rank_of(map.proc(rank).id) == rank);
  }
  const auto bytes = encode_job_map(map);
  auto copy = decode_job_map(bytes);
  FUZZ_REQUIRE(copy.ok() && encode_job_map(*copy) == bytes);
}

/// What is printed of a server's words.
void check_text(std::span<const std::byte> bytes) {
  const std::string text =
      impishim::printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const char each : text)
    FUZZ_REQUIRE(static_cast<unsigned char>(each) >= 0x20 && each != 0x7f);
  FUZZ_REQUIRE(impishim::printable(text, text.size()) == text);
}

void check_notice(std::span<const std::byte> payload) {
  const auto notice = parse_waiting(payload);
  if (!notice) return;
  FUZZ_REQUIRE(notice->clients >= 1 && notice->clients <= kMaxClients);
  FUZZ_REQUIRE(describe_missing(*notice).size() < 200);
}

/// There is a secret only where each impishim client has contributed to it.
void check_secret(const JobMap& map, const std::map<std::uint32_t, LabelData>& labels) {
  const auto found = labels.find(static_cast<std::uint32_t>(StartupLabel::kSecret));
  auto secret = combine_secret(found == labels.end() ? nullptr : &found->second, map.clients());
  if (!secret) return;
  const auto ours = std::ranges::count_if(map.clients(), &Client::impishim);
  FUZZ_REQUIRE(found != labels.end() &&
               found->second.data.size() == static_cast<std::size_t>(ours) * 32);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::int32_t clients = 1 + input.byte() % 32;
  const std::size_t piece = 1U + input.byte();
  StartupDecoder decoder;
  std::map<std::uint32_t, LabelData> labels;
  while (!input.empty()) {
    decoder.feed(input.bytes(piece));
    for (;;) {
      auto message = decoder.next();
      if (!message) return 0;
      if (!message->has_value()) break;
      check_text((*message)->payload);
      check_notice((*message)->payload);
      FUZZ_REQUIRE(parse_ended_answer((*message)->payload).has_value() ==
                   ((*message)->payload.size() >= 4));
      auto answer = parse_coll_answer((*message)->payload);
      if (answer)
        labels[answer->label] = {answer->client_mask, {answer->data.begin(), answer->data.end()}};
    }
  }
  auto map = negotiate(clients, labels);
  if (map) {
    check(*map, clients);
    check_secret(*map, labels);
  }
  return 0;
}
