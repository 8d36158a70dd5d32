#include "wire/protocol/startup_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "wire/base/bytes.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/address.hpp"
#include "wire/protocol/negotiation.hpp"
#include "wire/protocol/startup_message.hpp"

namespace impishim::wire {
namespace {

constexpr std::int64_t kMaxDataLen = 16LL << 20;  // a packet is buffered whole where nothing awaits it
constexpr std::int64_t kMaxMark = 1 << 20;

Error server_error(const std::string& what) {
  return Error{ErrorKind::kConnection, fmt::format("rendezvous server: {}", what)};
}

Result<void> send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return server_error(std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

}  // namespace

Result<ClientValues> ClientValues::from_environment() {
  ClientValues values;
  for (const auto& checked : {read_variable("IMPISHIM_DATALEN", 1, kMaxDataLen, values.datalen),
                              read_variable("IMPISHIM_ACKMARK", 1, kMaxMark, values.ackmark),
                              read_variable("IMPISHIM_HIWATER", 1, kMaxMark, values.hiwater),
                              read_variable("IMPISHIM_COLL_XSIZE", -1, INT32_MAX, values.coll_xsize),
                              read_variable("IMPISHIM_COLL_MAXLINEAR", -1, INT32_MAX, values.coll_maxlinear),
                              read_variable("IMPISHIM_TAG_UB", 32767, INT32_MAX, values.tag_ub)}) {
    if (!checked) return checked.error();
  }
  if (values.ackmark > values.hiwater) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("IMPISHIM_ACKMARK ({}) must not be above IMPISHIM_HIWATER ({})", values.ackmark, values.hiwater)};
  }
  return values;
}

namespace {

/// Reads framed messages from the server's socket.
class ServerReader {
 public:
  ServerReader(int socket, StartupDecoder& decoder) : socket_(socket), decoder_(decoder) {}

  Result<StartupMessage> message() {
    for (;;) {
      auto next = decoder_.next();
      if (!next) return next.error();
      if (next->has_value()) {
        StartupMessage got = std::move(**next);
        if (got.command != static_cast<std::uint32_t>(StartupCommand::kSaid)) return got;
        said_.assign(reinterpret_cast<const char*>(got.payload.data()), got.payload.size());
        continue;
      }
      auto more = read_more();
      if (!more) return more.error();
    }
  }

  /// Skips what this side does not know, until `command`.
  Result<StartupMessage> await(StartupCommand command) {
    for (;;) {
      auto got = message();
      if (!got || got->command == static_cast<std::uint32_t>(command)) return got;
    }
  }

  /// The server's choice of method: which:Int4, len:Int4 and len bytes, unframed; or our SAID, which is framed.
  Result<std::int32_t> method() {
    for (;;) {
      if (decoder_.buffered() >= 8) {
        const auto head = *decoder_.next_raw(8);
        const auto which = load_big_endian<std::int32_t>(head.data());
        const auto length = load_big_endian<std::uint32_t>(head.data() + 4);
        if (length > kMaxStartupPayload) return server_error("it does not speak IMPI");
        std::optional<std::vector<std::byte>> rest;
        while (!(rest = decoder_.next_raw(length))) {
          auto more = read_more();
          if (!more) return more.error();
        }
        if (static_cast<std::uint32_t>(which) == static_cast<std::uint32_t>(StartupCommand::kSaid)) {
          said_.assign(reinterpret_cast<const char*>(rest->data()), rest->size());
          continue;
        }
        return which;
      }
      auto more = read_more();
      if (!more) return more.error();
    }
  }

 private:
  Result<void> read_more() {
    std::array<std::byte, 65536> bytes;
    ssize_t size = 0;
    do {
      size = recv(socket_, bytes.data(), bytes.size(), 0);
    } while (size < 0 && errno == EINTR);
    if (size <= 0) {
      if (!said_.empty()) return server_error(said_);
      return server_error(size == 0 || errno == ECONNRESET ? "it disconnected" : std::strerror(errno));
    }
    decoder_.feed(std::span(bytes).first(static_cast<std::size_t>(size)));
    return {};
  }

  int socket_;
  StartupDecoder& decoder_;
  std::string said_;
};

/// Sends a command. A server that has closed has said why before.
Result<void> send_command(int socket, StartupDecoder& decoder, std::span<const std::byte> bytes) {
  auto sent = send_all(socket, bytes);
  if (sent) return sent;
  ServerReader reader(socket, decoder);
  for (;;) {
    auto last_words = reader.message();
    if (!last_words) return last_words.error();
  }
}

Result<void> authenticate(int socket, ServerReader& reader, const AuthenticationMethods& methods) {
  const std::uint32_t mask = (methods.none ? 1U << kAuthNone : 0U) | (methods.key ? 1U << kAuthKey : 0U);
  ByteWriter payload;
  payload.put(mask);
  auto sent = send_all(socket, encode_startup(StartupCommand::kAuth, payload.bytes()));
  if (!sent) return sent;
  auto which = reader.method();
  if (!which) return which.error();
  if (*which == kAuthNone && methods.none) return {};
  if (*which != kAuthKey || !methods.key) {
    return Error{ErrorKind::kAuthentication,
                 fmt::format("the rendezvous server chose authentication method {}, which was not offered", *which)};
  }
  ByteWriter key;
  key.put(methods.key_value);
  return send_all(socket, key.bytes());
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
    error = poll(&ready, 1, timeout_ms) == 1 ? 0 : ETIMEDOUT;
    socklen_t size = sizeof(error);
    if (error == 0) getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    return Error{ErrorKind::kConnection,
                 fmt::format("cannot reach the rendezvous server at {}: {}; is impirun -server running there?", server,
                             std::strerror(error))};
  }
  const int flags = fcntl(connection.get(), F_GETFL);
  fcntl(connection.get(), F_SETFL, flags & ~O_NONBLOCK);
  return connection;
}

Result<ServerConnection> ServerConnection::connect(const std::string& server, std::int32_t client,
                                                   const AuthenticationMethods& methods, int timeout_ms) {
  ServerConnection connection;
  connection.decoder_ = std::make_unique<StartupDecoder>();
  auto socket = connect_to_server(server, timeout_ms);
  if (!socket) return socket.error();
  connection.socket_ = std::move(*socket);
  ServerReader reader(connection.socket_.get(), *connection.decoder_);
  auto known = authenticate(connection.socket_.get(), reader, methods);
  if (!known) return known.error();
  ByteWriter rank;
  rank.put(client);
  auto sent = send_command(connection.socket_.get(), *connection.decoder_, encode_startup(StartupCommand::kImpi, rank.bytes()));
  if (!sent) return sent.error();
  auto size = reader.await(StartupCommand::kImpi);
  if (!size) return size.error();
  ByteReader payload(size->payload);
  const auto count = payload.get<std::int32_t>();
  if (!count || *count < 1 || *count > static_cast<std::int32_t>(kMaxClients) || client >= *count) {
    return server_error("it announced an impossible number of clients");
  }
  connection.client_count_ = *count;
  return connection;
}

Result<JobMap> ServerConnection::exchange(const JoinOptions& options) {
  for (const auto& [label, data] : contributions(options)) {
    auto sent = send_command(socket_.get(), *decoder_, encode_coll(label, data));
    if (!sent) return sent.error();
  }
  auto sent = send_command(socket_.get(), *decoder_, encode_startup(StartupCommand::kDone, {}));
  if (!sent) return sent.error();
  ServerReader reader(socket_.get(), *decoder_);
  std::map<std::uint32_t, LabelData> labels;
  for (;;) {
    auto message = reader.message();
    if (!message) return message.error();
    if (message->command == static_cast<std::uint32_t>(StartupCommand::kDone)) break;
    if (message->command != static_cast<std::uint32_t>(StartupCommand::kColl)) continue;
    auto answer = parse_coll_answer(message->payload);
    if (!answer) return answer.error();
    labels[answer->label] = {answer->client_mask, {answer->data.begin(), answer->data.end()}};
  }
  return negotiate(client_count_, labels);
}

Result<void> ServerConnection::finish() {
  auto sent = send_all(socket_.get(), encode_startup(StartupCommand::kFini, {}));
  if (!sent) return sent;
  shutdown(socket_.get(), SHUT_WR);
  socket_.reset();
  return {};
}

Result<HostId> ServerConnection::local_address() const {
  SocketAddress here;
  if (getsockname(socket_.get(), here.get(), &here.size) != 0) return server_error(std::strerror(errno));
  return here.host();
}

}  // namespace impishim::wire
