// What TCP itself does with the bytes of impishim's messages: two processes and one connection over the loopback interface. A
// message is its payload and the headers of its IMPI packets, lies in one piece in memory and is sent by as few calls as the
// socket takes; the receiving side takes whatever is there. Both spin on sockets that do not block, as impishim's waiting calls
// do.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/bench/measure.h"
#include "tests/bench/settle.h"
#include "wire/base/descriptor.hpp"
#include "wire/protocol/packet.hpp"

namespace {

using impishim::Descriptor;
using impishim::wire::kPacketHeaderSize;

/// IMPI's usual C_DATALEN, and impishim's default: payload bytes per packet.
constexpr std::size_t kPacketPayload = 65536;

int connection = -1;
bool leads = false;

[[noreturn]] void fail(const char* call) {
  std::fprintf(stderr, "%s: %s\n", call, std::strerror(errno));
  std::_Exit(1);
}

std::size_t bytes_of(std::size_t size) { return size + kPacketHeaderSize * ((size + kPacketPayload - 1) / kPacketPayload); }

void send_all(const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(connection, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) fail("send");
    if (sent <= 0) continue;
    from += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void receive_all(char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t received = recv(connection, to, bytes, MSG_DONTWAIT);
    if (received == 0) errno = ECONNRESET;
    if (received == 0 || (received < 0 && errno != EAGAIN)) fail("recv");
    if (received < 0) continue;
    to += received;
    bytes -= static_cast<std::size_t>(received);
  }
}

void tell(long rounds) { send_all(reinterpret_cast<const char*>(&rounds), sizeof(rounds)); }

long hear() {
  long rounds = 0;
  receive_all(reinterpret_cast<char*>(&rounds), sizeof(rounds));
  return rounds;
}

void ping_pong(char* out, char* in, std::size_t bytes, long rounds) {
  for (long i = 0; i < rounds; ++i) {
    if (leads) send_all(out, bytes);
    receive_all(in, bytes);
    if (!leads) send_all(in, bytes);
  }
}

void stream(char* memory, std::size_t bytes, int window, long rounds) {
  char answer[kPacketHeaderSize + 8] = {};
  for (long i = 0; i < rounds; ++i) {
    if (leads) {
      for (int slot = 0; slot < window; ++slot) send_all(memory + static_cast<std::size_t>(slot) * bytes, bytes);
      receive_all(answer, sizeof(answer));
    } else {
      receive_all(memory, static_cast<std::size_t>(window) * bytes);
      send_all(answer, sizeof(answer));
    }
  }
}

int take_part(Descriptor socket, bool leader, int argc, char** argv) {
  const int on = 1;
  if (setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) fail("setsockopt");
  settle(leader ? 0 : 1);
  connection = socket.get();
  leads = leader;
  const contestant self = {leader ? 1 : 0, bytes_of, tell, hear, ping_pong, stream};
  return measure(&self, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), name, length) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), name, &length) != 0) {
    fail("listen");
  }
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    Descriptor own(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(own.get(), name, length) != 0) fail("connect");
    std::_Exit(take_part(std::move(own), false, argc, argv));
  }
  Descriptor accepted(accept(listener.get(), nullptr, nullptr));
  if (accepted.get() < 0) fail("accept");
  const int own_status = take_part(std::move(accepted), true, argc, argv);
  int child_status = 0;
  if (waitpid(child, &child_status, 0) != child) fail("waitpid");
  return own_status != 0 || child_status != 0 ? 1 : 0;
}
