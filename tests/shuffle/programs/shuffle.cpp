// The shuffle through its C API: everybody sends to everybody, itself included; all arrives once, whole and in order, also
// where receivers are slow, while processes compute, and with two shuffles at once.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "impishim/shuffle.h"
#include "tests/system/check.hpp"
#include "tests/system/content.hpp"

namespace {

using impishim_test::fill;
using impishim_test::holds;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr unsigned kMessages = 400;
constexpr std::size_t kLong = 200000;

/// What the delivery thread has seen. Failures are told by the program's own thread: the callback must not call MPI.
struct Inbox {
  int rank = 0;
  std::vector<unsigned> next;  ///< by source: the type that comes next
  std::atomic<unsigned long> messages{0};
  std::atomic<unsigned long> wrong{0};
  double pause_s = 0;  ///< computed in each callback
};

std::size_t size_for(unsigned type) { return type % 100 == 99 ? kLong : type % 7 * 20; }
std::uint64_t seed_for(int source, int destination, unsigned type) {
  return (static_cast<std::uint64_t>(source) * 100 + static_cast<std::uint64_t>(destination)) * 100000 + type;
}

double now() { return MPI_Wtime(); }

void compute(double seconds) {
  for (const double end = now() + seconds; now() < end;) {
  }
}

void deliver(int source, int destination, unsigned type, const void* data, std::size_t bytes, void* context) {
  Inbox& inbox = *static_cast<Inbox*>(context);
  const bool right = destination == inbox.rank && type == inbox.next[static_cast<std::size_t>(source)]++ &&
                     bytes == size_for(type) &&
                     (bytes == 0 || holds(static_cast<const unsigned char*>(data), bytes, seed_for(source, destination, type)));
  if (!right) inbox.wrong.fetch_add(1);
  if (inbox.pause_s > 0) {
    timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (timespec at = begun;
         static_cast<double>(at.tv_sec - begun.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec - begun.tv_nsec) <
         inbox.pause_s;) {
      clock_gettime(CLOCK_MONOTONIC, &at);
    }
  }
  inbox.messages.fetch_add(1);
}

void send(impishim_shuffle* shuffle, int rank, int to, unsigned type) {
  std::vector<unsigned char> data(size_for(type));
  fill(data.data(), data.size(), seed_for(rank, to, type));
  REQUIRE_EQUAL(impishim_shuffle_enqueue(shuffle, to, type, data.data(), data.size()), MPI_SUCCESS);
}

void expect_all(const Inbox& inbox, unsigned messages) {
  REQUIRE_EQUAL(inbox.wrong.load(), 0);
  REQUIRE_EQUAL(inbox.messages.load(), messages * inbox.next.size());
  for (const unsigned next : inbox.next) REQUIRE_EQUAL(next, messages);
}

void prepare(Inbox& inbox, int rank, int size) {
  inbox.rank = rank;
  inbox.next.assign(static_cast<std::size_t>(size), 0);
}

void all_to_all(int rank, int size, bool slow) {
  Inbox inbox;
  prepare(inbox, rank, size);
  if (slow && rank == size - 1) inbox.pause_s = 0.0005;
  impishim_shuffle* shuffle = nullptr;
  REQUIRE_EQUAL(impishim_shuffle_init(&shuffle, nullptr, deliver, &inbox), MPI_SUCCESS);
  const unsigned messages = slow ? kMessages / 4 : kMessages;
  for (unsigned type = 0; type < messages; ++type) {
    for (int to = 0; to < size; ++to) send(shuffle, rank, to, type);
  }
  REQUIRE_EQUAL(impishim_shuffle_flush_origin(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_remote(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_relay(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_delivery(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle), MPI_SUCCESS);
  REQUIRE(shuffle == nullptr);
  expect_all(inbox, messages);
}

/// Delivery needs nobody's MPI calls.
void while_all_compute(int rank, int size) {
  Inbox inbox;
  prepare(inbox, rank, size);
  impishim_shuffle* shuffle = nullptr;
  REQUIRE_EQUAL(impishim_shuffle_init(&shuffle, nullptr, deliver, &inbox), MPI_SUCCESS);
  for (int to = 0; to < size; ++to) send(shuffle, rank, to, 0);
  REQUIRE_EQUAL(impishim_shuffle_flush_delivery(shuffle), MPI_SUCCESS);
  const double end = now() + 20;
  while (inbox.messages.load() < static_cast<unsigned long>(size) && now() < end) {
    compute(0.01);
    REQUIRE_EQUAL(impishim_shuffle_flush_delivery(shuffle), MPI_SUCCESS);  // below a threshold nothing is delivered by itself
  }
  REQUIRE_EQUAL(inbox.messages.load(), size);
  REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle), MPI_SUCCESS);
  expect_all(inbox, 1);
}

void two_at_once(int rank, int size) {
  Inbox inboxes[2];
  impishim_shuffle* shuffles[2] = {nullptr, nullptr};
  for (int i = 0; i < 2; ++i) {
    prepare(inboxes[i], rank, size);
    REQUIRE_EQUAL(impishim_shuffle_init(&shuffles[i], nullptr, deliver, &inboxes[i]), MPI_SUCCESS);
  }
  for (unsigned type = 0; type < 50; ++type) {
    for (int to = 0; to < size; ++to) {
      for (impishim_shuffle* shuffle : shuffles) send(shuffle, rank, to, type);
    }
  }
  for (int i = 1; i >= 0; --i) REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffles[i]), MPI_SUCCESS);
  for (const Inbox& inbox : inboxes) expect_all(inbox, 50);
}

void count(int rank, int size) {
  Inbox inbox;
  prepare(inbox, rank, size);
  impishim_shuffle* shuffle = nullptr;
  REQUIRE_EQUAL(impishim_shuffle_init(&shuffle, nullptr, deliver, &inbox), MPI_SUCCESS);
  for (int to = 0; to < size; ++to) send(shuffle, rank, to, 0);
  REQUIRE_EQUAL(impishim_shuffle_flush_origin(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_remote(shuffle), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  impishim_shuffle_statistics mine;
  REQUIRE_EQUAL(impishim_shuffle_get_statistics(shuffle, &mine), MPI_SUCCESS);
  // Every message to another process leaves its source through one queue, of either kind.
  const unsigned long long left = mine.sent_local_origin + mine.sent_remote;
  REQUIRE(left >= static_cast<unsigned long long>(size - 1));
  REQUIRE(mine.batches_local_origin <= mine.sent_local_origin);
  REQUIRE_EQUAL(impishim_shuffle_dump_state(shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle), MPI_SUCCESS);
}

void refuse_nonsense(int size) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const auto class_of = [](int code) {
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    return error_class;
  };
  impishim_shuffle* shuffle = nullptr;
  Inbox inbox;
  REQUIRE_EQUAL(class_of(impishim_shuffle_init(&shuffle, nullptr, nullptr, nullptr)), MPI_ERR_ARG);
  impishim_shuffle_options options;
  REQUIRE_EQUAL(impishim_shuffle_options_init(&options), MPI_SUCCESS);
  options.remote_maxrpc = 0;
  REQUIRE_EQUAL(class_of(impishim_shuffle_init(&shuffle, &options, deliver, &inbox)), MPI_ERR_ARG);
  options.remote_maxrpc = 1;
  REQUIRE_EQUAL(impishim_shuffle_init(&shuffle, &options, deliver, &inbox), MPI_SUCCESS);
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(shuffle, size, 0, "x", 1)), MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(shuffle, -1, 0, "x", 1)), MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(shuffle, 0, 0, nullptr, 1)), MPI_ERR_ARG);
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(nullptr, 0, 0, "x", 1)), MPI_ERR_ARG);
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(shuffle, 0, 0, "x", std::size_t{1} << 31U)), MPI_ERR_COUNT);
  REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(class_of(impishim_shuffle_shutdown(&shuffle)), MPI_ERR_ARG);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  all_to_all(rank, size, false);
  all_to_all(rank, size, true);
  while_all_compute(rank, size);
  two_at_once(rank, size);
  count(rank, size);
  refuse_nonsense(size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("shuffle: well\n");
  MPI_Finalize();
  return 0;
}
