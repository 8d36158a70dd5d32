// SPDX-License-Identifier: Apache-2.0
// Operations as such: MPI_Op_commutative, MPI_Reduce_local beside reductions in progress,
// operations and datatypes that are freed before their reduction is over and handles that are made
// meanwhile, functions that call MPI.
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::on_each_communicator;
using impishim_test::rank_in;
using impishim_test::size_of;

/// x -> factor * x + summand modulo 2^32, with a gap between the two numbers.
struct Map {
  std::uint32_t factor;
  std::uint32_t gap[2];
  std::uint32_t summand;
};

constexpr std::uint32_t kGap = 0xa5a5a5a5U;
constexpr int kCount = 1000;

Map map_of(int rank, int i) {
  return {static_cast<std::uint32_t>(3 + 2 * rank + i),
          {kGap, kGap},
          static_cast<std::uint32_t>(7 * rank + i)};
}

std::vector<Map> maps_of(int rank) {
  std::vector<Map> maps;
  for (int i = 0; i < kCount; ++i) maps.push_back(map_of(rank, i));
  return maps;
}

/// Associative, not commutative.
Map composed(const Map& left, const Map& right) {
  return {right.factor * left.factor, {kGap, kGap}, right.factor * left.summand + right.summand};
}
Map sum_of(const Map& left, const Map& right) {
  return {left.factor + right.factor, {kGap, kGap}, left.summand + right.summand};
}

template <Map (*kCombine)(const Map&, const Map&)>
void combine_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower_bound = -1;
  MPI_Aint extent = -1;
  MPI_Type_get_extent(*type, &lower_bound, &extent);
  REQUIRE_EQUAL(extent, sizeof(Map));
  for (int i = 0; i < *count; ++i) {
    Map& right = static_cast<Map*>(inout)[i];
    const Map result = kCombine(static_cast<Map*>(in)[i], right);
    right.factor = result.factor;
    right.summand = result.summand;
  }
}

/// An operation and a datatype for it.
struct Handles {
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  explicit Handles(bool commutes) {
    MPI_Type_vector(2, 1, 3, MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
    REQUIRE_EQUAL(MPI_Op_create(commutes ? combine_all<sum_of> : combine_all<composed>,
                                commutes ? 1 : 0, &op),
                  MPI_SUCCESS);
  }
  void free() {
    REQUIRE_EQUAL(MPI_Op_free(&op), MPI_SUCCESS);
    REQUIRE(op == MPI_OP_NULL);
    REQUIRE_EQUAL(MPI_Type_free(&type), MPI_SUCCESS);
  }
};

bool commutes(MPI_Op op) {
  int answer = -1;
  REQUIRE_EQUAL(MPI_Op_commutative(op, &answer), MPI_SUCCESS);
  return answer != 0;
}

void require_equal(const std::vector<Map>& maps, const std::vector<Map>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE_EQUAL(maps[i].factor, expected[i].factor);
    REQUIRE_EQUAL(maps[i].summand, expected[i].summand);
    REQUIRE(maps[i].gap[0] == kGap && maps[i].gap[1] == kGap);
  }
}

/// This process's elements with those of another, without it.
void check_local(const Handles& handles, int rank, int other) {
  const bool sums = commutes(handles.op);
  const std::vector<Map> in = maps_of(rank);
  std::vector<Map> inout = maps_of(other);
  std::vector<Map> expected;
  for (std::size_t i = 0; i < in.size(); ++i)
    expected.push_back((sums ? sum_of : composed)(in[i], inout[i]));
  REQUIRE_EQUAL(MPI_Reduce_local(in.data(), inout.data(), kCount, handles.type, handles.op),
                MPI_SUCCESS);
  require_equal(inout, expected);
}

void check_predefined() {
  for (const MPI_Op op : {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR,
                          MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC}) {
    REQUIRE(commutes(op));
  }
}

/// One reduction after the other is started and its handles freed; new ones serve meanwhile, and
/// may look like the old.
void check_freed_early(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const std::vector<Map> mine = maps_of(rank);
  constexpr std::size_t kReductions = 4;
  std::vector<std::vector<Map>> results(kReductions, maps_of(0));  // known gaps
  std::vector<MPI_Request> requests(kReductions);
  for (std::size_t i = 0; i < kReductions; ++i) {
    Handles handles(i % 2 != 0);
    REQUIRE_EQUAL(commutes(handles.op), i % 2 != 0);
    check_local(handles, rank, rank + 1);
    MPI_Iallreduce(mine.data(), results[i].data(), kCount, handles.type, handles.op, comm,
                   &requests[i]);
    check_local(handles, rank + 1, rank);
    handles.free();
  }
  Handles last(false);
  check_local(last, 1, 2);
  MPI_Waitall(kReductions, requests.data(), MPI_STATUSES_IGNORE);
  check_local(last, 2, 1);
  last.free();
  for (std::size_t i = 0; i < kReductions; ++i) {
    std::vector<Map> expected = maps_of(0);
    for (int other = 1; other < size_of(comm); ++other) {
      for (int j = 0; j < kCount; ++j) {
        Map& left = expected[static_cast<std::size_t>(j)];
        left = (i % 2 != 0 ? sum_of : composed)(left, map_of(other, j));
      }
    }
    require_equal(results[i], expected);
  }
}

/// The communicator that asking_ranks() asks.
MPI_Comm asked = MPI_COMM_NULL;

/// Sums, plus this process's rank and ten times their number.
void asking_ranks(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *count; ++i) {
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i] + rank_in(asked) + 10 * size_of(asked);
  }
}

/// What a function sees of the job inside MPI_Reduce_local.
void check_function_that_asks(MPI_Comm comm) {
  asked = comm;
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(asking_ranks, 1, &op);
  const int in[2] = {1000, 2000};
  int inout[2] = {1, 2};
  REQUIRE_EQUAL(MPI_Reduce_local(in, inout, 2, MPI_INT, op), MPI_SUCCESS);
  const int added = rank_in(comm) + 10 * size_of(comm);
  REQUIRE_EQUAL(inout[0], 1001 + added);
  REQUIRE_EQUAL(inout[1], 2002 + added);
  MPI_Op_free(&op);
}

void check_all(MPI_Comm comm, const char* /*name*/) {
  check_freed_early(comm);
  check_function_that_asks(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_predefined();
  on_each_communicator(check_all);
  return impishim_test::finish("operations");
}
