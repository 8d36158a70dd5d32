// SPDX-License-Identifier: Apache-2.0
// The rendezvous server among strangers and clients. Input: 1 byte (clients, methods), then steps:
// 1 byte (connection, what happens to it) and, where bytes arrive, 1 byte for how many and the
// bytes, or where time passes, 1 byte for the seconds.
#include <chrono>
#include <map>
#include <set>
#include <span>
#include <string>

#include "tests/fuzz/fuzz.hpp"
#include "wire/base/bytes.hpp"
#include "wire/server/startup_server.hpp"

using impishim::fuzz::Input;
using impishim::wire::ServerAction;
using impishim::wire::StartupCommand;
using impishim::wire::StartupServer;

namespace {

class Watched {
 public:
  Watched(std::int32_t clients, bool none, bool key)
      : clients_(clients),
        server_(clients, {.none = none, .key = key, .key_value = 0x0102030405060708}, {1, 0}) {
    server_.at(now_);
  }

  /// Whoever drives a server stops then.
  [[nodiscard]] bool over() const { return server_.failure().has_value() || server_.finished(); }

  /// A slot is a peer's place: who comes after another one has left is a connection of its own.
  void step(unsigned slot, unsigned what, Input& input) {
    if (slots_.count(slot) == 0) {
      slots_[slot] = next_++;
      server_.connected(slots_[slot], "peer");
    }
    const int connection = slots_[slot];
    if (what == 1) {
      server_.disconnected(connection);
      slots_.erase(slot);
    } else if (what == 2) {
      server_.ended(static_cast<std::int32_t>(slot) % clients_);
      ended_ = true;
    } else if (what == 4) {
      server_.alive(connection);
    } else if (what == 5) {
      now_ += std::chrono::seconds(input.byte());
      server_.at(now_);
    } else if (what == 6 && !server_.is_authenticated(connection)) {
      server_.evicted(connection);
      slots_.erase(slot);
    } else {
      const std::size_t count = input.byte();
      const auto bytes = input.bytes(count);
      for (const std::byte each : bytes) said_[connection] += std::to_integer<char>(each);
      server_.received(connection, bytes);
    }
    check();
  }

 private:
  /// A client that has not announced itself hears nothing that is not IMPI's, but last words.
  void check_sent(const ServerAction& action) {
    const auto command = impishim::load_big_endian<std::uint32_t>(action.bytes.data());
    if (command == static_cast<std::uint32_t>(StartupCommand::kHello)) {
      FUZZ_REQUIRE(said_[action.connection].find("ISHI") != std::string::npos);
      announced_.insert(action.connection);
    }
    // Only who has been admitted and has announced itself may say that processes have ended.
    if (command == static_cast<std::uint32_t>(StartupCommand::kEnded)) {
      FUZZ_REQUIRE(announced_.count(action.connection) != 0 &&
                   said_[action.connection].find("ISED") != std::string::npos);
      const auto answer = impishim::wire::parse_ended_answer(std::span(action.bytes).subspan(8));
      FUZZ_REQUIRE(answer.has_value());
      ended_ = ended_ || *answer;
    }
    const bool own = command == static_cast<std::uint32_t>(StartupCommand::kWaiting) ||
                     command == static_cast<std::uint32_t>(StartupCommand::kNote);
    FUZZ_REQUIRE(!own || announced_.count(action.connection) != 0);
    last_words_ =
        command == static_cast<std::uint32_t>(StartupCommand::kSaid) ? action.connection : -1;
  }

  void check() {
    for (const ServerAction& action : server_.take_actions()) {
      if (action.kind == ServerAction::Kind::kTell) continue;
      if (last_words_ >= 0)
        FUZZ_REQUIRE(action.kind == ServerAction::Kind::kClose && action.connection == last_words_);
      last_words_ = -1;
      FUZZ_REQUIRE(action.connection >= 0 && action.connection < next_);
      FUZZ_REQUIRE(closed_.count(action.connection) == 0);  // nothing follows the closing
      if (action.kind == ServerAction::Kind::kClose) closed_.insert(action.connection);
      if (action.kind == ServerAction::Kind::kSend) check_sent(action);
    }
    FUZZ_REQUIRE(last_words_ < 0);
    FUZZ_REQUIRE(server_.joined() >= 0 && server_.joined() <= clients_);
    complete_ = complete_ || server_.all_joined();
    // Strangers, and clients before the job has begun, cannot end it.
    FUZZ_REQUIRE(!server_.failure() || complete_ || ended_);
    FUZZ_REQUIRE(!server_.finished() || complete_);
  }

  std::int32_t clients_;
  StartupServer server_;
  std::map<unsigned, int> slots_;
  int next_ = 0;
  std::set<int> closed_;
  std::map<int, std::string> said_;
  std::set<int> announced_;
  int last_words_ = -1;  ///< the connection that was just told why it is closed
  StartupServer::Clock::time_point now_{std::chrono::hours(1)};
  bool ended_ = false;
  bool complete_ = false;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const unsigned setting = input.byte();
  Watched server(static_cast<std::int32_t>(1 + setting % 4), (setting & 0x10U) != 0,
                 (setting & 0x20U) != 0);
  while (!input.empty() && !server.over()) {
    const unsigned step = input.byte();
    server.step(step % 8, step / 8 % 8, input);
  }
  return 0;
}
