// What a server may answer a client: frames, COLL answers, and what is negotiated from them. Input: 2 bytes (clients, size of
// the pieces in which bytes arrive), then the stream after the client's DONE.
#include <algorithm>
#include <map>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/job_map_codec.hpp"
#include "wire/protocol/negotiation.hpp"

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
    FUZZ_REQUIRE(map.rank_of(map.procs()[static_cast<std::size_t>(rank)].id) == rank);
  }
  const auto bytes = encode_job_map(map);
  auto copy = decode_job_map(bytes);
  FUZZ_REQUIRE(copy.ok() && encode_job_map(*copy) == bytes);
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
      auto answer = parse_coll_answer((*message)->payload);
      if (answer) labels[answer->label] = {answer->client_mask, {answer->data.begin(), answer->data.end()}};
    }
  }
  auto map = negotiate(clients, labels);
  if (map) check(*map, clients);
  return 0;
}
