// SPDX-License-Identifier: Apache-2.0
// A client that waits: for how long, what it says meanwhile, and how it hears that the job is given
// up.
#include "wire/startup/server_stream.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "tests/unit/wire/startup/scripted_server.hpp"
#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::command;
using test::impi;
using test::Peer;
using test::ScriptedServer;
using test::sound_answers;
using test::text_bytes;
using test::operator+;  // NOLINT(misc-unused-using-decls): clang-tidy 14 overlooks operators
using testing::HasSubstr;

const AuthenticationMethods kNone{
    .none = true, .key = false, .key_value = 0, .shared = {.secret = {}, .is_off = true}};
constexpr int kTimeoutMs = 30000;

/// What connect() to a server that becomes silent ends with.
Error after_silence(const Bytes& before) {
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(before);
    static_cast<void>(peer.receive(1000));  // until the client closes
  });
  auto connection = ServerConnection::connect(server.address, 0, kNone, kTimeoutMs,
                                              {.answer = std::chrono::milliseconds(50)});
  if (connection) return {ErrorKind::kSystem, "it connected"};
  return connection.error();
}

TEST(ServerStream, SilentServerIsGivenUp) {
  for (const Bytes& before : {Bytes{}, bytes_of(kAuthNone, 0) + command(StartupCommand::kHello)}) {
    const Error error = after_silence(before);
    EXPECT_EQ(error.kind, ErrorKind::kTimeout);
    EXPECT_THAT(error.text, HasSubstr("is it stopped, or the network between cut?"));
  }
}

TEST(ServerStream, SilentServerDuringTheExchangeIsGivenUp) {
  for (const bool ours : {false, true}) {
    ScriptedServer server([&](Peer& peer) {
      static_cast<void>(peer.receive(12));
      peer.send(bytes_of(kAuthNone, 0));
      if (ours) peer.send(command(StartupCommand::kHello));
      peer.send(impi(2));
      static_cast<void>(peer.receive_until(command(StartupCommand::kFini)));
    });
    constexpr std::chrono::milliseconds kShort{50};
    auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs,
                                                {.answer = kShort, .foreign_answer = kShort});
    ASSERT_TRUE(connection.ok()) << connection.error().text;
    auto agreed = connection->exchange(test::joining(1, {1}));
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.error().kind, ErrorKind::kTimeout);
    EXPECT_TRUE(connection->finish().ok());
  }
}

/// What goes to standard error meanwhile, as a stream.
class StandardError {
 public:
  StandardError() : kept_(dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    read_ = Descriptor(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~StandardError() { dup2(kept_.get(), STDERR_FILENO); }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  /// Blocks until `text` has been printed.
  void await(const std::string& text) {
    while (all_.find(text) == std::string::npos) {
      std::array<char, 4096> some{};
      const ssize_t size = read(read_.get(), some.data(), some.size());
      ASSERT_GT(size, 0);
      all_.append(some.data(), static_cast<std::size_t>(size));
    }
    all_.clear();
  }

 private:
  Descriptor kept_;
  Descriptor read_;
  std::string all_;
};

TEST(ServerStream, SaysForWhomItWaits) {
  StandardError printed;
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    printed.await("waiting for the rendezvous server at 127.0.0.1:");
    peer.send(bytes_of(kAuthNone, 0));
    printed.await("to say that all systems have joined, 0 s\n");
    peer.send(command(StartupCommand::kHello) +
              encode_waiting({.joined = false, .clients = 4, .missing = 0b1010}));
    printed.await("waiting for systems 1, 3 of 4, 0 s\n");
    peer.send(encode_waiting({.joined = false, .clients = 4, .missing = 0b1000}));
    printed.await("waiting for system 3 of 4, 0 s\n");
    peer.send(encode_startup(StartupCommand::kNote, text_bytes("\x1b[1msomething else")));
    printed.await("rendezvous server: \\x1b[1msomething else\n");
    peer.send(impi(4));
    static_cast<void>(peer.receive_until(command(StartupCommand::kDone)));
    printed.await("to pass on what the systems announce, 0 s\n");
    peer.send(encode_waiting({.joined = true, .clients = 4, .missing = 0b0001}));
    printed.await("waiting for what system 0 of 4 announces, 0 s\n");
  });
  auto connection = ServerConnection::connect(server.address, 2, kNone, kTimeoutMs,
                                              {.report = std::chrono::milliseconds(10)});
  ASSERT_TRUE(connection.ok()) << connection.error().text;
  EXPECT_FALSE(connection->exchange(test::joining(2, {1})).ok());
}

/// given_up() of a client whose server ends with these bytes after DONE; `watched`: whether there
/// is more to wait for.
std::optional<Error> end_of_server(const Bytes& last, bool& watched) {
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + impi(2));
    static_cast<void>(peer.receive_until(command(StartupCommand::kDone)));
    peer.send(sound_answers() + command(StartupCommand::kDone) + last);
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  EXPECT_TRUE(connection.ok());
  EXPECT_TRUE(connection->exchange(test::joining(1, {1})).ok());
  auto watch = connection->watch();
  EXPECT_TRUE(watch.ok());
  pollfd ready{*watch, POLLIN, 0};
  std::optional<Error> error;
  // The server's end may come in several pieces.
  while (!error && poll(&ready, 1, 200) == 1) error = connection->given_up();
  watched = !error && poll(&ready, 1, 0) != 0;
  return error;
}

TEST(ServerStream, HearsWhenTheServerGivesTheJobUp) {
  bool watched = false;
  const auto error = end_of_server(
      encode_startup(StartupCommand::kSaid, text_bytes("system 0 was lost")), watched);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->text, "rendezvous server: system 0 was lost");
}

TEST(ServerStream, ServerThatGoesWithoutAWordEndsNoJob) {
  bool watched = true;
  EXPECT_FALSE(end_of_server({}, watched).has_value());
  EXPECT_FALSE(watched);
}

}  // namespace
}  // namespace impishim::wire
