// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/startup_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/keepalive.hpp"
#include "wire/packet/packet.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/job_secret.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/server_stream.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"

namespace impishim::wire {
namespace {

/// A packet is buffered as a whole if no receive matches it.
constexpr std::int64_t kMaxDataLen = 16LL << 20;
constexpr std::int64_t kMaxMark = 1 << 20;

Error server_error(const std::string& what) {
  return Error{ErrorKind::kConnection, fmt::format("rendezvous server: {}", what)};
}

}  // namespace

Result<ClientValues> ClientValues::from_environment() {
  ClientValues values;
  for (const auto& checked :
       {read_variable("IMPISHIM_DATALEN", 1, kMaxDataLen, values.datalen),
        read_variable("IMPISHIM_ACKMARK", 1, kMaxMark, values.ackmark),
        read_variable("IMPISHIM_HIWATER", 1, kMaxMark, values.hiwater),
        read_variable("IMPISHIM_COLL_XSIZE", -1, INT32_MAX, values.coll_xsize),
        read_variable("IMPISHIM_COLL_MAXLINEAR", -1, INT32_MAX, values.coll_maxlinear),
        read_variable("IMPISHIM_TAG_UB", 32767, INT32_MAX, values.tag_ub)}) {
    if (!checked) return checked.error();
  }
  if (values.ackmark > values.hiwater) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("IMPISHIM_ACKMARK ({}) must not be above IMPISHIM_HIWATER ({})",
                             values.ackmark, values.hiwater)};
  }
  return values;
}

namespace {

/// Offers the methods. Returns the key if the server chose it.
Result<std::optional<std::uint64_t>> choose_method(ServerStream& stream,
                                                   const AuthenticationMethods& methods) {
  const std::uint32_t mask =
      (methods.none ? 1U << kAuthNone : 0U) | (methods.key ? 1U << kAuthKey : 0U);
  ByteWriter payload;
  payload.put(mask);
  auto sent = stream.send(encode_startup(StartupCommand::kAuth, payload.bytes()));
  if (!sent) return sent.error();
  auto which = stream.method();
  if (!which) return which.error();
  if (*which == kAuthNone && methods.none) return std::optional<std::uint64_t>();
  if (*which != kAuthKey || !methods.key) {
    return Error{
        ErrorKind::kAuthentication,
        fmt::format("the rendezvous server chose authentication method {}, which was not offered",
                    *which)};
  }
  return std::optional(methods.key_value);
}

/// Announces this end to the server, and says what it is by `command`, which replaces IMPI.
Result<void> announce(ServerStream& stream, const AuthenticationMethods& methods,
                      std::span<const std::byte> command) {
  auto key = choose_method(stream, methods);
  if (!key) return key.error();
  ByteWriter all;
  if (*key) all.put(**key);
  all.put_bytes(encode_startup(StartupCommand::kHello, {}));
  all.put_bytes(command);
  return stream.send(all.bytes());
}

/// Blocks for a random time that grows with the number of attempts. Clients that were turned away
/// together so come back at different times.
void pause_before(int attempt) {
  constexpr int kShortestMs = 50;
  constexpr int kLongestMs = 2000;
  std::random_device random;
  constexpr int kMostDoublings = 6;
  const int most = std::min(kLongestMs, kShortestMs << std::min(attempt, kMostDoublings));
  std::this_thread::sleep_for(std::chrono::milliseconds(
      most / 2 + static_cast<int>(random() % static_cast<unsigned>(most))));
}

/// Receives the answers to labels until DONE.
Result<std::map<std::uint32_t, LabelData>> receive_labels(ServerStream& stream) {
  std::map<std::uint32_t, LabelData> labels;
  for (;;) {
    auto message = stream.message();
    if (!message) return message.error();
    if (message->command == static_cast<std::uint32_t>(StartupCommand::kDone)) return labels;
    if (message->command != static_cast<std::uint32_t>(StartupCommand::kColl)) continue;
    auto answer = parse_coll_answer(message->payload);
    if (!answer) return answer.error();
    labels[answer->label] = {answer->client_mask, {answer->data.begin(), answer->data.end()}};
  }
}

}  // namespace

Result<Descriptor> connect_to_server(const std::string& server, int timeout_ms) {
  auto parts = split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = parse_address(parts->first);
  if (!host) return host.error();
  const SocketAddress there = SocketAddress::of(*host, parts->second);
  Descriptor connection(socket(there.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = ::connect(connection.get(), there.get(), there.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd ready{connection.get(), POLLOUT, 0};
    int count = 0;
    do {
      count = poll(&ready, 1, timeout_ms);
    } while (count < 0 && errno == EINTR);
    error = count == 1 ? 0 : ETIMEDOUT;
    socklen_t size = sizeof(error);
    if (error == 0) getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    return Error{
        ErrorKind::kConnection,
        fmt::format(
            "cannot reach the rendezvous server at {}: {}; is impirun -server running there?",
            server, std::strerror(error))};
  }
  set_keepalive(connection.get());
  send_at_once(connection.get());
  return connection;
}

Result<std::unique_ptr<ServerStream>> address_server(const std::string& server,
                                                     const AuthenticationMethods& methods,
                                                     std::span<const std::byte> command,
                                                     int timeout_ms,
                                                     const ServerPatience& patience) {
  auto socket = connect_to_server(server, timeout_ms);
  if (!socket) return socket.error();
  auto stream = std::make_unique<ServerStream>(std::move(*socket), server, patience);
  if (methods.shared.encrypts()) {
    auto encrypted = stream->encrypt(methods.shared, timeout_ms);
    if (!encrypted) return encrypted.error();
  }
  auto announced = announce(*stream, methods, command);
  if (!announced) return announced.error();
  return stream;
}

Result<bool> report_ended(const std::string& server, const EndedLaunch& launch,
                          const AuthenticationMethods& methods, std::chrono::milliseconds timeout) {
  using std::chrono::milliseconds;
  const auto begin = std::chrono::steady_clock::now();
  auto socket = connect_to_server(server, static_cast<int>(timeout.count()));
  if (!socket) return socket.error();
  ServerPatience patience;
  const auto used = std::chrono::floor<milliseconds>(std::chrono::steady_clock::now() - begin);
  patience.all = std::max(timeout - used, milliseconds(0));
  ServerStream stream(std::move(*socket), server, patience);
  if (methods.shared.encrypts()) {
    auto encrypted = stream.encrypt(methods.shared, static_cast<int>(timeout.count()));
    if (!encrypted) return encrypted.error();
  }
  auto sent = announce(stream, methods, encode_ended(launch));
  if (!sent) return sent.error();
  auto answer = stream.await(StartupCommand::kEnded);
  if (!answer) return answer.error();
  const auto never_joined = parse_ended_answer(answer->payload);
  if (!never_joined || !stream.ours()) return server_error("it answered what cannot be read");
  return *never_joined;
}

Result<ServerConnection> ServerConnection::connect(const std::string& server, std::int32_t client,
                                                   const AuthenticationMethods& methods,
                                                   int timeout_ms, ServerPatience patience) {
  constexpr int kAttempts = 8;
  Error turned_away{ErrorKind::kConnection, {}};
  for (int attempt = 0;; ++attempt) {
    auto socket = connect_to_server(server, timeout_ms);
    // A server that closed the connection and is now unreachable has ended.
    if (!socket) return attempt == 0 ? socket.error() : turned_away;
    ServerConnection connection;
    connection.stream_ = std::make_unique<ServerStream>(std::move(*socket), server, patience);
    if (methods.shared.encrypts()) {
      auto encrypted = connection.stream_->encrypt(methods.shared, timeout_ms);
      if (!encrypted) return encrypted.error();
    }
    connection.may_be_clear_ = methods.shared.is_off;
    connection.server_ = server;
    connection.client_ = client;
    auto joined = connection.join(client, methods);
    if (joined) return connection;
    const bool again = connection.stream_->ended_without_reason() && !connection.stream_->ours();
    if (!again || attempt + 1 == kAttempts) return joined.error();
    turned_away = joined.error();
    pause_before(attempt);
  }
}

Result<void> ServerConnection::join(std::int32_t client, const AuthenticationMethods& methods) {
  auto key = choose_method(*stream_, methods);
  if (!key) return key.error();
  ByteWriter rank;
  rank.put(client);
  ByteWriter all;
  if (*key) all.put(**key);
  all.put_bytes(encode_startup(StartupCommand::kHello, {}));
  all.put_bytes(encode_startup(StartupCommand::kImpi, rank.bytes()));
  stream_->begin(ServerStream::Phase::kJoining);
  auto sent = stream_->send(all.bytes());
  if (!sent) return sent;
  auto size = stream_->await(StartupCommand::kImpi);
  if (!size) {
    if (!*key || stream_->ours() || !stream_->ended_without_reason()) return size.error();
    return Error{size.error().kind,
                 size.error().text + " when it had the key: has it the same IMPI_AUTH_KEY?"};
  }
  ByteReader payload(size->payload);
  const auto count = payload.get<std::int32_t>();
  if (!count || *count < 1 || *count > static_cast<std::int32_t>(kMaxClients) || client >= *count) {
    return server_error("it announced an impossible number of systems");
  }
  client_count_ = *count;
  return {};
}

namespace {

std::vector<std::byte> encode_size(const SystemSize& size) {
  ByteWriter out;
  out.put(size.procs);
  out.put(size.host_procs);
  out.put(size.max_channels);
  out.put(size.lanes);
  out.put(size.reconnect);
  out.put(size.streams);
  out.put(std::uint32_t{size.encrypted ? 1U : 0U});
  out.put(std::uint32_t{size.compressed ? 1U : 0U});
  out.put(std::uint32_t{size.has_gateways ? 1U : 0U});
  return out.take();
}

/// Decodes the sizes of the clients in the mask.
Result<std::vector<SystemSize>> decode_sizes(const CollectedLabel& answer, std::int32_t clients) {
  std::vector<SystemSize> sizes;
  ByteReader reader(answer.data);
  for (std::int32_t client = 0; client < clients; ++client) {
    if ((answer.client_mask >> static_cast<unsigned>(client) & 1U) == 0) continue;
    const auto procs = reader.get<std::int32_t>();
    const auto host_procs = reader.get<std::int32_t>();
    const auto max_channels = reader.get<std::int32_t>();
    const auto lanes = reader.get<std::int32_t>();
    const auto reconnect = reader.get<std::int32_t>();
    const auto streams = reader.get<std::int32_t>();
    const auto encrypted = reader.get<std::uint32_t>();
    const auto compressed = reader.get<std::uint32_t>();
    const auto gateways = reader.get<std::uint32_t>();
    if (!gateways || *procs < 1 || *host_procs < kHostProcsAuto || *max_channels < 1 ||
        *lanes < 1 || *reconnect < kReconnectAuto || *reconnect > kMostReconnect ||
        *streams < kStreamsAuto || *streams > kMostStreams || *encrypted > 1 || *compressed > 1)
      return server_error(fmt::format("system {} has announced an impossible size", client));
    sizes.push_back({client, *procs, *host_procs, *max_channels, *lanes, *reconnect, *streams,
                     *encrypted != 0, *compressed != 0, *gateways != 0});
  }
  if (reader.remaining() != 0) return server_error("it passed on more sizes than systems");
  return sizes;
}

}  // namespace

Result<std::vector<SystemSize>> ServerConnection::exchange_sizes(const SystemSize& own) {
  constexpr auto kLabel = static_cast<std::uint32_t>(StartupLabel::kSystemSize);
  if (!stream_->ours()) return std::vector<SystemSize>();
  auto answer = exchange_label(kLabel, encode_size(own));
  if (!answer) return answer.error();
  return decode_sizes(*answer, client_count_);
}

Result<CollectedLabel> ServerConnection::exchange_label(std::uint32_t label,
                                                        std::span<const std::byte> data) {
  constexpr auto kCheck = static_cast<std::uint32_t>(StartupLabel::kCheckReport);
  if (!stream_->ours()) return server_error("it is no impirun, and takes only labels of IMPI");
  stream_->begin(ServerStream::Phase::kLabels);
  auto sent = stream_->send(encode_coll(label, data));
  if (!sent) return sent.error();
  auto message = stream_->await(StartupCommand::kColl);
  if (!message) return message.error();
  auto answer = parse_coll_answer(message->payload);
  if (!answer) return answer.error();
  if (answer->label != label && answer->label == kCheck)
    return server_error(
        "another system is checked (impirun -check), and this one has begun a job: check all "
        "systems first, then start all of them");
  if (answer->label != label)
    return server_error(fmt::format("it answered label 0x{:x} first", answer->label));
  return CollectedLabel{
      answer->label, answer->client_mask, {answer->data.begin(), answer->data.end()}};
}

namespace {

/// Checks that what the systems send to each other stays on one machine, or that a foreign system,
/// which cannot encrypt, is among them. Then a warning must do.
Result<void> check_clear(const JobMap& map) {
  const Host& first = map.host(0);
  const auto other = std::ranges::find_if(
      map.hosts(), [&](const Host& each) { return !on_one_machine(each, first); });
  if (map.clients().size() == 1 || other == map.hosts().end()) return {};
  const std::string danger = fmt::format(
      "the systems are on several machines (such as {} and {}), and what they send to each other "
      "would cross the network in clear",
      address_text(first.address), address_text(other->address));
  if (!std::ranges::all_of(map.clients(), &Client::impishim)) {
    log_line(LogArea::kStartup, LogLevel::kWarn,
             danger + ", because a foreign system cannot encrypt");
    return {};
  }
  return Error{ErrorKind::kConfiguration,
               danger +
                   ": give all systems and the server one secret (IMPISHIM_SECRET_FILE, "
                   "impirun -new-secret) or certificates (IMPISHIM_CERTIFICATE), or, on a trusted "
                   "network, set IMPISHIM_TLS=off in all"};
}

}  // namespace

Result<Agreement> ServerConnection::exchange(const JoinOptions& options) {
  stream_->begin(ServerStream::Phase::kLabels);
  ByteWriter all;
  for (const auto& [label, data] : contributions(options)) {
    if (is_standard(label) || stream_->ours()) all.put_bytes(encode_coll(label, data));
  }
  if (stream_->ours()) {
    auto own = JobSecret::random();
    if (!own) return own.error();
    all.put_bytes(encode_coll(static_cast<std::uint32_t>(StartupLabel::kSecret), own->bytes()));
  } else {
    log(LogArea::kStartup, LogLevel::kWarn,
        "the rendezvous server is no impirun of this version: all systems are foreign to each "
        "other, and talk plain IMPI");
  }
  all.put_bytes(encode_startup(StartupCommand::kDone, {}));
  auto sent = stream_->send(all.bytes());
  if (!sent) return sent.error();
  auto labels = receive_labels(*stream_);
  if (!labels) return labels.error();
  auto map = negotiate(client_count_, *labels);
  if (!map) return map.error();
  if (!encrypted() && !may_be_clear_) {
    auto may_be_clear = check_clear(*map);
    if (!may_be_clear) return may_be_clear.error();
  }
  Agreement agreement{std::move(*map), std::nullopt};
  if (!stream_->ours()) return agreement;
  const auto contributed = labels->find(static_cast<std::uint32_t>(StartupLabel::kSecret));
  auto secret = combine_secret(contributed == labels->end() ? nullptr : &contributed->second,
                               agreement.map.clients());
  if (contributed != labels->end()) wipe(contributed->second.data);
  if (!secret) return secret.error();
  agreement.secret = std::move(*secret);
  return agreement;
}

Result<void> ServerConnection::tell_going_on(bool goes_on) {
  if (!stream_->ours()) return {};
  ByteWriter payload;
  payload.put(std::uint32_t{goes_on ? 1U : 0U});
  return stream_->send(encode_startup(StartupCommand::kGoesOn, payload.bytes()));
}

Result<void> ServerConnection::say_fini() {
  stream_->begin(ServerStream::Phase::kLeaving);
  // An end that comes later confirms FINI.
  auto open = stream_->check_open();
  if (!open) return open;
  auto sent = stream_->send(encode_startup(StartupCommand::kFini, {}));
  if (!sent) return sent;
  stream_->shutdown_output();
  return stream_->ours() ? stream_->await_end() : Result<void>();
}

/// Connects again as the same client. The credentials are read again, so that they need not stay in
/// memory.
Result<void> ServerConnection::return_to_server() {
  auto methods = AuthenticationMethods::from_environment();
  if (!methods) return methods.error();
  ServerPatience patience;
  patience.answer = patience.leaving;
  ByteWriter client;
  client.put(client_);
  auto stream =
      address_server(server_, *methods, encode_startup(StartupCommand::kReturn, client.bytes()),
                     static_cast<int>(patience.leaving.count()), patience);
  if (!stream) return stream.error();
  stream_ = std::move(*stream);
  auto finished = say_fini();
  if (!finished) return finished;
  return stream_->ours() ? Result<void>() : server_error("it does not take back its systems");
}

Result<void> ServerConnection::finish(std::chrono::seconds may_return) {
  const bool ours = stream_->ours();
  auto finished = say_fini();
  const auto end = std::chrono::steady_clock::now() + may_return;
  for (int attempt = 0; !finished && ours && std::chrono::steady_clock::now() < end; ++attempt) {
    // A port that is closed says that the server has ended.
    if (finished.error().text.find(std::strerror(ECONNREFUSED)) != std::string::npos) break;
    if (attempt > 0) pause_before(attempt);
    finished = return_to_server();
  }
  stream_.reset();
  return finished;
}

Result<HostId> ServerConnection::local_address() const {
  SocketAddress here;
  if (getsockname(stream_->socket(), here.get(), &here.size) != 0)
    return server_error(std::strerror(errno));
  return here.host();
}

}  // namespace impishim::wire
