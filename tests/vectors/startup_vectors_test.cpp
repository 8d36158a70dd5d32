// SPDX-License-Identifier: Apache-2.0
// Startup as recorded: our decoders read it, and our client and our server would have sent the same
// bytes.
#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"
#include "tests/vectors/vectors.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::number_of;

/// Host c of the recording: one proc at 10.77.0.(c + 1).
JoinOptions recorded_client(std::int32_t number, std::uint16_t port, std::int64_t pid) {
  LocalHost host;
  host.address[12] = std::byte{10};
  host.address[13] = std::byte{77};
  host.address[15] = static_cast<std::byte>(number + 1);
  host.port = port;
  host.procs = {{host.address, pid}};
  JoinOptions options;
  options.client = number;
  options.hosts = {host};
  return options;
}

std::vector<JoinOptions> recorded_clients() {
  return {recorded_client(0, 0xbf4f, 991), recorded_client(1, 0xa4d3, 992)};
}

/// All that a client sends after its connection is made by NONE; `ours`: with our own label, which
/// the recorded client lacks.
Bytes client_stream(const JoinOptions& options, bool ours) {
  Bytes stream;
  const auto add = [&](const Bytes& bytes) {
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  };
  add(encode_startup(StartupCommand::kAuth, bytes_of(1U << kAuthNone)));
  add(encode_startup(StartupCommand::kImpi, bytes_of(options.client)));
  for (const auto& [label, data] : contributions(options)) {
    if (ours || label != number_of(StartupLabel::kImpishim)) add(encode_coll(label, data));
  }
  add(test::command(StartupCommand::kDone));
  add(test::command(StartupCommand::kFini));
  return stream;
}

TEST(StartupVectors, OurClientWouldSendTheSame) {
  EXPECT_EQ(client_stream(recorded_clients()[1], false),
            test::vector_file("client1-to-server.bin"));
}

TEST(StartupVectors, ClientStreamParsesWhole) {
  StartupDecoder decoder;
  decoder.feed(test::vector_file("client1-to-server.bin"));
  std::vector<std::uint32_t> commands;
  std::vector<std::uint32_t> labels;
  for (auto next = decoder.next(); next.ok() && next->has_value(); next = decoder.next()) {
    commands.push_back((*next)->command);
    if (commands.back() == static_cast<std::uint32_t>(StartupCommand::kColl)) {
      labels.push_back(load_big_endian<std::uint32_t>((*next)->payload.data()));
    }
  }
  EXPECT_EQ(decoder.buffered(), 0U);
  EXPECT_EQ(commands.size(), 18U);
  EXPECT_THAT(labels, testing::ElementsAre(0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600,
                                           0x2000, 0x2100, 0x2200, 0x2300, 0x2400, 0x3000, 0x3100));
}

/// The recorded client 1 and a client 0 like it, whose bytes come in pieces of `piece`.
void expect_recorded_answers(std::size_t piece) {
  test::DrivenServer driven(2);
  const auto clients = recorded_clients();
  const Bytes first = client_stream(clients[0], false);
  const Bytes second = test::vector_file("client1-to-server.bin");
  driven.connect(0);
  driven.connect(1);
  // FINI waits for the server's DONE.
  const std::size_t body = second.size() - 8;
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t at = 0; at < body; at += piece) {
    const auto part = [&](const Bytes& stream) {
      const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(at);
      return Bytes(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, body - at)));
    };
    driven.say(0, part(first));
    driven.say(1, part(second));
  }
  const Bytes answers = test::vector_file("server-to-client1.bin");
  EXPECT_EQ(driven.take(1), answers);
  EXPECT_EQ(driven.take(0), answers);
  for (const int client : {0, 1}) driven.say(client, test::command(StartupCommand::kFini));
  EXPECT_TRUE(driven.server.finished());
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(StartupVectors, OurServerWouldAnswerTheSame) {
  for (const std::size_t piece : {1U, 3U, 8U, 100U, 1000U}) expect_recorded_answers(piece);
}

TEST(StartupVectors, OurClientLearnsTheJobFromTheRecordedAnswers) {
  StartupDecoder decoder;
  decoder.feed(test::vector_file("server-to-client1.bin"));
  EXPECT_EQ(decoder.next_raw(8), bytes_of(kAuthNone, 0));
  std::map<std::uint32_t, LabelData> labels;
  std::vector<std::uint32_t> others;
  for (auto next = decoder.next(); next.ok() && next->has_value(); next = decoder.next()) {
    if ((*next)->command != static_cast<std::uint32_t>(StartupCommand::kColl)) {
      others.push_back((*next)->command);
      continue;
    }
    auto answer = parse_coll_answer((*next)->payload);
    ASSERT_TRUE(answer.ok());
    labels[answer->label] = {answer->client_mask, {answer->data.begin(), answer->data.end()}};
  }
  EXPECT_EQ(decoder.buffered(), 0U);
  EXPECT_THAT(others, testing::ElementsAre(static_cast<std::uint32_t>(StartupCommand::kImpi),
                                           static_cast<std::uint32_t>(StartupCommand::kDone)));
  auto map = negotiate(2, labels);
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->size(), 2);
  EXPECT_FALSE(map->clients()[0].impishim);
  EXPECT_EQ(map->values().datalen, 65536U);
  EXPECT_EQ(map->values().ackmark, 10U);
  EXPECT_EQ(map->values().hiwater, 20U);
  EXPECT_EQ(map->hosts()[0].port, 0xbf4f);
  EXPECT_EQ(map->rank_of({recorded_clients()[1].hosts[0].address, 992}), 1);
}

TEST(StartupVectors, OurLabelComesLastAndDisturbsNobody) {
  const Bytes plain = client_stream(recorded_clients()[1], false);
  const Bytes ours = client_stream(recorded_clients()[1], true);
  // "COLL", its length and the label come between the last mandated label and DONE: IMPISHIM,
  // version, representation (8 bytes), fingerprint of the chosen algorithms (8 bytes), whether
  // threads call concurrently.
  constexpr std::size_t kAdded = 8 + 4 + 8 + 4 + 8 + 8 + 4;
  ASSERT_EQ(ours.size(), plain.size() + kAdded);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end() - 16, ours.begin()));
  EXPECT_TRUE(std::equal(plain.end() - 16, plain.end(), ours.end() - 16));
}

}  // namespace
}  // namespace impishim::wire
