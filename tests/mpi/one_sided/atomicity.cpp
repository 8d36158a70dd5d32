// SPDX-License-Identifier: Apache-2.0
// The proof that accumulates are atomic for each element: ranks of all systems update one element
// together, for each of 34 predefined types. Sums are exact, no value is fetched twice,
// and the histories of fetched values are those of one order.
//
// usage: atomicity [rounds]
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// Memory of rank `host` in a window of all ranks, for `count` values.
template <class Value>
class SharedValues {
 public:
  SharedValues(int host, int count, Value value) : host_(host) {
    const bool mine = rank_in(kWorld) == host;
    MPI_Win_allocate(mine ? static_cast<MPI_Aint>(sizeof(Value)) * count : 0, sizeof(Value),
                     MPI_INFO_NULL, kWorld, &memory_, &window_);
    for (int i = 0; mine && i < count; ++i) memory_[i] = value;
    MPI_Barrier(kWorld);
    MPI_Win_lock_all(0, window_);
  }
  ~SharedValues() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;

  [[nodiscard]] Value fetch(MPI_Datatype type, int at, Value operand, MPI_Op op) {
    Value before{};
    MPI_Fetch_and_op(&operand, &before, type, host_, at, op, window_);
    MPI_Win_flush(host_, window_);
    return before;
  }
  void accumulate(MPI_Datatype type, int at, Value operand, MPI_Op op) {
    MPI_Accumulate(&operand, 1, type, host_, at, 1, type, op, window_);
    // The operand is a local variable.
    MPI_Win_flush_local(host_, window_);
  }
  [[nodiscard]] Value swap(MPI_Datatype type, int at, Value expected, Value desired) {
    Value before{};
    MPI_Compare_and_swap(&desired, &expected, &before, type, host_, at, window_);
    MPI_Win_flush(host_, window_);
    return before;
  }
  /// Returns what all ranks have left, and waits for them.
  [[nodiscard]] Value result(MPI_Datatype type, int at) {
    MPI_Win_flush_all(window_);
    MPI_Barrier(kWorld);
    const Value left = fetch(type, at, Value{}, MPI_NO_OP);
    MPI_Barrier(kWorld);
    return left;
  }

 private:
  int host_;
  Value* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Returns all ranks' values.
template <class Value>
std::vector<Value> gathered(const std::vector<Value>& mine) {
  const int bytes = static_cast<int>(sizeof(Value) * mine.size());
  std::vector<Value> all(mine.size() * static_cast<std::size_t>(size_of(kWorld)));
  MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, kWorld);
  return all;
}

/// Sums by accumulates and by fetches, mixed: the result is exact.
template <class Value>
void check_sums(MPI_Datatype type, const char* name, int rounds) {
  SharedValues<Value> values(size_of(kWorld) - 1, 1, Value{});
  // Small types wrap around, as the sum here does.
  Value expected{};
  for (int round = 0; round < rounds * size_of(kWorld); ++round)
    expected = static_cast<Value>(expected + Value{1});
  for (int round = 0; round < rounds; ++round) {
    if (round % 4 == 0) {
      static_cast<void>(values.fetch(type, 0, Value{1}, MPI_SUM));
    } else {
      values.accumulate(type, 0, Value{1}, MPI_SUM);
    }
  }
  const Value left = values.result(type, 0);
  if (!(left == expected)) {
    std::fprintf(stderr, "a sum of %s is not exact\n", name);
    REQUIRE(left == expected);
  }
}

/// Fetched numbers are all different, and ascend on each rank. Loops of compare-and-swap count
/// exactly. Values that replace each other form one chain.
template <class Value>
void check_histories(MPI_Datatype type, const char* /*name*/, int rounds) {
  SharedValues<Value> values(0, 3, Value{0});
  const auto count = static_cast<std::size_t>(rounds);
  std::vector<Value> fetched(count);
  for (Value& value : fetched) value = values.fetch(type, 0, Value{1}, MPI_SUM);
  REQUIRE(std::is_sorted(fetched.begin(), fetched.end()));
  std::vector<Value> all = gathered(fetched);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<Value>(i));

  for (Value expected{0}, done{0}; done < static_cast<Value>(rounds);) {
    const Value before = values.swap(type, 1, expected, static_cast<Value>(expected + 1));
    if (before == expected) ++done;
    expected = before == expected ? static_cast<Value>(expected + 1) : before;
  }
  REQUIRE(values.result(type, 1) == static_cast<Value>(rounds * size_of(kWorld)));

  // Each value but the first and the last is put once and fetched once.
  std::vector<Value> put(count);
  std::vector<Value> seen(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = 1 + i * static_cast<std::size_t>(size_of(kWorld)) +
                               static_cast<std::size_t>(rank_in(kWorld));
    put[i] = static_cast<Value>(number);
    seen[i] = values.fetch(type, 2, put[i], MPI_REPLACE);
  }
  std::vector<Value> all_put = gathered(put);
  std::vector<Value> all_seen = gathered(seen);
  all_seen.push_back(values.result(type, 2));
  all_put.push_back(Value{0});
  std::sort(all_put.begin(), all_put.end());
  std::sort(all_seen.begin(), all_seen.end());
  REQUIRE(all_put == all_seen);
}

/// A pair with the greatest value, and the rank that it came from.
template <class Value>
struct Located {
  Value value;
  int rank;
  bool operator==(const Located& other) const { return value == other.value && rank == other.rank; }
};

template <class Value>
void check_locations(MPI_Datatype type, int rounds) {
  const int size = size_of(kWorld);
  SharedValues<Located<Value>> pairs(size / 2, 1, {Value{0}, -1});
  for (int round = 1; round <= rounds; ++round) {
    pairs.accumulate(type, 0,
                     {static_cast<Value>(round % 50 * size + rank_in(kWorld)), rank_in(kWorld)},
                     MPI_MAXLOC);
  }
  const Located<Value> left = pairs.result(type, 0);
  const int greatest = (rounds < 50 ? rounds : 49) * size + size - 1;
  REQUIRE(left.value == static_cast<Value>(greatest));
  REQUIRE_EQUAL(left.rank, size - 1);
}

template <class Value>
void check_integer(MPI_Datatype type, const char* name, int rounds) {
  check_sums<Value>(type, name, rounds);
  // Small types cannot number all fetches.
  if (sizeof(Value) >= 4) check_histories<Value>(type, name, rounds / 4);
}

void check_all(int rounds) {
  check_integer<signed char>(MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR", rounds);
  check_integer<unsigned char>(MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", rounds);
  check_integer<short>(MPI_SHORT, "MPI_SHORT", rounds);
  check_integer<unsigned short>(MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", rounds);
  check_integer<int>(MPI_INT, "MPI_INT", rounds);
  check_integer<unsigned>(MPI_UNSIGNED, "MPI_UNSIGNED", rounds);
  check_integer<long>(MPI_LONG, "MPI_LONG", rounds);
  check_integer<unsigned long>(MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", rounds);
  check_integer<long long>(MPI_LONG_LONG, "MPI_LONG_LONG", rounds);
  check_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", rounds);
  check_integer<std::int8_t>(MPI_INT8_T, "MPI_INT8_T", rounds);
  check_integer<std::int16_t>(MPI_INT16_T, "MPI_INT16_T", rounds);
  check_integer<std::int32_t>(MPI_INT32_T, "MPI_INT32_T", rounds);
  check_integer<std::int64_t>(MPI_INT64_T, "MPI_INT64_T", rounds);
  check_integer<std::uint8_t>(MPI_UINT8_T, "MPI_UINT8_T", rounds);
  check_integer<std::uint16_t>(MPI_UINT16_T, "MPI_UINT16_T", rounds);
  check_integer<std::uint32_t>(MPI_UINT32_T, "MPI_UINT32_T", rounds);
  check_integer<std::uint64_t>(MPI_UINT64_T, "MPI_UINT64_T", rounds);
  check_integer<MPI_Aint>(MPI_AINT, "MPI_AINT", rounds);
  check_integer<MPI_Count>(MPI_COUNT, "MPI_COUNT", rounds);
  check_integer<MPI_Offset>(MPI_OFFSET, "MPI_OFFSET", rounds);
  check_integer<MPI_Fint>(MPI_INTEGER, "MPI_INTEGER", rounds);
  check_sums<float>(MPI_FLOAT, "MPI_FLOAT", rounds);
  check_sums<double>(MPI_DOUBLE, "MPI_DOUBLE", rounds);
  check_sums<long double>(MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", rounds);
  check_sums<std::complex<float>>(MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX", rounds);
  check_sums<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", rounds);
  check_sums<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX",
                                        rounds);
  check_locations<int>(MPI_2INT, rounds);
  check_locations<long>(MPI_LONG_INT, rounds);
  check_locations<float>(MPI_FLOAT_INT, rounds);
  check_locations<double>(MPI_DOUBLE_INT, rounds);
  check_locations<short>(MPI_SHORT_INT, rounds);
  check_locations<long double>(MPI_LONG_DOUBLE_INT, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_all(argc > 1 ? std::atoi(argv[1]) : 1000);
  if (rank_in(kWorld) == 0) std::printf("accumulates of %d ranks are atomic\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
