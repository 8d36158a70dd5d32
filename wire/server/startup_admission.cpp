// SPDX-License-Identifier: Apache-2.0
// How connections of a rendezvous server become clients of the job, or connections of monitoring
// (wire/monitor), and the time limits of the server (IMPI 2.3.3).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/monitor/monitor_hub.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/server/startup_server.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

void StartupServer::authenticate(int id, Connection& connection, const StartupMessage& message) {
  if (message.payload.size() < 4 || message.payload.size() % 4 != 0) {
    return turn_away(id, connection, "it sent AUTH without a mask of methods");
  }
  const auto mask = load_big_endian<std::uint32_t>(message.payload.data());
  for (const std::int32_t method : preference_) {
    if (!methods_.enables(method) || (mask >> static_cast<unsigned>(method) & 1U) == 0) continue;
    ByteWriter answer;
    answer.put(method);
    answer.put(std::int32_t{0});
    send(id, answer.take());
    connection.stage = method == kAuthKey ? Stage::kKey : Stage::kImpi;
    if (method == kAuthNone) connection.method = kAuthNone;
    return;
  }
  turn_away(id, connection, "no authentication method in common (IMPI_AUTH_KEY, IMPI_AUTH_NONE)");
}

void StartupServer::check_key(int id, Connection& connection, std::span<const std::byte> key) {
  std::array<std::byte, sizeof(methods_.key_value)> right;
  store_big_endian(right.data(), methods_.key_value);
  const bool same = equal_in_constant_time(key, right);
  wipe(right);
  if (!same) return turn_away(id, connection, "wrong authentication key (IMPI_AUTH_KEY)");
  connection.method = kAuthKey;
  connection.stage = Stage::kImpi;
}

/// Answers the client's announcement. From now on, both sides know that the other one is impishim.
void StartupServer::greet(int id, Connection& connection) {
  if (connection.announced) return;
  connection.announced = true;
  send(id, encode_startup(StartupCommand::kHello, relay_ ? std::span<const std::byte>(*relay_)
                                                         : std::span<const std::byte>()));
}

void StartupServer::join(int id, Connection& connection, const StartupMessage& message) {
  ByteReader payload(message.payload);
  const auto client = payload.get<std::int32_t>();
  if (!client || *client < 0 || *client >= clients_) {
    return turn_away(id, connection,
                     fmt::format("system {} does not exist: this job has systems 0 to {}",
                                 client.value_or(-1), clients_ - 1));
  }
  if (by_client_.count(*client) != 0) return contend(id, connection, *client);
  admit(id, connection, *client);
}

/// Returns true if the client has certainly never joined. The number may be in use by another
/// launch than the one that ended, so an uncertain case counts as joined.
bool StartupServer::has_never_joined(const EndedLaunch& launch) {
  using std::chrono::milliseconds;
  const auto serving = std::chrono::floor<milliseconds>(now_ - started_.value_or(now_)).count();
  if (launch.client < 0 || launch.client >= clients_ ||
      launch.age_ms > static_cast<std::uint64_t>(serving))
    return false;
  return by_client_.count(launch.client) == 0 && came_.erase(launch.client) == 0;
}

void StartupServer::learn_of_end(int id, Connection& connection, const StartupMessage& message) {
  const auto launch = parse_ended(message.payload);
  if (!launch) return turn_away(id, connection, "it sent a report of an end that cannot be read");
  const bool never_joined = has_never_joined(*launch);
  if (const auto owner = by_client_.find(launch->client); owner != by_client_.end()) {
    // A launch that began before the client connected is that client's own. Its age may be any
    // number, so it is no duration.
    const auto connected =
        std::chrono::ceil<std::chrono::milliseconds>(now_ - connections_[owner->second].since);
    if (launch->age_ms >= static_cast<std::uint64_t>(connected.count())) end_lost(launch->client);
  }
  send(id, encode_ended_answer(never_joined));
  actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
  connection.stage = Stage::kTurnedAway;
  if (!never_joined) return;
  ended_.try_emplace(launch->client, true);
  look_for_missing();
  // If other clients wait, the failure already reports it.
  if (!failure_) {
    tell_of(connection, fmt::format("system {} ended before it had joined, says {}; start it again",
                                    launch->client, connection.peer));
  }
}

/// Notes that a client has lost its connection and may return.
void StartupServer::lose(Connection& connection) {
  connection.lost_at = now_;
  tell(fmt::format("the connection of system {} at {} was lost; it may return within {} s",
                   connection.client, connection.peer, connection.may_return.count()));
}

/// Ends the job if that client is lost: its processes have ended, and it will not return.
void StartupServer::end_lost(std::int32_t client) {
  const auto owner = by_client_.find(client);
  if (owner == by_client_.end()) return;
  Connection& connection = connections_[owner->second];
  if (!connection.lost_at || connection.stage != Stage::kDone) return;
  lose_for_good(connection, "its processes have ended");
}

/// Returns true if some other client has said that it goes on, and so have all that have not
/// finished.
bool StartupServer::others_go_on(std::int32_t without) const {
  bool any = false;
  for (const auto& [client, id] : by_client_) {
    const Connection& other = connections_.at(id);
    if (client == without || other.stage > Stage::kFinished) continue;
    if (!other.goes_on && other.stage != Stage::kFinished) return false;
    any = any || other.goes_on;
  }
  return any;
}

void StartupServer::note_going_on(int id, Connection& connection, const StartupMessage& message) {
  ByteReader payload(message.payload);
  const auto goes_on = payload.get<std::uint32_t>();
  if (!goes_on) return turn_away(id, connection, "it sent a word on losses that cannot be read");
  connection.goes_on = *goes_on != 0;
}

/// Handles the loss of a client that does not return: it ends the job if the others do not go on.
void StartupServer::lose_for_good(Connection& connection, const std::string& how) {
  const Error loss{ErrorKind::kConnection, fmt::format("system {} at {} was lost: {}",
                                                       connection.client, connection.peer, how)};
  if (!others_go_on(connection.client)) return fail(loss);
  connection.stage = Stage::kLost;
  connection.lost_at.reset();
  ++lost_;
  if (!loss_) loss_ = loss;
  tell(loss.text + "; the others go on without it");
  actions_.push_back({ServerAction::Kind::kGoOnWithout, -1, {}, {}, false, connection.client});
}

/// Takes a connection that replaces the one of its client.
void StartupServer::come_back(int id, Connection& connection, const StartupMessage& message) {
  ByteReader payload(message.payload);
  const auto client = payload.get<std::int32_t>();
  const auto owner = client ? by_client_.find(*client) : by_client_.end();
  if (owner == by_client_.end() || !done_answered_ || failure_)
    return turn_away(id, connection, "it returns, but the job is not in progress");
  Connection& before = connections_[owner->second];
  const bool proven = connection.method == kAuthKey || methods_.shared.encrypts();
  if (!before.announced || (!before.lost_at && !proven))
    return turn_away(id, connection, fmt::format("system {} is still connected", *client));
  if (before.stage == Stage::kLost)
    return turn_away(id, connection,
                     fmt::format("system {} was lost, and the others go on without it", *client));
  if (before.lost_at)
    tell(fmt::format("system {} has returned, from {}", *client, connection.peer));
  connection.client = *client;
  connection.stage = before.stage;
  connection.since = before.since;
  if (!before.lost_at) actions_.push_back({ServerAction::Kind::kClose, owner->second, {}, {}});
  before.stage = Stage::kTurnedAway;
  before.lost_at.reset();
  owner->second = id;
  // Its FINI had come, and only the answer was lost.
  if (connection.stage == Stage::kFinished)
    actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
}

/// Handles a join with a number that is taken. The number is free only if the machine of its owner
/// does not answer.
void StartupServer::contend(int id, Connection& connection, std::int32_t client) {
  const int owner = by_client_[client];
  const std::string taken =
      fmt::format("system {} has joined already, from {}", client, connections_[owner].peer);
  if (begun_) return turn_away(id, connection, taken + ", and the job has begun");
  if (contenders_.count(client) != 0) {
    return turn_away(id, connection,
                     fmt::format("{}, and {} waits for its place", taken,
                                 connections_[contenders_[client]].peer));
  }
  contenders_[client] = id;
  connection.wants = client;
  connection.since = now_;
  connection.stage = Stage::kContending;
  // These bytes need an acknowledgement, so they show quickly if the machine still answers.
  note(owner,
       fmt::format(
           "another system {} asks to join, from {}; it is turned away as long as this one answers",
           client, connection.peer));
  actions_.push_back({ServerAction::Kind::kProbe, owner, {}, {}});
}

void StartupServer::alive(int owner) {
  const auto found = connections_.find(owner);
  if (found == connections_.end()) return;
  const auto contender = contenders_.find(found->second.client);
  if (contender == contenders_.end()) return;
  turn_away(contender->second, connections_[contender->second],
            fmt::format(
                "system {} has joined already, from {}, whose machine answers: end that one first",
                found->second.client, found->second.peer));
}

/// Replaces the owner of a contended number, whose machine is dead, by the contender.
void StartupServer::supersede(std::int32_t client) {
  const int owner = by_client_[client];
  Connection& dead = connections_[owner];
  const std::string by = connections_[contenders_[client]].peer;
  tell(fmt::format("the machine of system {} at {} does not answer; {} takes its place", client,
                   dead.peer, by));
  say_and_close(owner, fmt::format("system {} at {} did not answer; {} has taken its place", client,
                                   dead.peer, by));
  note(contenders_[client],
       fmt::format("this system {} takes the place of {}, whose machine does not answer", client,
                   dead.peer));
  dead.stage = Stage::kTurnedAway;
  forget(dead);
}

void StartupServer::stop_contending(std::int32_t client) {
  contenders_.erase(client);
  begin_if_complete();
}

void StartupServer::admit(int id, Connection& connection, std::int32_t client) {
  if (connection.method == kAuthNone && !methods_.shared.encrypts()) {
    tell(fmt::format("Warning: {} has authenticated with IMPI_AUTH_NONE.", connection.peer));
  }
  connection.client = client;
  connection.stage = Stage::kJoined;
  by_client_[client] = id;
  came_.insert(client);
  if (const auto before = ended_.find(client); before != ended_.end() && before->second)
    ended_.erase(before);
  actions_.push_back({ServerAction::Kind::kTell, -1, {}, progress(), true});
  if (!all_joined()) look_for_missing();
  begin_if_complete();
  if (!begun_) notify_waiting();
  process(id, connection);
}

/// Starts the job if all clients have joined. It does not start while a number is contended,
/// because the owner of that number may be dead.
void StartupServer::begin_if_complete() {
  if (begun_ || failure_ || !all_joined() || !contenders_.empty()) return;
  begun_ = true;
  next_notice_ = now_ + limits_.notice;
  ByteWriter size;
  size.put(clients_);
  for (const auto& [each, to] : by_client_) {
    connections_[to].heard = now_;
    send(to, encode_startup(StartupCommand::kImpi, size.bytes()));
  }
  answer_labels();
  answer_done();
}

/// Tells impishim clients which clients they wait for. The notice also shows them that the server
/// is alive.
void StartupServer::notify_waiting() {
  next_notice_ = now_ + limits_.notice;
  if (done_answered_ || failure_) return;
  WaitingNotice notice;
  notice.joined = begun_;
  notice.clients = static_cast<std::uint32_t>(clients_);
  for (std::int32_t client = 0; client < clients_; ++client) {
    const auto owner = by_client_.find(client);
    const bool missing = owner == by_client_.end() || contenders_.count(client) != 0 ||
                         (begun_ && connections_[owner->second].stage < Stage::kDone);
    if (missing) notice.missing |= 1U << static_cast<unsigned>(client);
  }
  for (const auto& [client, to] : by_client_) {
    const Connection& connection = connections_[to];
    const bool waits = connection.stage == Stage::kJoined || connection.stage == Stage::kDone;
    if (connection.announced && waits) send(to, encode_waiting(notice));
  }
}

/// Returns the time at which the server stops waiting for this connection, or time_point::max() if
/// there is no limit.
StartupServer::Clock::time_point StartupServer::limit_of(const Connection& connection) const {
  switch (connection.stage) {
    case Stage::kAuth:
    case Stage::kKey:
    case Stage::kImpi:
      return connection.since + limits_.joining;
    case Stage::kContending:
      return connection.since + limits_.probe;
    case Stage::kJoined:
      return begun_ ? connection.heard + limits_.labels : Clock::time_point::max();
    case Stage::kDone:
      return connection.lost_at ? *connection.lost_at + connection.may_return
                                : Clock::time_point::max();
    default:
      return Clock::time_point::max();
  }
}

void StartupServer::enforce_limit(int id, Connection& connection) {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  if (connection.stage == Stage::kContending) return supersede(connection.wants);
  if (connection.stage == Stage::kDone) {
    return lose_for_good(
        connection, fmt::format("it did not return within {} s", connection.may_return.count()));
  }
  if (connection.stage == Stage::kJoined) {
    return turn_away(id, connection,
                     fmt::format("it has joined, and then said nothing for {} s: is it stopped?",
                                 duration_cast<seconds>(limits_.labels).count()),
                     ErrorKind::kTimeout);
  }
  turn_away(
      id, connection,
      fmt::format("it did not join within {} s", duration_cast<seconds>(limits_.joining).count()),
      ErrorKind::kTimeout);
}

void StartupServer::at(Clock::time_point now) {
  now_ = now;
  if (!started_) started_ = now;
  for (auto& [id, connection] : connections_) {
    if (limit_of(connection) <= now_) enforce_limit(id, connection);
  }
  if (next_notice_ <= now_) notify_waiting();
  monitors_.at(now_);
  act_for_monitors();
  if (auto line = strangers_.due(now_)) tell(std::move(*line));
}

std::optional<StartupServer::Clock::time_point> StartupServer::next_limit() const {
  auto next = strangers_.next().value_or(Clock::time_point::max());
  for (const auto& [id, connection] : connections_) next = std::min(next, limit_of(connection));
  if (joined() != 0 && !done_answered_ && !failure_) next = std::min(next, next_notice_);
  next = std::min(next, monitors_.next_limit().value_or(next));
  if (next == Clock::time_point::max()) return std::nullopt;
  return next;
}

/// Takes a connection that says, instead of IMPI, that it belongs to a process of the job.
void StartupServer::begin_monitor(int id, Connection& connection, const StartupMessage& message) {
  const auto hello = decode_monitor_hello(message.payload);
  if (!hello || hello->client >= clients_)
    return turn_away(id, connection, "it wants to be monitored as a process that does not exist");
  if (!begun_)
    return turn_away(id, connection, "it wants to be monitored before the job has begun");
  if (!monitors_.add_process(id, *hello)) {
    // Of a large job, all others come as well: that is nothing for the server's user.
    say_and_close(id, fmt::format("rank {} cannot be monitored: at most {} processes of a job can",
                                  hello->rank, MonitorHub::kMostProcesses));
    connection.stage = Stage::kTurnedAway;
    return;
  }
  connection.stage = Stage::kMonitor;
  send(id, encode_startup(StartupCommand::kMonitor, {}));
}

/// Handles what connections of monitoring say.
void StartupServer::handle_monitoring(int id, Connection& connection,
                                      const StartupMessage& message) {
  const auto command = static_cast<StartupCommand>(message.command);
  if (connection.stage == Stage::kMonitor) {
    if (command == StartupCommand::kAnswer && !monitors_.answer(id, message.payload)) {
      monitors_.remove(id);
      turn_away(id, connection, "it told its state in bytes that cannot be read");
    }
  } else if (command == StartupCommand::kQuestion) {
    const auto question = decode_monitor_question(message.payload);
    if (!question || !monitors_.ask(id, question->wants, now_)) {
      monitors_.remove(id);
      turn_away(id, connection, "it asked a question that cannot be answered now");
    }
  }
  act_for_monitors();
}

void StartupServer::act_for_monitors() {
  for (MonitorAction& action : monitors_.take_actions()) {
    const StartupCommand command =
        action.kind == MonitorAction::Kind::kQuestion ? StartupCommand::kQuestion
        : action.kind == MonitorAction::Kind::kAnswer ? StartupCommand::kAnswer
                                                      : StartupCommand::kAnswered;
    send(action.connection, encode_startup(command, action.payload));
  }
}

/// Forgets a connection of monitoring that has ended. Returns false if it is none.
bool StartupServer::end_monitoring(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() ||
      (found->second.stage != Stage::kMonitor && found->second.stage != Stage::kAsker))
    return false;
  monitors_.remove(id);
  connections_.erase(found);
  act_for_monitors();
  return true;
}

}  // namespace impishim::wire
