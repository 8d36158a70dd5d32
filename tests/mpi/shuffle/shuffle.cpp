// SPDX-License-Identifier: Apache-2.0
// The shuffle through its C API: everybody sends to everybody, itself included; all arrives once,
// whole and in order, also where receivers are slow, while processes compute, and with two shuffles
// at once. With the argument "left" a shuffle is left to MPI_Finalize, which ends the job.
#include "impishim/shuffle.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/mpi/shuffle/inbox.hpp"

namespace {

using impishim_test::compute;
using impishim_test::Exchange;
using impishim_test::Inbox;

constexpr unsigned kMessages = 400;

void all_to_all(int rank, int size, bool slow) {
  Exchange exchange(slow && rank == size - 1 ? 0.0005 : 0);
  const unsigned messages = slow ? kMessages / 4 : kMessages;
  for (unsigned type = 0; type < messages; ++type) exchange.send_to_all(type);
  // Called one by one: with clang, GNU ld makes a weak function null whose address alone is taken.
  REQUIRE_EQUAL(impishim_shuffle_flush_origin(exchange.shuffle()), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_remote(exchange.shuffle()), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_relay(exchange.shuffle()), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_delivery(exchange.shuffle()), MPI_SUCCESS);
  exchange.end(messages);
}

/// Delivery needs nobody's MPI calls.
void while_all_compute(int size) {
  Exchange exchange;
  exchange.send_to_all(0);
  for (const double end = impishim_test::seconds() + 20; impishim_test::seconds() < end;) {
    // Below a threshold nothing is delivered by itself.
    REQUIRE_EQUAL(impishim_shuffle_flush_delivery(exchange.shuffle()), MPI_SUCCESS);
    if (exchange.delivered() == static_cast<unsigned long>(size)) break;
    compute(0.01);
  }
  REQUIRE_EQUAL(exchange.delivered(), size);
  exchange.end(1);
}

void two_at_once() {
  Exchange first;
  Exchange second;
  for (unsigned type = 0; type < 50; ++type) {
    first.send_to_all(type);
    second.send_to_all(type);
  }
  second.end(50);
  first.end(50);
}

void count(int size) {
  Exchange exchange;
  exchange.send_to_all(0);
  REQUIRE_EQUAL(impishim_shuffle_flush_origin(exchange.shuffle()), MPI_SUCCESS);
  REQUIRE_EQUAL(impishim_shuffle_flush_remote(exchange.shuffle()), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  impishim_shuffle_statistics mine;
  REQUIRE_EQUAL(impishim_shuffle_get_statistics(exchange.shuffle(), &mine), MPI_SUCCESS);
  // Every message to another process leaves its source through one queue, of either kind.
  const unsigned long long left = mine.sent_local_origin + mine.sent_remote;
  REQUIRE(left >= static_cast<unsigned long long>(size - 1));
  REQUIRE(mine.batches_local_origin <= mine.sent_local_origin);
  REQUIRE(mine.held_bytes_peak > 0);
  REQUIRE_EQUAL(impishim_shuffle_dump_state(exchange.shuffle()), MPI_SUCCESS);
  exchange.end(1);
}

int class_of(int code) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  return error_class;
}

void refuse_nonsense(int size) {
  impishim_shuffle* shuffle = nullptr;
  Inbox inbox;
  const auto deliver = impishim_test::deliver;
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
  REQUIRE_EQUAL(class_of(impishim_shuffle_enqueue(shuffle, 0, 0, "x", std::size_t{1} << 31U)),
                MPI_ERR_COUNT);
  REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle), MPI_SUCCESS);
  REQUIRE_EQUAL(class_of(impishim_shuffle_shutdown(&shuffle)), MPI_ERR_ARG);
}

/// MPI_Finalize refuses, and everything goes on as before.
void finalize_too_early() {
  Exchange exchange;
  const int code = MPI_Finalize();
  REQUIRE_EQUAL(class_of(code), MPI_ERR_OTHER);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  REQUIRE(std::strstr(text.data(), "impishim_shuffle_shutdown()") != nullptr);
  exchange.send_to_all(0);
  exchange.end(1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 2 && std::string(argv[1]) == "left") {
    const Exchange exchange;
    MPI_Finalize();
    return 0;
  }
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int size = impishim_test::size_of(MPI_COMM_WORLD);
  all_to_all(rank, size, false);
  all_to_all(rank, size, true);
  while_all_compute(size);
  two_at_once();
  count(size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  refuse_nonsense(size);
  finalize_too_early();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("shuffle: well\n");
  MPI_Finalize();
  return 0;
}
