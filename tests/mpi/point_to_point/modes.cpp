// SPDX-License-Identifier: Apache-2.0
// Every send mode, blocking, nonblocking and persistent, among all pairs of ranks, of sizes around
// the limits of packets.
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::content;
using impishim_test::holds;

constexpr std::size_t kGuard = 16;
constexpr std::uint64_t kUntouched = 999;

struct Message {
  const void* data;
  int size;
  int to;
  int tag;
};

using Blocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using Starting = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

struct Mode {
  const char* name;
  bool ready;
  std::function<void(const Message&)> send;
};

Mode blocking(const char* name, Blocking call, bool ready = false) {
  return {name, ready, [call](const Message& message) {
            REQUIRE_EQUAL(
                call(message.data, message.size, MPI_BYTE, message.to, message.tag, MPI_COMM_WORLD),
                MPI_SUCCESS);
          }};
}

Mode nonblocking(const char* name, Starting call, bool ready = false) {
  return {name, ready, [call](const Message& message) {
            MPI_Request request = MPI_REQUEST_NULL;
            call(message.data, message.size, MPI_BYTE, message.to, message.tag, MPI_COMM_WORLD,
                 &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            REQUIRE(request == MPI_REQUEST_NULL);
          }};
}

Mode persistent(const char* name, Starting call, bool ready = false) {
  return {name, ready, [call](const Message& message) {
            MPI_Request request = MPI_REQUEST_NULL;
            call(message.data, message.size, MPI_BYTE, message.to, message.tag, MPI_COMM_WORLD,
                 &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            REQUIRE(request != MPI_REQUEST_NULL);
            MPI_Request_free(&request);
          }};
}

std::vector<Mode> all_modes() {
  return {blocking("Send", MPI_Send),
          blocking("Ssend", MPI_Ssend),
          blocking("Bsend", MPI_Bsend),
          blocking("Rsend", MPI_Rsend, true),
          nonblocking("Isend", MPI_Isend),
          nonblocking("Issend", MPI_Issend),
          nonblocking("Ibsend", MPI_Ibsend),
          nonblocking("Irsend", MPI_Irsend, true),
          persistent("Send_init", MPI_Send_init),
          persistent("Ssend_init", MPI_Ssend_init),
          persistent("Bsend_init", MPI_Bsend_init),
          persistent("Rsend_init", MPI_Rsend_init, true)};
}

/// Everybody sends `size` bytes to the rank that is `shift` above and receives from the one below.
void exchange(const Mode& mode, std::size_t size, int shift, int tag) {
  const int size_of_world = impishim_test::size_of(MPI_COMM_WORLD);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int to = (rank + shift) % size_of_world;
  const int from = (rank + size_of_world - shift) % size_of_world;
  const auto seed_of = [&](int sender) {
    return static_cast<std::uint64_t>(sender * 1000 + tag) + size;
  };

  std::vector<unsigned char> in = content(size + kGuard, kUntouched);
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), static_cast<int>(size + kGuard), MPI_BYTE, from, tag, MPI_COMM_WORLD,
            &receive);
  if (mode.ready) MPI_Barrier(MPI_COMM_WORLD);
  const std::vector<unsigned char> out = content(size, seed_of(rank));
  mode.send({out.data(), static_cast<int>(size), to, tag});
  MPI_Status status;
  MPI_Wait(&receive, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  REQUIRE_EQUAL(count, size);
  REQUIRE_EQUAL(status.MPI_SOURCE, from);
  REQUIRE_EQUAL(status.MPI_TAG, tag);
  REQUIRE(holds(in.data(), size, seed_of(from)));
  // Not a byte behind the message is touched.
  const std::vector<unsigned char> untouched = content(size + kGuard, kUntouched);
  for (std::size_t i = size; i < size + kGuard; ++i) REQUIRE_EQUAL(in[i], untouched[i]);
}

/// Room that a message has taken comes back when it is delivered, which the next rank says.
void buffer_is_used_again(std::size_t buffer_size) {
  constexpr int kSize = 1 << 20;
  const int size_of_world = impishim_test::size_of(MPI_COMM_WORLD);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int to = (rank + 1) % size_of_world;
  const int from = (rank + size_of_world - 1) % size_of_world;
  std::vector<unsigned char> in(kSize);
  for (std::size_t sent = 0; sent < buffer_size + 3 * kSize; sent += kSize) {
    const std::vector<unsigned char> out = content(kSize, static_cast<std::uint64_t>(rank) + sent);
    REQUIRE_EQUAL(MPI_Bsend(out.data(), kSize, MPI_BYTE, to, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Recv(in.data(), kSize, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(holds(in.data(), kSize, static_cast<std::uint64_t>(from) + sent));
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, from, 1, nullptr, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

#if MPI_VERSION >= 4
using BufferSize = MPI_Count;
constexpr auto attach_large = MPI_Buffer_attach_c;
constexpr auto detach_large = MPI_Buffer_detach_c;
#else
using BufferSize = int;
constexpr auto attach_large = MPI_Buffer_attach;
constexpr auto detach_large = MPI_Buffer_detach;
#endif

/// A buffer attached with a large count serves messages to other systems, too.
void buffer_of_large_count_is_used(std::vector<unsigned char>& buffer) {
  attach_large(buffer.data(), static_cast<BufferSize>(buffer.size()));
  buffer_is_used_again(0);
  void* detached = nullptr;
  BufferSize size = 0;
  detach_large(static_cast<void*>(&detached), &size);
  REQUIRE(detached == buffer.data());
  REQUIRE_EQUAL(size, buffer.size());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  constexpr std::array<std::size_t, 11> kSizes = {0,     1,      8,      1000,    65535,  65536,
                                                  65537, 131072, 131073, 1 << 20, 4 << 20};
  // Room for all messages of a mode: that a rank has received says nothing about what it has sent.
  std::vector<unsigned char> buffer((std::size_t{10} << 20));
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  buffer_is_used_again(buffer.size());
  int messages = 0;
  int tag = 0;
  for (const Mode& mode : all_modes()) {
    for (const std::size_t size : kSizes) {
      for (int shift = 1; shift < impishim_test::size_of(MPI_COMM_WORLD); ++shift) {
        // The largest message goes over every pair once a mode family; all modes have the same way
        // from the first packet on.
        if (size == kSizes.back() && shift != 1) continue;
        exchange(mode, size, shift, ++tag);
        ++messages;
      }
    }
    // Room in the attached buffer comes back when its messages are gone.
    void* detached = nullptr;
    int detached_size = 0;
    MPI_Buffer_detach(static_cast<void*>(&detached), &detached_size);
    REQUIRE(detached == buffer.data());
    REQUIRE_EQUAL(detached_size, buffer.size());
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  }
  void* detached = nullptr;
  int detached_size = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &detached_size);
  buffer_of_large_count_is_used(buffer);
  std::printf("rank %d: %d messages\n", impishim_test::rank_in(MPI_COMM_WORLD), messages);
  MPI_Finalize();
  return 0;
}
