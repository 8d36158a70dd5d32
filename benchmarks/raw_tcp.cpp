// SPDX-License-Identifier: Apache-2.0
// What TCP itself does with the bytes of impishim's messages: two processes and one connection over
// the loopback interface.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "benchmarks/measure.h"
#include "benchmarks/raw_stream.h"
#include "benchmarks/settle.h"
#include "wire/base/descriptor.hpp"
#include "wire/packet/packet.hpp"

namespace {

using impishim::Descriptor;

static_assert(kRawHeader == impishim::wire::kPacketHeaderSize);

int connection = -1;
bool leads = false;

void tell(long rounds) {
  raw_send_all(connection, reinterpret_cast<const char*>(&rounds), sizeof(rounds));
}

long hear() {
  long rounds = 0;
  raw_receive_all(connection, reinterpret_cast<char*>(&rounds), sizeof(rounds));
  return rounds;
}

void ping_pong(char* out, char* in, std::size_t bytes, long rounds) {
  raw_ping_pong(connection, leads ? 1 : 0, out, in, bytes, rounds);
}

void stream(char* memory, std::size_t bytes, int window, long rounds) {
  char answer[kRawHeader + 8] = {};
  for (long i = 0; i < rounds; ++i) {
    if (leads) {
      for (int slot = 0; slot < window; ++slot)
        raw_send_all(connection, memory + static_cast<std::size_t>(slot) * bytes, bytes);
      raw_receive_all(connection, answer, sizeof(answer));
    } else {
      raw_receive_all(connection, memory, static_cast<std::size_t>(window) * bytes);
      raw_send_all(connection, answer, sizeof(answer));
    }
  }
}

int take_part(const Descriptor& socket, bool leader, int argc, char** argv) {
  raw_prepare(socket.get());
  settle(leader ? 0 : 1);
  connection = socket.get();
  leads = leader;
  const contestant self = {leader ? 1 : 0, raw_bytes_of, tell, hear, ping_pong, stream};
  return measure(&self, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  sockaddr_in address{};
  const Descriptor listener(raw_listen(&address));
  const pid_t child = fork();
  if (child < 0) raw_fail("fork");
  if (child == 0) {
    const Descriptor own(raw_connect(&address));
    std::_Exit(take_part(own, false, argc, argv));
  }
  const Descriptor accepted(accept(listener.get(), nullptr, nullptr));
  const int own_status = take_part(accepted, true, argc, argv);
  int child_status = 0;
  if (waitpid(child, &child_status, 0) != child) raw_fail("waitpid");
  return own_status != 0 || child_status != 0 ? 1 : 0;
}
