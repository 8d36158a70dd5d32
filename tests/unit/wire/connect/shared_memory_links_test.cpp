// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/connect/no_descriptors.hpp"
#include "wire/channel/shared_memory_channel.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/connect/unix_socket.hpp"

namespace impishim::wire {
namespace {

using test::kLongMs;
using test::piece;
using test::random_bytes;
using test::receive_all;
using test::receive_some;
using test::send_all;
using testing::HasSubstr;

using Channels = std::vector<std::unique_ptr<Channel>>;

/// A name that no other test process uses.
std::string token() {
  static int count = 0;
  return fmt::format("test-{}-{}", getpid(), count++);
}

/// A forked process; killed and reaped at the latest when it goes out of scope.
class Child {
 public:
  /// `body` returns the exit status.
  explicit Child(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ == 0) _exit(body());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill_it();
  }
  void kill_it() {
    kill(pid_, SIGKILL);
    wait_status();
  }
  int wait_status() {
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

/// Sends and receives at the same time; true if what came is what was expected.
bool exchange(Channel& channel, const std::vector<std::byte>& out,
              const std::vector<std::byte>& expected) {
  std::span<const std::byte> to_send = out;
  std::vector<std::byte> got(expected.size());
  std::span<std::byte> room = got;
  while (!to_send.empty() || !room.empty()) {
    std::size_t moved = 0;
    if (!to_send.empty()) {
      const std::array<iovec, 1> pieces = {piece(to_send)};
      auto sent = channel.try_send(pieces);
      if (!sent) return false;
      to_send = to_send.subspan(*sent);
      moved += *sent;
    }
    if (!room.empty()) {
      const std::array<iovec, 1> pieces = {piece(room)};
      auto received = channel.try_receive(pieces);
      if (!received) return false;
      room = room.subspan(*received);
      moved += *received;
    }
    channel.set_want_output(!to_send.empty());
    if (moved == 0 && !test::sleep_on(channel)) return false;
  }
  return got == expected;
}

TEST(SharedMemoryLinks, CarriesManyBytesBothWaysBetweenProcesses) {
  const std::string name = token();
  const auto of_parent = random_bytes(16U << 20U, 1);
  const auto of_child = random_bytes(16U << 20U, 2);
  auto hop = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(hop.ok());
  Child child([&] {
    auto mine = SharedMemoryLinks::open(name, 1);
    if (!mine) return 1;
    auto channels = mine->connect({0}, kLongMs);
    if (!channels) return 2;
    return exchange(*channels->front(), of_child, of_parent) ? 0 : 3;
  });
  auto channels = hop->connect({1}, kLongMs);
  ASSERT_TRUE(channels.ok()) << channels.error().text;
  EXPECT_TRUE(exchange(*channels->front(), of_parent, of_child));
  EXPECT_EQ(child.wait_status(), 0);
}

TEST(SharedMemoryLinks, SaysInTimeThatThereAreNoDescriptors) {
  const std::string name = token();
  auto hop = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(hop.ok());
  auto peer = connect_unix(fmt::format("impishim-{}-0", name), SOCK_STREAM, kLongMs);
  ASSERT_TRUE(peer.ok());
  const test::NoDescriptors lack;
  const auto channels = hop->connect({1}, 200);
  ASSERT_FALSE(channels.ok());
  EXPECT_EQ(channels.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(channels.error().text, HasSubstr("ulimit -n"));
}

TEST(SharedMemoryLinks, GoesOnWhenThereAreDescriptorsAgain) {
  const std::string name = token();
  auto hop = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(hop.ok());
  // A process of its own: its descriptors do not lack.
  Child child([&] {
    auto mine = SharedMemoryLinks::open(name, 1);
    return mine && mine->connect({0}, kLongMs) ? 0 : 1;
  });
  test::PassingLack lack;
  std::thread ending([&] { lack.end_after_a_failure(); });
  const auto channels = hop->connect({1}, kLongMs);
  ending.join();
  ASSERT_TRUE(channels.ok()) << channels.error().text;
  EXPECT_TRUE(lack.has_been_felt());
  EXPECT_EQ(child.wait_status(), 0);
}

TEST(SharedMemoryLinks, ASleeperLearnsThatItsPeerWasKilledAndReadsWhatItSent) {
  const std::string name = token();
  const auto last_words = random_bytes(100000, 3);
  auto hop = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(hop.ok());
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor said_in(ends[0]);
  const Descriptor said_out(ends[1]);
  Child child([&] {
    auto mine = SharedMemoryLinks::open(name, 1);
    if (!mine) return 1;
    auto channels = mine->connect({0}, kLongMs);
    if (!channels || !send_all(*channels->front(), last_words)) return 2;
    if (write(said_out.get(), "x", 1) != 1) return 3;
    for (;;) pause();
  });
  auto channels = hop->connect({1}, kLongMs);
  ASSERT_TRUE(channels.ok()) << channels.error().text;
  ASSERT_TRUE(test::readable(said_in.get(), kLongMs));
  Channel& channel = *channels->front();
  child.kill_it();
  std::vector<std::byte> got(last_words.size());
  ASSERT_TRUE(receive_all(channel, got).ok());
  EXPECT_EQ(got, last_words);
  auto end = receive_some(channel, got);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
}

TEST(SharedMemoryLinks, ASleeperWithoutBytesLearnsOfAKill) {
  const std::string name = token();
  auto hop = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(hop.ok());
  Child child([&] {
    auto mine = SharedMemoryLinks::open(name, 1);
    if (!mine || !mine->connect({0}, kLongMs)) return 1;
    for (;;) pause();
  });
  auto channels = hop->connect({1}, kLongMs);
  ASSERT_TRUE(channels.ok()) << channels.error().text;
  std::thread killer([&] { child.kill_it(); });
  std::array<std::byte, 8> room{};
  auto end = receive_some(*channels->front(), room);
  killer.join();
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
}

TEST(SharedMemoryLinks, JoinsEveryoneWithEveryone) {
  constexpr std::int32_t kProcs = 5;
  const std::string name = token();
  std::vector<SharedMemoryLinks> hops;
  for (std::int32_t i = 0; i < kProcs; ++i) {
    auto hop = SharedMemoryLinks::open(name, i);
    ASSERT_TRUE(hop.ok());
    hops.push_back(std::move(hop).value());
  }
  std::vector<std::future<std::string>> outcomes;
  for (std::int32_t me = 0; me < kProcs; ++me) {
    outcomes.push_back(std::async(std::launch::async, [&, me]() -> std::string {
      std::vector<std::int32_t> peers;
      // Not in order: the channels come back in the order asked for.
      for (std::int32_t i = kProcs; i-- > 0;) {
        if (i != me) peers.push_back(i);
      }
      auto channels = hops[static_cast<std::size_t>(me)].connect(peers, kLongMs);
      if (!channels) return channels.error().text;
      for (auto& channel : *channels) {
        const std::array<std::byte, 1> own = {static_cast<std::byte>(me)};
        if (auto sent = send_all(*channel, own); !sent) return sent.error().text;
      }
      for (std::size_t i = 0; i < peers.size(); ++i) {
        std::array<std::byte, 1> got{};
        if (auto received = receive_all(*(*channels)[i], got); !received)
          return received.error().text;
        if (std::to_integer<std::int32_t>(got[0]) != peers[i]) return "channels in the wrong order";
        if ((*channels)[i]->peer_name() != fmt::format("process {} of this host", peers[i]))
          return "wrong name";
      }
      return "";
    }));
  }
  for (auto& outcome : outcomes) EXPECT_EQ(outcome.get(), "");
}

TEST(SharedMemoryLinks, NamesWhoIsMissingWhenTimeIsOver) {
  auto hop = SharedMemoryLinks::open(token(), 0);
  ASSERT_TRUE(hop.ok());
  const auto begin = std::chrono::steady_clock::now();
  auto channels = hop->connect({2, 7}, 100);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(channels.ok());
  EXPECT_EQ(channels.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(channels.error().text, HasSubstr("process 2 of this host, process 7 of this host"));
  EXPECT_GE(took, std::chrono::milliseconds(99));
  EXPECT_LT(took, std::chrono::seconds(5));
}

TEST(SharedMemoryLinks, SaysThatAPeerIsNotThere) {
  auto hop = SharedMemoryLinks::open(token(), 1);
  ASSERT_TRUE(hop.ok());
  auto channels = hop->connect({0}, 1000);
  ASSERT_FALSE(channels.ok());
  EXPECT_THAT(channels.error().text, HasSubstr("process 0"));
}

TEST(SharedMemoryLinks, RefusesATokenInUse) {
  const std::string name = token();
  auto first = SharedMemoryLinks::open(name, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(SharedMemoryLinks::open(name, 0).ok());
}

/// Another user sees the name of the first socket, and takes the one that would follow from it.
TEST(SharedMemoryLinks, ATakenNameKeepsNoProcOut) {
  const std::string seen = token();
  auto low = SharedMemoryLinks::open(seen, 0);
  ASSERT_TRUE(low.ok());
  auto taken = listen_unix(fmt::format("impishim-{}-1", seen), SOCK_STREAM);
  ASSERT_TRUE(taken.ok());
  const std::vector<std::string> tokens = {seen, *random_token()};
  auto high = SharedMemoryLinks::open(tokens[1], 1);
  ASSERT_TRUE(high.ok()) << high.error().text;
  low->set_tokens(tokens);
  high->set_tokens(tokens);
  auto connected = std::async(std::launch::async, [&] { return high->connect({0}, kLongMs); });
  EXPECT_TRUE(low->connect({1}, kLongMs).ok());
  EXPECT_TRUE(connected.get().ok());
}

TEST(UnixToken, IsRandomAndOfOneSize) {
  auto one = random_token();
  auto two = random_token();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->size(), kTokenSize);
  EXPECT_NE(*one, *two);
}

/// A connection to the hop of `index` that speaks for itself.
class Stranger {
 public:
  Stranger(const std::string& name, std::int32_t index)
      : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = fmt::format("impishim-{}-{}", name, index);
    std::memcpy(address.sun_path + 1, path.data(), path.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  }

  void say(std::uint32_t magic, std::int32_t index, const std::vector<int>& descriptors) {
    std::array<std::int32_t, 2> hello = {static_cast<std::int32_t>(magic), index};
    iovec bytes{hello.data(), sizeof(hello)};
    std::vector<char> control(CMSG_SPACE(sizeof(int) * descriptors.size()));
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    }
    EXPECT_EQ(sendmsg(socket_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(hello)));
  }
  void say_garbage() {
    EXPECT_GT(send(socket_.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  }
  void hang_up() { socket_.reset(); }
  /// True once the other side has closed.
  [[nodiscard]] bool turned_away() const {
    std::array<char, 64> bytes{};
    for (;;) {
      const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (size <= 0) return true;
    }
  }

 private:
  Descriptor socket_;
};

constexpr std::uint32_t kMagic = 0x494d5053;

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(SharedMemoryLinks, TurnsStrangersAwayAndJoinsAllTheSame) {
  const std::string name = token();
  auto low = SharedMemoryLinks::open(name, 0);
  auto high = SharedMemoryLinks::open(name, 1);
  ASSERT_TRUE(low.ok() && high.ok());

  Descriptor ring;
  ASSERT_TRUE(Ring::create(ring).ok());
  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC));
  std::vector<Stranger> strangers;
  for (int i = 0; i < 9; ++i) strangers.emplace_back(name, 0);
  strangers[0].say(kMagic + 1, 1, {ring.get()});              // not ours
  strangers[1].say(kMagic, 5, {ring.get()});                  // nobody asked for
  strangers[2].say(kMagic, 0, {ring.get()});                  // our own index
  strangers[3].say(kMagic, -1, {ring.get()});                 // no index at all
  strangers[4].say(kMagic, 1, {});                            // no ring
  strangers[5].say(kMagic, 1, {unsealed.get()});              // a ring that could shrink
  strangers[6].say(kMagic, 0, {ring.get(), unsealed.get()});  // more than one
  strangers[7].say_garbage();
  strangers[8].hang_up();
  const Stranger silent(name, 0);

  testing::internal::CaptureStderr();
  auto high_outcome = std::async(std::launch::async, [&] { return high->connect({0}, kLongMs); });
  auto low_channels = low->connect({1}, kLongMs);
  auto high_channels = high_outcome.get();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(low_channels.ok()) << low_channels.error().text;
  ASSERT_TRUE(high_channels.ok()) << high_channels.error().text;
  const auto bytes = random_bytes(1000, 4);
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(send_all(*low_channels->front(), bytes).ok());
  ASSERT_TRUE(receive_all(*high_channels->front(), got).ok());
  EXPECT_EQ(got, bytes);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(strangers[i].turned_away()) << i;
  EXPECT_TRUE(silent.turned_away());
  EXPECT_THAT(log, HasSubstr("turned away a connection: it greeted with garbage"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  EXPECT_THAT(log, HasSubstr("within 60 s"));
}

TEST(SharedMemoryLinks, KeepsNoDescriptorThatAStrangerPassed) {
  const std::string name = token();
  Descriptor ring;
  ASSERT_TRUE(Ring::create(ring).ok());
  const auto before = open_descriptors();
  {
    auto hop = SharedMemoryLinks::open(name, 0);
    ASSERT_TRUE(hop.ok());
    Stranger stranger(name, 0);
    stranger.say(kMagic, 9, {ring.get(), ring.get()});
    testing::internal::CaptureStderr();
    EXPECT_FALSE(hop->connect({1}, 50).ok());
    testing::internal::GetCapturedStderr();
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace impishim::wire
