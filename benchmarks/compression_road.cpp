// SPDX-License-Identifier: Apache-2.0
// How long captured bytes are on their way over TCP, compressed by the thread that sends them:
// bench_compression_road WAY receive PORT, and bench_compression_road WAY send ADDRESS PORT
// FILE..., with the files of bench_compression. The ways are plain, zstd (level 1, a stream) and
// lz4 (blocks). The sender prints bytes and seconds, from its first piece of 64 KiB until the
// receiver has all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "benchmarks/compression.hpp"
#include "wire/base/descriptor.hpp"

namespace {

using impishim::Descriptor;

/// Precedes each piece: its size on the road, and as it was.
using PieceHeader = std::array<std::uint32_t, 2>;

/// Leaves a piece as it is.
class Plain : public Codec {
 public:
  std::size_t compress(Bytes in, std::span<char> out) override {
    std::ranges::copy(in, out.begin());
    return in.size();
  }
  void decompress(Bytes in, std::span<char> out) override { std::ranges::copy(in, out.begin()); }
};

std::unique_ptr<Codec> make_codec(std::string_view way) {
  if (way == "plain") return std::make_unique<Plain>();
  if (way == "zstd") return std::make_unique<ZstdStream>(1);
  if (way == "lz4") return std::make_unique<Lz4Blocks>();
  fail("the ways are plain, zstd and lz4");
}

void send_all(const Descriptor& socket, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("cannot send");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

/// Returns false if the sender has closed the connection before the first byte.
bool receive_all(const Descriptor& socket, std::span<char> bytes) {
  const std::size_t size = bytes.size();
  while (!bytes.empty()) {
    const ssize_t received = recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (received == 0 && bytes.size() == size) return false;
    if (received <= 0) fail("cannot receive");
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
  return true;
}

sockaddr_in address_of(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("this is no IPv4 address");
  return address;
}

void receive_pieces(Codec& codec, const char* port) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  // The connection before this one may have ended a moment ago.
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = address_of("0.0.0.0", port);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener.get(), 1) != 0)
    fail("cannot listen");
  std::puts("ready");
  std::fflush(stdout);
  const Descriptor connection(accept(listener.get(), nullptr, nullptr));
  std::vector<char> packed(codec.bound(kBlock));
  std::vector<char> piece(kBlock);
  PieceHeader header{};
  while (receive_all(connection, {reinterpret_cast<char*>(header.data()), sizeof(header)})) {
    if (header[0] > packed.size() || header[1] > piece.size()) fail("too long a piece");
    const std::span<char> in(packed.data(), header[0]);
    if (!receive_all(connection, in)) fail("a piece is missing");
    codec.decompress(in, {piece.data(), header[1]});
  }
  send_all(connection, Bytes("!", 1));
}

void send_pieces(Codec& codec, const char* host, const char* port, std::span<char*> files) {
  std::vector<char> all;
  for (const char* file : files) {
    const Stream stream = read_stream(file);
    all.insert(all.end(), stream.bytes.begin(), stream.bytes.end());
  }
  const Descriptor connection(socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = address_of(host, port);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    fail("cannot connect");
  const int on = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  std::vector<char> packed(sizeof(PieceHeader) + codec.bound(kBlock));
  const auto began = std::chrono::steady_clock::now();
  for (Bytes rest(all); !rest.empty();) {
    const Bytes piece = rest.subspan(0, std::min(kBlock, rest.size()));
    rest = rest.subspan(piece.size());
    const std::span<char> out = std::span(packed).subspan(sizeof(PieceHeader));
    const std::size_t size = codec.compress(piece, out);
    const PieceHeader header = {static_cast<std::uint32_t>(size),
                                static_cast<std::uint32_t>(piece.size())};
    std::memcpy(packed.data(), header.data(), sizeof(header));
    send_all(connection, Bytes(packed).subspan(0, sizeof(header) + size));
  }
  shutdown(connection.get(), SHUT_WR);
  char answer = 0;
  if (!receive_all(connection, {&answer, 1})) fail("no answer");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%zu %.6f\n", all.size(), took.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("usage: WAY receive PORT, or WAY send ADDRESS PORT FILE...");
  const std::unique_ptr<Codec> codec = make_codec(argv[1]);
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  if (std::string_view(words[2]) == "receive")
    receive_pieces(*codec, words[3]);
  else if (argc > 5)
    send_pieces(*codec, words[3], words[4], words.subspan(5));
  else
    fail("no files");
}
