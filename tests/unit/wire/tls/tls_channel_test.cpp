// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_channel.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::connected_pair;
using test::kLongMs;
using test::local_pair;
using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::receive_some;
using test::send_all;
using test::tls_channels;
using testing::HasSubstr;

void shrink_buffers(int socket) {
  const int small = 4096;
  for (const int option : {SO_SNDBUF, SO_RCVBUF})
    EXPECT_EQ(setsockopt(socket, SOL_SOCKET, option, &small, sizeof(small)), 0);
}

/// Two channels over sockets with small buffers, which are soon full.
std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> narrow_channels() {
  auto sockets = local_pair();
  shrink_buffers(sockets.first.get());
  shrink_buffers(sockets.second.get());
  return tls_channels(std::move(sockets));
}

std::size_t send_some(Channel& channel, std::span<const std::byte> bytes) {
  const iovec one = piece(bytes);
  auto sent = channel.try_send(std::span(&one, 1));
  EXPECT_TRUE(sent.ok()) << sent.error().text;
  return sent ? *sent : 0;
}

/// Sends until the channel takes nothing, and returns what it took.
std::size_t fill(Channel& channel, std::span<const std::byte> bytes) {
  std::size_t total = 0;
  while (const std::size_t sent = send_some(channel, bytes.subspan(total % bytes.size())))
    total += sent;
  return total;
}

class TlsChannelTest : public testing::Test {
 protected:
  TlsChannelTest() { std::tie(near, far) = tls_channels(connected_pair("127.0.0.1")); }
  std::unique_ptr<Channel> near;
  std::unique_ptr<Channel> far;
};

TEST_F(TlsChannelTest, GathersAndScatters) {
  const auto bytes = random_bytes(1000, 1);
  const std::span<const std::byte> all = bytes;
  const std::array<iovec, 3> out = {piece(all.first(10)), piece(all.first(0)),
                                    piece(all.subspan(10))};
  ASSERT_EQ(*near->try_send(out), bytes.size());
  ASSERT_TRUE(readable(far->descriptor(), kLongMs));
  Bytes got(bytes.size());
  const std::span<std::byte> room = got;
  const std::array<iovec, 2> in = {piece(room.first(400)), piece(room.subspan(400))};
  ASSERT_EQ(*far->try_receive(in), bytes.size());
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(*far->try_receive(in), 0U);
}

TEST_F(TlsChannelTest, AnnouncesWhatIsLeft) {
  ASSERT_TRUE(far->announces_input());
  EXPECT_FALSE(readable(far->descriptor(), 0));
  const auto sent = random_bytes(60000, 2);
  ASSERT_TRUE(send_all(*near, sent).ok());
  Bytes got;
  while (got.size() < sent.size()) {
    // One record is decrypted in part, others are not, and the socket is empty.
    ASSERT_TRUE(readable(far->descriptor(), kLongMs)) << got.size();
    Bytes room(1000);
    const iovec one = piece(room);
    auto some = far->try_receive(std::span(&one, 1));
    ASSERT_TRUE(some.ok());
    got.insert(got.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*some));
    if (got.size() < sent.size()) {
      EXPECT_TRUE(!far->prepare_to_sleep() || readable(far->descriptor(), kLongMs));
      far->end_sleep();
    }
  }
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(far->prepare_to_sleep());
  EXPECT_FALSE(readable(far->descriptor(), 0)) << "an owner that sleeps would never sleep";
}

TEST_F(TlsChannelTest, TellsThatInputIsLeftBeforeASleep) {
  ASSERT_TRUE(send_all(*near, Bytes(100)).ok());
  Bytes room(40);
  ASSERT_TRUE(receive_all(*far, room).ok());
  EXPECT_FALSE(far->prepare_to_sleep());
  ASSERT_TRUE(receive_all(*far, room).ok());
  EXPECT_FALSE(far->prepare_to_sleep());
  room.resize(20);
  ASSERT_TRUE(receive_all(*far, room).ok());
  EXPECT_TRUE(far->prepare_to_sleep());
}

TEST_F(TlsChannelTest, EchoesWithASleepBeforeEachMessage) {
  const auto echoed = test::echo_rounds(*near, *far, 2000);
  EXPECT_TRUE(echoed.ok()) << echoed.error().text;
}

TEST_F(TlsChannelTest, CarriesALongStreamWithSleeps) {
  const auto streamed = test::stream_that_fills(*near, *far);
  EXPECT_TRUE(streamed.ok()) << streamed.error().text;
}

TEST_F(TlsChannelTest, WakesASleeperBesideAPoller) {
  EXPECT_TRUE(test::wakes_a_sleeper_beside_a_poller(*near, *far));
}

/// What try_send() has taken leaves without another try_send().
TEST(TlsChannel, SendsTheRestWhenThereIsRoom) {
  auto [near, far] = narrow_channels();
  const auto bytes = random_bytes(TlsSession::kBufferSize, 3);
  const std::size_t taken = send_some(*near, bytes);
  ASSERT_GT(taken, 65536U) << "more than the socket holds";
  bool asked = false;
  Bytes got;
  while (got.size() < taken) {
    Bytes room(5000);
    const iovec one = piece(room);
    auto some = far->try_receive(std::span(&one, 1));
    ASSERT_TRUE(some.ok()) << some.error().text;
    got.insert(got.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*some));
    if (*some > 0) continue;
    // The owner of the other end sleeps until its descriptor wakes it, and then reads.
    ASSERT_TRUE(readable(near->descriptor(), kLongMs)) << got.size();
    asked = true;
    Bytes nothing(1);
    const iovec none = piece(nothing);
    ASSERT_EQ(*near->try_receive(std::span(&none, 1)), 0U);
  }
  EXPECT_TRUE(asked);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
  EXPECT_FALSE(readable(near->descriptor(), 0)) << "nothing is left to send";
}

TEST(TlsChannel, SendsTheRestBeforeASleep) {
  auto [near, far] = narrow_channels();
  const auto bytes = random_bytes(TlsSession::kBufferSize, 4);
  const std::size_t taken = send_some(*near, bytes);
  std::size_t got = 0;
  while (got < taken) {
    Bytes room(50000);
    const iovec one = piece(room);
    auto some = far->try_receive(std::span(&one, 1));
    ASSERT_TRUE(some.ok());
    got += *some;
    if (*some == 0) {
      EXPECT_TRUE(near->prepare_to_sleep());
      near->end_sleep();
    }
  }
}

TEST(TlsChannel, AnnouncesRoom) {
  auto [near, far] = narrow_channels();
  const auto bytes = random_bytes(100000, 5);
  EXPECT_FALSE(near->set_want_output(true)) << "epoll_events() never change";
  EXPECT_TRUE(readable(near->descriptor(), 0)) << "there is room";
  EXPECT_FALSE(near->set_want_output(false));
  EXPECT_FALSE(readable(near->descriptor(), 0));
  const std::size_t taken = fill(*near, bytes);
  EXPECT_FALSE(near->set_want_output(true));
  EXPECT_FALSE(readable(near->descriptor(), 0)) << "full";
  std::size_t got = 0;
  std::size_t more = 0;
  while (got < taken || more == 0) {
    Bytes room(100000);
    const iovec one = piece(room);
    auto some = far->try_receive(std::span(&one, 1));
    ASSERT_TRUE(some.ok());
    got += *some;
    if (*some > 0) continue;
    ASSERT_TRUE(readable(near->descriptor(), kLongMs));
    more += send_some(*near, std::span(bytes).first(1));
  }
  EXPECT_GT(more, 0U);
}

/// Sends and receives at one end in steps of random sizes until both directions are complete.
Result<void> exchange(Channel& channel, std::span<const std::byte> out, std::span<std::byte> in,
                      std::uint32_t seed) {
  std::mt19937 random(seed);
  while (!out.empty() || !in.empty()) {
    std::vector<iovec> pieces;
    std::size_t offered = 0;
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t most = random() % 3 == 0 ? 200000 : 300;
      const std::size_t size = std::min<std::size_t>(out.size() - offered, random() % most);
      pieces.push_back(piece(out.subspan(offered, size)));
      offered += size;
    }
    auto sent = channel.try_send(pieces);
    if (!sent) return sent.error();
    out = out.subspan(*sent);
    const std::size_t wanted = std::min<std::size_t>(in.size(), random() % 100000);
    const std::size_t cut = wanted / 3;
    const std::array<iovec, 2> room = {piece(in.first(cut)), piece(in.subspan(cut, wanted - cut))};
    auto got = channel.try_receive(room);
    if (!got) return got.error();
    in = in.subspan(*got);
    if (*sent > 0 || *got > 0 || wanted == 0) continue;
    channel.set_want_output(!out.empty());
    if (!test::sleep_on(channel)) return test::late();
    channel.set_want_output(false);
  }
  // The last bytes may still wait for room here.
  return {};
}

TEST(TlsChannel, CarriesBothDirectionsInPiecesOfAnySize) {
  auto [near, far] = narrow_channels();
  const auto there = random_bytes(10U << 20U, 6);
  const auto back = random_bytes(10U << 20U, 7);
  Bytes got_there(there.size());
  Bytes got_back(back.size());
  Result<void> of_far;
  std::thread other([&, far = far.get()] {
    of_far = exchange(*far, back, got_there, 8);
    far->shutdown_output();
    while (of_far.ok() && receive_some(*far, std::span(got_there).first(1)).ok()) {
    }
  });
  const auto of_near = exchange(*near, there, got_back, 9);
  near->shutdown_output();
  Bytes room(1);
  const auto end = receive_some(*near, room);
  other.join();
  EXPECT_TRUE(of_near.ok()) << of_near.error().text;
  EXPECT_TRUE(of_far.ok()) << of_far.error().text;
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().text, "end of stream");
  EXPECT_TRUE(got_there == there);
  EXPECT_TRUE(got_back == back);
}

/// Both only send until nothing more fits, and then only receive.
TEST(TlsChannel, TwoFullEndsDoNotBlockEachOther) {
  auto [near, far] = narrow_channels();
  const auto bytes = random_bytes(100000, 10);
  const std::size_t from_near = fill(*near, bytes);
  const std::size_t from_far = fill(*far, bytes);
  std::size_t by_near = 0;
  std::size_t by_far = 0;
  Bytes room(30000);
  const iovec one = piece(room);
  while (by_near < from_far || by_far < from_near) {
    auto some = near->try_receive(std::span(&one, 1));
    ASSERT_TRUE(some.ok());
    auto others = far->try_receive(std::span(&one, 1));
    ASSERT_TRUE(others.ok());
    by_near += *some;
    by_far += *others;
    if (*some == 0 && *others == 0) {
      ASSERT_TRUE(readable(near->descriptor(), kLongMs) || readable(far->descriptor(), kLongMs));
    }
  }
  EXPECT_EQ(by_near, from_far);
  EXPECT_EQ(by_far, from_near);
}

TEST_F(TlsChannelTest, EndsInOrderAndStillReads) {
  ASSERT_TRUE(send_all(*near, Bytes(10)).ok());
  near->shutdown_output();
  Bytes room(10);
  ASSERT_TRUE(receive_all(*far, room).ok());
  const auto end = receive_some(*far, room);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
  EXPECT_EQ(end.error().text, "end of stream");
  ASSERT_TRUE(send_all(*far, Bytes(10)).ok());
  EXPECT_TRUE(receive_all(*near, room).ok());
}

TEST(TlsChannel, EndsBehindOutputThatWaits) {
  auto [near, far] = narrow_channels();
  const std::size_t taken = fill(*near, random_bytes(100000, 11));
  near->shutdown_output();
  std::size_t got = 0;
  for (;;) {
    Bytes room(50000);
    const iovec one = piece(room);
    auto some = far->try_receive(std::span(&one, 1));
    if (!some) {
      EXPECT_EQ(some.error().text, "end of stream");
      break;
    }
    got += *some;
    if (*some == 0) {
      ASSERT_TRUE(readable(near->descriptor(), kLongMs) || readable(far->descriptor(), kLongMs));
      EXPECT_TRUE(near->prepare_to_sleep());
    }
  }
  EXPECT_EQ(got, taken);
}

/// The destructor waits for room for the last bytes, as the kernel would.
TEST(TlsChannel, LosesNothingWhenItIsDestroyed) {
  auto [near, far] = narrow_channels();
  const std::size_t taken = send_some(*near, random_bytes(100000, 12));
  Bytes got(taken);
  Result<void> received;
  std::thread reader([&, far = far.get()] { received = receive_all(*far, got); });
  near.reset();
  reader.join();
  EXPECT_TRUE(received.ok()) << received.error().text;
}

TEST(TlsChannel, IsDestroyedInTimeIfThePeerReadsNothing) {
  auto [near, far] = narrow_channels();
  ASSERT_GT(fill(*near, random_bytes(100000, 13)), 0U);
  const auto before = std::chrono::steady_clock::now();
  near.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST_F(TlsChannelTest, TellsACutFromAnEnd) {
  ASSERT_TRUE(send_all(*near, Bytes(10)).ok());
  near.reset();
  Bytes room(10);
  ASSERT_TRUE(receive_all(*far, room).ok()) << "the bytes before it";
  const auto end = receive_some(*far, room);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(end.error().text, HasSubstr("cut"));
}

TEST_F(TlsChannelTest, TellsASenderThatThePeerIsGone) {
  near.reset();
  Result<void> sent;
  for (int i = 0; i < 100 && sent.ok(); ++i) {
    sent = send_all(*far, Bytes(1000));
    std::this_thread::yield();
  }
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().kind, ErrorKind::kConnection);
}

/// Returns both ends of a pipe: the one to read is first.
std::pair<Descriptor, Descriptor> make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

TEST_F(TlsChannelTest, IsClosedInAForkedChildOnlyThere) {
  auto [report, reporter] = make_pipe();
  auto [life, lifeline] = make_pipe();
  const pid_t child = fork();
  if (child == 0) {
    const int descriptor = near->descriptor();
    near->close_in_forked_child();
    far->close_in_forked_child();
    const char closed = fcntl(descriptor, F_GETFD) == -1 ? 'y' : 'n';
    static_cast<void>(!write(reporter.get(), &closed, 1));
    lifeline.reset();
    char none = 0;
    static_cast<void>(!read(life.get(), &none, 1));  // until the parent closes its end
    _exit(0);
  }
  reporter.reset();  // a child that dies then ends the report
  char closed = 0;
  ASSERT_EQ(read(report.get(), &closed, 1), 1);
  EXPECT_EQ(closed, 'y');
  Bytes room(10);
  ASSERT_TRUE(send_all(*near, Bytes(10)).ok());
  ASSERT_TRUE(receive_all(*far, room).ok());
  // The child lives, and yet the end is seen.
  near.reset();
  const auto end = receive_some(*far, room);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection) << end.error().text;
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  lifeline.reset();
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace impishim::wire
