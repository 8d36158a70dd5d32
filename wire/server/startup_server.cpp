// SPDX-License-Identifier: Apache-2.0
#include "wire/server/startup_server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/server/label_collection.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {
namespace {

/// Room for the masks of 1024 methods; the specification defines two. A larger length, which a
/// stranger may claim, must not be waited for.
constexpr std::uint32_t kMaxAuthPayload = 128;
/// Longest payload of a command before IMPI. Our commands have at most 12 bytes; unknown commands
/// are skipped.
constexpr std::uint32_t kMaxEarlyPayload = 4096;
/// Bytes that a connection may send while it waits for the place of another one.
constexpr std::size_t kMaxContendingBytes = std::size_t{1} << 20U;

}  // namespace

StartupServer::StartupServer(std::int32_t clients, AuthenticationMethods methods,
                             std::vector<std::int32_t> preference, StartupLimits limits)
    : clients_(clients),
      methods_(std::move(methods)),
      preference_(std::move(preference)),
      limits_(limits) {}

void StartupServer::connected(int connection, std::string peer, std::chrono::seconds may_return) {
  Connection& added = connections_[connection];
  added.peer = std::move(peer);
  added.may_return = may_return;
  added.since = added.heard = now_;
}

void StartupServer::send(int id, std::vector<std::byte> bytes) {
  actions_.push_back({ServerAction::Kind::kSend, id, std::move(bytes), {}});
}

/// Sends the reason as kSaid and closes the connection. Foreign clients skip kSaid, and their
/// connection ends in any case.
void StartupServer::say_and_close(int id, const std::string& reason) {
  send(id, encode_startup(StartupCommand::kSaid, std::as_bytes(std::span(reason))));
  actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
}

/// Sends text for a user whose client continues. Foreign clients get none: they would have to skip
/// it, and some do not.
void StartupServer::note(int id, const std::string& text) {
  if (connections_[id].announced)
    send(id, encode_startup(StartupCommand::kNote, std::as_bytes(std::span(text))));
}

void StartupServer::tell(std::string text) {
  actions_.push_back({ServerAction::Kind::kTell, -1, {}, std::move(text)});
}

/// Shows `text` to the user. Reports about strangers, which include all connections that needed no
/// key, share one line a minute.
void StartupServer::tell_of(const Connection& connection, std::string text) {
  if (connection.client >= 0 || connection.method == kAuthKey) return tell(std::move(text));
  if (auto line = strangers_.add(std::move(text), now_)) tell(std::move(*line));
}

void StartupServer::turn_away(int id, Connection& connection, const std::string& reason,
                              ErrorKind kind) {
  tell_of(connection, fmt::format("turned away {}: {}", connection.peer, reason));
  say_and_close(id, reason);
  if (connection.stage == Stage::kContending) stop_contending(connection.wants);
  const bool member = connection.stage == Stage::kJoined || connection.stage == Stage::kDone;
  connection.stage = Stage::kTurnedAway;
  if (!member) return;
  if (!begun_) return forget(connection);
  fail({kind, fmt::format("system {} at {}: {}", connection.client, connection.peer, reason)});
}

/// Removes a client. Before all have joined, another connection may take the place of a client that
/// leaves.
void StartupServer::forget(const Connection& connection) {
  labels_.forget(connection.client);
  if (connection.stage == Stage::kFinished) --finished_;
  by_client_.erase(connection.client);
  const auto contender = contenders_.find(connection.client);
  if (contender == contenders_.end()) return notify_waiting();
  const int id = contender->second;
  contenders_.erase(contender);
  admit(id, connections_[id], connection.client);
}

void StartupServer::fail(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  give_up(failure_->text);
}

void StartupServer::give_up(const std::string& reason) {
  for (auto& [id, connection] : connections_) {
    if (connection.stage >= Stage::kFinished) continue;
    connection.stage = Stage::kTurnedAway;
    say_and_close(id, reason);
  }
}

bool StartupServer::is_member(int connection) const {
  const auto found = connections_.find(connection);
  return found != connections_.end() && found->second.client >= 0 &&
         found->second.stage != Stage::kTurnedAway;
}

bool StartupServer::is_authenticated(int connection) const {
  const auto found = connections_.find(connection);
  return found != connections_.end() && found->second.method >= 0 &&
         found->second.stage != Stage::kTurnedAway;
}

void StartupServer::ended(std::int32_t client) {
  ended_[client] = false;
  end_lost(client);
  look_for_missing();
}

/// Fails the job if a client has joined and another client can no longer come. If no client has
/// joined, no client waits, and the others may not want to join either.
void StartupServer::look_for_missing() {
  if (all_joined() || joined() == 0) return;
  const auto missing = std::ranges::find_if(
      ended_, [this](const auto& each) { return by_client_.count(each.first) == 0; });
  if (missing == ended_.end()) return;
  fail({ErrorKind::kConnection,
        fmt::format("system {} ended before it had joined; {}", missing->first, progress())});
}

void StartupServer::received(int id, std::span<const std::byte> bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.stage >= Stage::kFinished) return;
  found->second.said_anything = true;
  found->second.heard = now_;
  found->second.decoder.feed(bytes);
  process(id, found->second);
}

/// Returns the longest payload that a connection in this stage may send.
std::uint32_t StartupServer::most_payload(Stage stage) {
  if (stage <= Stage::kImpi || stage == Stage::kAsker) return kMaxEarlyPayload;
  if (stage == Stage::kMonitor) return kMaxProcessState + sizeof(std::uint32_t);
  return kMaxStartupPayload;
}

void StartupServer::process(int id, Connection& connection) {
  while (step(id, connection)) {
  }
}

/// Handles one message if a complete one has arrived. Returns false if there is nothing more to do
/// now.
bool StartupServer::step(int id, Connection& connection) {
  if (connection.stage >= Stage::kFinished) return false;
  if (connection.stage == Stage::kContending) {
    if (connection.decoder.buffered() > kMaxContendingBytes)
      turn_away(id, connection, "it sent too much before it had joined");
    return false;
  }
  if (connection.stage == Stage::kKey) {
    const auto key = connection.decoder.next_raw(8);
    if (!key) return false;
    check_key(id, connection, *key);
    return true;
  }
  if (connection.stage == Stage::kAuth &&
      !connection.decoder.may_be(StartupCommand::kAuth, kMaxAuthPayload)) {
    turn_away(id, connection, "it does not speak IMPI (AUTH must come first)");
    return false;
  }
  auto message = connection.decoder.next(most_payload(connection.stage));
  if (!message) {
    turn_away(id, connection, message.error().text);
    return false;
  }
  if (!message->has_value()) return false;
  handle(id, connection, **message);
  return true;
}

void StartupServer::handle(int id, Connection& connection, const StartupMessage& message) {
  const auto command = static_cast<StartupCommand>(message.command);
  if (connection.stage == Stage::kAuth) return authenticate(id, connection, message);
  if (connection.stage == Stage::kImpi) {
    if (command == StartupCommand::kHello) greet(id, connection);
    if (command == StartupCommand::kImpi) join(id, connection, message);
    if (command == StartupCommand::kEnded && connection.announced)
      learn_of_end(id, connection, message);
    if (command == StartupCommand::kReturn && connection.announced)
      come_back(id, connection, message);
    if (command == StartupCommand::kMonitor && connection.announced)
      begin_monitor(id, connection, message);
    if (command != StartupCommand::kQuestion || !connection.announced) return;
    connection.stage = Stage::kAsker;
  }
  if (connection.stage == Stage::kMonitor || connection.stage == Stage::kAsker)
    return handle_monitoring(id, connection, message);
  switch (command) {
    case StartupCommand::kColl:
      if (connection.stage == Stage::kJoined) collect(id, connection, message);
      return;
    case StartupCommand::kDone:
      if (connection.stage != Stage::kJoined) return;
      connection.stage = Stage::kDone;
      answer_labels();
      answer_done();
      notify_waiting();
      return;
    case StartupCommand::kFini:
      if (connection.stage != Stage::kDone) return;
      connection.stage = Stage::kFinished;
      ++finished_;
      // A client that sends FINI without waiting for DONE still gets DONE before its connection is
      // closed.
      if (done_answered_) actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
      return;
    case StartupCommand::kGoesOn:
      if (connection.stage == Stage::kDone && connection.announced)
        note_going_on(id, connection, message);
      return;
    default:
      return;  // unknown commands are skipped
  }
}

std::uint32_t StartupServer::joined_mask() const {
  std::uint32_t mask = 0;
  for (const auto& [client, id] : by_client_) mask |= 1U << static_cast<unsigned>(client);
  return mask;
}

std::string StartupServer::progress() const {
  std::string text = fmt::format("{} of {} systems have joined", joined(), clients_);
  if (all_joined()) return text;
  std::vector<std::int32_t> missing;
  for (std::int32_t client = 0; client < clients_; ++client) {
    if (by_client_.count(client) == 0) missing.push_back(client);
  }
  return fmt::format("{}; missing: {}", text, fmt::join(missing, ", "));
}

void StartupServer::collect(int id, Connection& connection, const StartupMessage& message) {
  auto added = labels_.add(connection.client, message.payload);
  if (!added) return turn_away(id, connection, added.error().text);
  answer_labels();
}

/// Answers the labels that are complete. A label is complete when no client can still send it. A
/// label outside the specification goes only to the clients that sent it and to those that have
/// announced themselves, because some other implementations take an unexpected answer for DONE.
void StartupServer::answer_labels() {
  if (!begun_) return;
  std::uint32_t settled = ~0U;
  for (const auto& [client, id] : by_client_) {
    if (connections_[id].stage != Stage::kJoined) continue;
    const auto last = labels_.last_of(client);
    if (!last) return;
    settled = std::min(settled, *last);
  }
  for (const CollectedLabel& each : labels_.take_up_to(settled)) {
    ByteWriter payload;
    payload.put(each.label);
    payload.put(each.client_mask);
    payload.put_bytes(each.data);
    for (const auto& [client, to] : by_client_) {
      const bool sent = (each.client_mask >> static_cast<unsigned>(client) & 1U) != 0;
      if (!is_standard(each.label) && !sent && !connections_[to].announced) continue;
      send(to, encode_startup(StartupCommand::kColl, payload.bytes()));
    }
  }
}

void StartupServer::answer_done() {
  const bool all =
      begun_ && std::all_of(by_client_.begin(), by_client_.end(), [this](const auto& entry) {
        return connections_[entry.second].stage >= Stage::kDone;
      });
  if (!all || done_answered_) return;
  done_answered_ = true;
  for (const auto& [client, to] : by_client_) {
    send(to, encode_startup(StartupCommand::kDone, {}));
    if (connections_[to].stage == Stage::kFinished)
      actions_.push_back({ServerAction::Kind::kClose, to, {}, {}});
  }
}

void StartupServer::evicted(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second.stage != Stage::kTurnedAway) {
    tell_of(found->second,
            fmt::format("turned away {}: too many connections at once", found->second.peer));
  }
  connections_.erase(found);
}

void StartupServer::refused(int id, const std::string& reason) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.stage == Stage::kTurnedAway) return;
  turn_away(id, found->second, reason, ErrorKind::kAuthentication);
}

void StartupServer::disconnected(int id) {
  if (end_monitoring(id)) return;
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.stage == Stage::kTurnedAway || connection.client < 0) {
    if (connection.stage == Stage::kContending) stop_contending(connection.wants);
    if (connection.stage != Stage::kTurnedAway && connection.said_anything) {
      tell_of(connection, fmt::format("{} closed before it had joined", connection.peer));
    }
    connections_.erase(id);
    return;
  }
  // Nothing is lost. The entry stays, because later questions about its client need it.
  if (connection.stage == Stage::kFinished && done_answered_) return;
  if (connection.stage == Stage::kLost) return;
  if (!begun_) {
    tell(fmt::format("system {} at {} left before all had joined", connection.client,
                     connection.peer));
    forget(connection);
    connections_.erase(id);
    return look_for_missing();
  }
  if (connection.stage == Stage::kDone && done_answered_ && connection.announced &&
      connection.may_return.count() > 0)
    return lose(connection);
  lose_for_good(connection, "its connection ended without FINI");
}

Result<std::vector<std::int32_t>> parse_preference(const std::string& text) {
  const Error bad{
      ErrorKind::kConfiguration,
      fmt::format("-auth {}: a list of method numbers or ranges is needed, such as 1,0 or 3,1-0",
                  text)};
  std::vector<std::int32_t> methods;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto number = [&]() -> std::optional<std::int32_t> {
    std::int32_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc() || value < 0 || value > 31) return std::nullopt;
    at = parsed.ptr;
    return value;
  };
  for (;;) {
    const auto first = number();
    if (!first) return bad;
    auto last = first;
    if (at != end && *at == '-') {
      ++at;
      last = number();
      if (!last) return bad;
    }
    const std::int32_t step = *last < *first ? -1 : 1;
    for (std::int32_t method = *first;; method += step) {
      methods.push_back(method);
      if (method == *last) break;
    }
    if (at == end) return methods;
    if (*at != ',') return bad;
    ++at;
  }
}

}  // namespace impishim::wire
