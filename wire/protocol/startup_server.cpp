#include "wire/protocol/startup_server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "wire/base/bytes.hpp"

namespace impishim::wire {
namespace {

/// Masks for 1024 methods; the specification knows two. A stranger's pretended length must not be waited for.
constexpr std::uint32_t kMaxAuthPayload = 128;

}  // namespace

StartupServer::StartupServer(std::int32_t clients, AuthenticationMethods methods, std::vector<std::int32_t> preference)
    : clients_(clients), methods_(methods), preference_(std::move(preference)) {}

void StartupServer::connected(int connection, std::string peer) { connections_[connection].peer = std::move(peer); }

void StartupServer::send(int id, std::vector<std::byte> bytes) {
  actions_.push_back({ServerAction::Kind::kSend, id, std::move(bytes), {}});
}

void StartupServer::tell(std::string text) { actions_.push_back({ServerAction::Kind::kTell, -1, {}, std::move(text)}); }

void StartupServer::turn_away(int id, Connection& connection, const std::string& reason) {
  tell(fmt::format("turned away {}: {}", connection.peer, reason));
  send(id, encode_startup(StartupCommand::kSaid, std::as_bytes(std::span(reason))));
  actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
  const bool member = connection.stage == Stage::kJoined || connection.stage == Stage::kDone;
  connection.stage = Stage::kTurnedAway;
  if (!member) return;
  if (!all_joined()) return forget(connection);
  fail({ErrorKind::kProtocol, fmt::format("client {} at {}: {}", connection.client, connection.peer, reason)});
}

/// Before all have joined, a client may go and another may come in its place.
void StartupServer::forget(const Connection& connection) {
  for (auto& [label, parts] : labels_) parts.erase(connection.client);
  std::erase_if(labels_, [](const auto& label) { return label.second.empty(); });
  if (connection.stage == Stage::kFinished) --finished_;
  by_client_.erase(connection.client);
}

void StartupServer::fail(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  give_up(failure_->text);
}

void StartupServer::give_up(const std::string& reason) {
  for (auto& [id, connection] : connections_) {
    if (connection.stage == Stage::kTurnedAway || connection.stage == Stage::kFinished) continue;
    connection.stage = Stage::kTurnedAway;
    send(id, encode_startup(StartupCommand::kSaid, std::as_bytes(std::span(reason))));
    actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
  }
}

bool StartupServer::is_member(int connection) const {
  const auto found = connections_.find(connection);
  return found != connections_.end() && found->second.client >= 0 && found->second.stage != Stage::kTurnedAway;
}

void StartupServer::ended(std::int32_t client) {
  ended_.insert(client);
  look_for_missing();
}

/// Some wait for a client that cannot come any more. (Where nobody waits, the others may not want to join, either.)
void StartupServer::look_for_missing() {
  if (all_joined() || joined() == 0) return;
  const auto missing =
      std::find_if(ended_.begin(), ended_.end(), [this](std::int32_t client) { return by_client_.count(client) == 0; });
  if (missing == ended_.end()) return;
  fail({ErrorKind::kConnection, fmt::format("client {} ended before it had joined; {}", *missing, progress())});
}

void StartupServer::received(int id, std::span<const std::byte> bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.stage == Stage::kTurnedAway || found->second.stage == Stage::kFinished) {
    return;
  }
  found->second.said_anything = true;
  found->second.decoder.feed(bytes);
  while (step(id, found->second)) {
  }
}

/// Handles one message, if a whole one is there.
bool StartupServer::step(int id, Connection& connection) {
  if (connection.stage == Stage::kTurnedAway || connection.stage == Stage::kFinished) return false;
  if (connection.stage == Stage::kKey) {
    const auto key = connection.decoder.next_raw(8);
    if (!key) return false;
    check_key(id, connection, load_big_endian<std::uint64_t>(key->data()));
    return true;
  }
  if (connection.stage == Stage::kAuth && !connection.decoder.may_be(StartupCommand::kAuth, kMaxAuthPayload)) {
    turn_away(id, connection, "it does not speak IMPI (AUTH must come first)");
    return false;
  }
  auto message = connection.decoder.next();
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
    if (command == StartupCommand::kImpi) join(id, connection, message);
    return;
  }
  switch (command) {
    case StartupCommand::kColl:
      if (connection.stage == Stage::kJoined) collect(id, connection, message);
      return;
    case StartupCommand::kDone:
      if (connection.stage != Stage::kJoined) return;
      connection.stage = Stage::kDone;
      answer_labels();
      answer_done();
      return;
    case StartupCommand::kFini:
      if (connection.stage != Stage::kDone) return;
      connection.stage = Stage::kFinished;
      ++finished_;
      // Who does not wait for DONE gets it nevertheless, before its connection is closed.
      if (done_answered_) actions_.push_back({ServerAction::Kind::kClose, id, {}, {}});
      return;
    default:
      return;  // commands that this side does not know are skipped
  }
}

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
    if (method == kAuthNone) tell(fmt::format("Warning: {} has authenticated with IMPI_AUTH_NONE.", connection.peer));
    connection.stage = method == kAuthKey ? Stage::kKey : Stage::kImpi;
    return;
  }
  turn_away(id, connection, "no authentication method in common (IMPI_AUTH_KEY, IMPI_AUTH_NONE)");
}

void StartupServer::check_key(int id, Connection& connection, std::uint64_t key) {
  if (key != methods_.key_value) return turn_away(id, connection, "wrong authentication key (IMPI_AUTH_KEY)");
  connection.stage = Stage::kImpi;
}

void StartupServer::join(int id, Connection& connection, const StartupMessage& message) {
  ByteReader payload(message.payload);
  const auto client = payload.get<std::int32_t>();
  if (!client || *client < 0 || *client >= clients_) {
    return turn_away(id, connection,
                     fmt::format("client {} does not exist: this job has clients 0 to {}", client.value_or(-1), clients_ - 1));
  }
  if (by_client_.count(*client) != 0) {
    return turn_away(id, connection,
                     fmt::format("client {} has joined already, from {}", *client, connections_[by_client_[*client]].peer));
  }
  connection.client = *client;
  connection.stage = Stage::kJoined;
  by_client_[*client] = id;
  actions_.push_back({ServerAction::Kind::kTell, -1, {}, progress(), true});
  if (!all_joined()) return look_for_missing();
  ByteWriter size;
  size.put(clients_);
  for (const auto& [each, to] : by_client_) send(to, encode_startup(StartupCommand::kImpi, size.bytes()));
}

std::string StartupServer::progress() const {
  std::string text = fmt::format("{} of {} clients have joined", joined(), clients_);
  if (all_joined()) return text;
  std::vector<std::int32_t> missing;
  for (std::int32_t client = 0; client < clients_; ++client) {
    if (by_client_.count(client) == 0) missing.push_back(client);
  }
  return fmt::format("{}; missing: {}", text, fmt::join(missing, ", "));
}

void StartupServer::collect(int id, Connection& connection, const StartupMessage& message) {
  ByteReader payload(message.payload);
  const auto label = payload.get<std::uint32_t>();
  if (!label) return turn_away(id, connection, "it sent COLL without a label");
  if (connection.last_label && *label <= *connection.last_label) {
    return turn_away(id, connection,
                     fmt::format("it sent label 0x{:x} after 0x{:x}; labels must ascend", *label, *connection.last_label));
  }
  connection.last_label = *label;
  labels_[*label][connection.client].assign(message.payload.begin() + 4, message.payload.end());
  answer_labels();
}

/// A label is complete as soon as no client can still send it.
void StartupServer::answer_labels() {
  if (!all_joined()) return;
  std::uint32_t settled = ~0U;
  for (const auto& [client, id] : by_client_) {
    const Connection& connection = connections_[id];
    if (connection.stage != Stage::kJoined) continue;
    if (!connection.last_label) return;
    settled = std::min(settled, *connection.last_label);
  }
  while (!labels_.empty() && labels_.begin()->first <= settled) {
    const auto& [label, parts] = *labels_.begin();
    std::uint32_t mask = 0;
    for (const auto& [client, data] : parts) mask |= 1U << static_cast<unsigned>(client);
    ByteWriter payload;
    payload.put(label);
    payload.put(mask);
    for (const auto& [client, data] : parts) payload.put_bytes(data);
    for (const auto& [client, to] : by_client_) send(to, encode_startup(StartupCommand::kColl, payload.bytes()));
    labels_.erase(labels_.begin());
  }
}

void StartupServer::answer_done() {
  const bool all = all_joined() && std::all_of(by_client_.begin(), by_client_.end(), [this](const auto& entry) {
                     return connections_[entry.second].stage >= Stage::kDone;
                   });
  if (!all || done_answered_) return;
  done_answered_ = true;
  for (const auto& [client, to] : by_client_) {
    send(to, encode_startup(StartupCommand::kDone, {}));
    if (connections_[to].stage == Stage::kFinished) actions_.push_back({ServerAction::Kind::kClose, to, {}, {}});
  }
}

void StartupServer::disconnected(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  if (connection.stage == Stage::kTurnedAway || connection.client < 0) {
    if (connection.stage != Stage::kTurnedAway && connection.said_anything) {
      tell(fmt::format("{} closed before it had joined", connection.peer));
    }
    connections_.erase(found);
    return;
  }
  // Nothing is lost; the entry stays for what is asked about its client.
  if (connection.stage == Stage::kFinished && done_answered_) return;
  if (!all_joined()) {
    tell(fmt::format("client {} at {} left before all had joined", connection.client, connection.peer));
    forget(connection);
    connections_.erase(found);
    return look_for_missing();
  }
  fail({ErrorKind::kConnection,
        fmt::format("client {} at {} was lost: its connection ended without FINI", connection.client, connection.peer)});
}

Result<std::vector<std::int32_t>> parse_preference(const std::string& text) {
  const Error bad{ErrorKind::kConfiguration,
                  fmt::format("-auth {}: a list of method numbers or ranges is needed, such as 1,0 or 3,1-0", text)};
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
