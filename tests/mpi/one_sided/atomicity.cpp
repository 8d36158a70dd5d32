// SPDX-License-Identifier: Apache-2.0
// The proof that accumulates are atomic for each element: ranks of all systems update one element
// together, for each predefined type that accumulates take; 10^5 updates in all. Sums are exact, no
// value is fetched twice or lost, and the histories of counters have an order that their times
// allow.
//
// usage: atomicity [rounds] [value of the hint impishim_accumulate]
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/mpi/one_sided/histories.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::CountingFetch;
using impishim_test::CountingSwap;
using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

long updates = 0;
MPI_Info hints = MPI_INFO_NULL;

/// Returns the time of a clock that all processes of a machine share.
std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// Memory of rank `host` in a window of all ranks, for `count` values.
template <class Value>
class SharedValues {
 public:
  SharedValues(int host, int count, Value value) : host_(host) {
    const bool mine = rank_in(kWorld) == host;
    MPI_Win_allocate(mine ? static_cast<MPI_Aint>(sizeof(Value)) * count : 0, sizeof(Value), hints,
                     kWorld, &memory_, &window_);
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
    ++updates;
    return before;
  }
  void accumulate(MPI_Datatype type, int at, Value operand, MPI_Op op) {
    MPI_Accumulate(&operand, 1, type, host_, at, 1, type, op, window_);
    // The operand is a local variable.
    MPI_Win_flush_local(host_, window_);
    ++updates;
  }
  [[nodiscard]] Value swap(MPI_Datatype type, int at, Value expected, Value desired) {
    Value before{};
    MPI_Compare_and_swap(&desired, &expected, &before, type, host_, at, window_);
    MPI_Win_flush(host_, window_);
    ++updates;
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
  int bytes = static_cast<int>(sizeof(Value) * mine.size());
  const auto size = static_cast<std::size_t>(size_of(kWorld));
  std::vector<int> lengths(size);
  MPI_Allgather(&bytes, 1, MPI_INT, lengths.data(), 1, MPI_INT, kWorld);
  std::vector<int> places(size);
  for (std::size_t i = 1; i < size; ++i) places[i] = places[i - 1] + lengths[i - 1];
  std::vector<Value> all(static_cast<std::size_t>(places.back() + lengths.back()) / sizeof(Value));
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), lengths.data(), places.data(), MPI_BYTE,
                 kWorld);
  return all;
}

/// One predefined type, its name and how often each rank updates an element in each way.
struct Type {
  MPI_Datatype handle;
  const char* name;
  int rounds;
};

/// Ends the job with an explanation.
void require(bool right, const Type& type, const char* mistake) {
  if (!right) std::fprintf(stderr, "%s: %s\n", type.name, mistake);
  REQUIRE(right);
}

/// Sums by accumulates and by fetches, mixed: the result is exact.
template <class Value>
void check_sums(const Type& type) {
  SharedValues<Value> values(size_of(kWorld) - 1, 1, Value{});
  // Small types wrap around, as the sum here does.
  Value expected{};
  for (int round = 0; round < type.rounds * size_of(kWorld); ++round)
    expected = static_cast<Value>(expected + Value{1});
  for (int round = 0; round < type.rounds; ++round) {
    if (round % 4 == 0) {
      static_cast<void>(values.fetch(type.handle, 0, Value{1}, MPI_SUM));
    } else {
      values.accumulate(type.handle, 0, Value{1}, MPI_SUM);
    }
  }
  require(values.result(type.handle, 0) == expected, type, "a sum is not exact");
}

/// Values that replace each other: each is fetched as often as it was put. `make` gives the value
/// of a number.
template <class Value, class Make>
void check_replaced(const Type& type, Make make) {
  const int size = size_of(kWorld);
  SharedValues<Value> values(size / 2, 1, make(0));
  std::vector<int> put{};
  std::vector<Value> seen{};
  for (int round = 0; round < type.rounds; ++round) {
    put.push_back(1 + round * size + rank_in(kWorld));
    seen.push_back(values.fetch(type.handle, 0, make(put.back()), MPI_REPLACE));
  }
  std::vector<Value> all_seen = gathered(seen);
  all_seen.push_back(values.result(type.handle, 0));
  std::vector<int> all_put = gathered(put);
  all_put.push_back(0);
  // Types of few values repeat them, and complex numbers have no order.
  for (const int number : all_put) {
    const auto found = std::find(all_seen.begin(), all_seen.end(), make(number));
    require(found != all_seen.end(), type, "a value that was put was not seen");
    *found = all_seen.back();
    all_seen.pop_back();
  }
}

/// Bits or truth values that are flipped: each is fetched as often as its opposite.
template <class Value>
void check_flips(const Type& type, MPI_Op op) {
  SharedValues<Value> values(0, 1, Value{0});
  std::vector<int> seen;
  for (int round = 0; round < type.rounds; ++round)
    seen.push_back(values.fetch(type.handle, 0, Value{1}, op) == Value{0} ? 0 : 1);
  const std::vector<int> all = gathered(seen);
  const auto zeros = std::count(all.begin(), all.end(), 0);
  require(zeros == static_cast<std::ptrdiff_t>((all.size() + 1) / 2), type, "a flip was lost");
}

/// Fetched numbers have an order that their times allow.
template <class Value>
void check_fetches(const Type& type) {
  SharedValues<Value> values(0, 1, Value{0});
  std::vector<CountingFetch> history;
  for (int round = 0; round < type.rounds; ++round) {
    CountingFetch fetch;
    fetch.begin = now();
    fetch.fetched = static_cast<std::int64_t>(values.fetch(type.handle, 0, Value{1}, MPI_SUM));
    fetch.end = now();
    history.push_back(fetch);
  }
  require(impishim_test::is_linearizable(gathered(history)), type, "fetches have no order");
  static_cast<void>(values.result(type.handle, 0));
}

/// Loops of compare-and-swap count exactly, in an order that their times allow.
template <class Value>
void check_swaps(const Type& type) {
  SharedValues<Value> values(0, 1, Value{0});
  std::vector<CountingSwap> history;
  Value expected{0};
  for (int done = 0; done < type.rounds;) {
    CountingSwap swap;
    swap.begin = now();
    swap.expected = static_cast<std::int64_t>(expected);
    const Value before =
        values.swap(type.handle, 0, expected, static_cast<Value>(expected + Value{1}));
    swap.fetched = static_cast<std::int64_t>(before);
    swap.end = now();
    history.push_back(swap);
    if (before == expected) ++done;
    expected = before == expected ? static_cast<Value>(expected + Value{1}) : before;
  }
  const Value counted = static_cast<Value>(type.rounds * size_of(kWorld));
  require(values.result(type.handle, 0) == counted, type, "a swap was lost");
  // Small types count in circles.
  if (sizeof(Value) >= 4)
    require(impishim_test::is_linearizable(gathered(history)), type, "swaps have no order");
}

/// A pair of a value and the rank that it came from.
template <class Value, class Where = int>
struct Located {
  Value value;
  Where where;
  bool operator==(const Located& other) const {
    return value == other.value && where == other.where;
  }
};

template <class Value, class Where = int>
void check_pairs(Type type) {
  const int size = size_of(kWorld);
  using Pair = Located<Value, Where>;
  SharedValues<Pair> pairs(size / 2, 1, Pair{Value{0}, Where{-1}});
  const int rank = rank_in(kWorld);
  for (int round = 1; round <= type.rounds; ++round) {
    pairs.accumulate(type.handle, 0,
                     Pair{static_cast<Value>(round % 50 * size + rank), static_cast<Where>(rank)},
                     MPI_MAXLOC);
  }
  const int greatest = std::min(type.rounds, 49) * size + size - 1;
  const Pair expected{static_cast<Value>(greatest), static_cast<Where>(size - 1)};
  require(pairs.result(type.handle, 0) == expected, type, "the greatest was lost");
  // Bytes between the parts belong to no value.
  check_replaced<Pair>(type, [](int number) {
    return Pair{static_cast<Value>(number % 1000), static_cast<Where>(number / 1000)};
  });
}

template <class Value>
void check_number(const Type& type) {
  check_sums<Value>(type);
  check_replaced<Value>(type, [](int number) { return static_cast<Value>(number); });
}

template <class Value>
void check_integer(const Type& type) {
  check_number<Value>(type);
  check_flips<Value>(type, MPI_BXOR);
  check_swaps<Value>(type);
  if (sizeof(Value) >= 4) check_fetches<Value>(type);
}

template <class Value>
void check_truth(const Type& type) {
  check_flips<Value>(type, MPI_LXOR);
  check_replaced<Value>(type, [](int number) { return static_cast<Value>(number % 2); });
}

template <class Value>
void check_replaced_only(const Type& type) {
  check_replaced<Value>(type, [](int number) { return static_cast<Value>(number % 120); });
}

void check_c_types(int rounds) {
  // MPI leaves open that it is a number; both vendors take it for one.
  check_integer<char>({MPI_CHAR, "MPI_CHAR", rounds});
  check_integer<signed char>({MPI_SIGNED_CHAR, "MPI_SIGNED_CHAR", rounds});
  check_integer<unsigned char>({MPI_UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", rounds});
  check_integer<short>({MPI_SHORT, "MPI_SHORT", rounds});
  check_integer<unsigned short>({MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", rounds});
  check_integer<int>({MPI_INT, "MPI_INT", rounds});
  check_integer<unsigned>({MPI_UNSIGNED, "MPI_UNSIGNED", rounds});
  check_integer<long>({MPI_LONG, "MPI_LONG", rounds});
  check_integer<unsigned long>({MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", rounds});
  check_integer<long long>({MPI_LONG_LONG, "MPI_LONG_LONG", rounds});
  check_integer<unsigned long long>({MPI_UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", rounds});
  check_integer<std::int8_t>({MPI_INT8_T, "MPI_INT8_T", rounds});
  check_integer<std::int16_t>({MPI_INT16_T, "MPI_INT16_T", rounds});
  check_integer<std::int32_t>({MPI_INT32_T, "MPI_INT32_T", rounds});
  check_integer<std::int64_t>({MPI_INT64_T, "MPI_INT64_T", rounds});
  check_integer<std::uint8_t>({MPI_UINT8_T, "MPI_UINT8_T", rounds});
  check_integer<std::uint16_t>({MPI_UINT16_T, "MPI_UINT16_T", rounds});
  check_integer<std::uint32_t>({MPI_UINT32_T, "MPI_UINT32_T", rounds});
  check_integer<std::uint64_t>({MPI_UINT64_T, "MPI_UINT64_T", rounds});
  check_integer<MPI_Aint>({MPI_AINT, "MPI_AINT", rounds});
  check_integer<MPI_Count>({MPI_COUNT, "MPI_COUNT", rounds});
  check_integer<MPI_Offset>({MPI_OFFSET, "MPI_OFFSET", rounds});
  check_number<float>({MPI_FLOAT, "MPI_FLOAT", rounds});
  check_number<double>({MPI_DOUBLE, "MPI_DOUBLE", rounds});
  check_number<long double>({MPI_LONG_DOUBLE, "MPI_LONG_DOUBLE", rounds});
  check_number<std::complex<float>>({MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX", rounds});
  check_number<std::complex<double>>({MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", rounds});
  check_number<std::complex<long double>>(
      {MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX", rounds});
  check_truth<unsigned char>({MPI_C_BOOL, "MPI_C_BOOL", rounds});
  check_flips<unsigned char>({MPI_BYTE, "MPI_BYTE", rounds}, MPI_BXOR);
  check_swaps<unsigned char>({MPI_BYTE, "MPI_BYTE", rounds});
  check_replaced_only<unsigned char>({MPI_BYTE, "MPI_BYTE", rounds});
  check_replaced_only<wchar_t>({MPI_WCHAR, "MPI_WCHAR", rounds});
}

void check_fortran_types(int rounds) {
  check_integer<MPI_Fint>({MPI_INTEGER, "MPI_INTEGER", rounds});
  check_integer<std::int8_t>({MPI_INTEGER1, "MPI_INTEGER1", rounds});
  check_integer<std::int16_t>({MPI_INTEGER2, "MPI_INTEGER2", rounds});
  check_integer<std::int32_t>({MPI_INTEGER4, "MPI_INTEGER4", rounds});
  check_integer<std::int64_t>({MPI_INTEGER8, "MPI_INTEGER8", rounds});
  check_number<float>({MPI_REAL, "MPI_REAL", rounds});
  check_number<double>({MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", rounds});
  check_number<float>({MPI_REAL4, "MPI_REAL4", rounds});
  check_number<double>({MPI_REAL8, "MPI_REAL8", rounds});
  check_number<std::complex<float>>({MPI_COMPLEX, "MPI_COMPLEX", rounds});
  check_number<std::complex<double>>({MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", rounds});
  check_number<std::complex<float>>({MPI_COMPLEX8, "MPI_COMPLEX8", rounds});
  check_number<std::complex<double>>({MPI_COMPLEX16, "MPI_COMPLEX16", rounds});
  check_truth<MPI_Fint>({MPI_LOGICAL, "MPI_LOGICAL", rounds});
  check_replaced_only<char>({MPI_CHARACTER, "MPI_CHARACTER", rounds});
  check_pairs<MPI_Fint, MPI_Fint>({MPI_2INTEGER, "MPI_2INTEGER", rounds});
  check_pairs<float, float>({MPI_2REAL, "MPI_2REAL", rounds});
  check_pairs<double, double>({MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", rounds});
}

void check_pair_types(int rounds) {
  check_pairs<int>({MPI_2INT, "MPI_2INT", rounds});
  check_pairs<long>({MPI_LONG_INT, "MPI_LONG_INT", rounds});
  check_pairs<float>({MPI_FLOAT_INT, "MPI_FLOAT_INT", rounds});
  check_pairs<double>({MPI_DOUBLE_INT, "MPI_DOUBLE_INT", rounds});
  check_pairs<short>({MPI_SHORT_INT, "MPI_SHORT_INT", rounds});
  check_pairs<long double>({MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", rounds});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 160;
  if (argc > 2) {
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "impishim_accumulate", argv[2]);
  }
  check_c_types(rounds);
  check_fortran_types(rounds);
  check_pair_types(rounds);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  long all = 0;
  MPI_Allreduce(&updates, &all, 1, MPI_LONG, MPI_SUM, kWorld);
  if (argc == 1) REQUIRE(all >= 100000);
  if (rank_in(kWorld) == 0) std::printf("accumulates of %d ranks are atomic\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
