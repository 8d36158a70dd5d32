// SPDX-License-Identifier: Apache-2.0
// MPI_Reduce, MPI_Allreduce and MPI_Reduce_local: every predefined operation on every class of
// types, pairs, complex numbers, user operations that commute or not, derived datatypes, in place
// and not, all roots, no elements and many. MPI_Op_commutative.
#include <mpi.h>

#include <climits>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "communicators.hpp"
#include "derived_reductions.hpp"

namespace {

using impishim_test::on_each_communicator;
using impishim_test::rank_in;
using impishim_test::size_of;

/// A small number that depends on the rank and the place: never 0, so that products say something.
int value(int rank, int i) { return 1 + (rank * 7 + i * 3) % 5; }

template <class T>
T combine(MPI_Op op, T a, T b) {
  if (op == MPI_SUM) return static_cast<T>(a + b);
  if (op == MPI_PROD) return static_cast<T>(a * b);
  if (op == MPI_MAX) return a < b ? b : a;
  if (op == MPI_MIN) return a < b ? a : b;
  if (op == MPI_LAND) return static_cast<T>(a != T{} && b != T{});
  if (op == MPI_LOR) return static_cast<T>(a != T{} || b != T{});
  REQUIRE(op == MPI_LXOR);
  return static_cast<T>((a != T{}) != (b != T{}));
}

template <class T>
T combine_bits(MPI_Op op, T a, T b) {
  if (op == MPI_BAND) return static_cast<T>(a & b);
  if (op == MPI_BOR) return static_cast<T>(a | b);
  REQUIRE(op == MPI_BXOR);
  return static_cast<T>(a ^ b);
}

/// Every check has another root, in turn. One counter for all types: which of them are the same
/// type is the vendor's affair.
int turn = 0;

/// This process's elements with those of the next one, without them.
template <class T>
void check_local(MPI_Datatype type, MPI_Op op, int count, const std::vector<T>& mine,
                 const std::vector<T>& next, const std::function<T(T, T)>& reduce) {
  std::vector<T> result = next;
  REQUIRE(MPI_Reduce_local(mine.data(), result.data(), count, type, op) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) REQUIRE(result[i] == reduce(mine[i], next[i]));
  REQUIRE(result[count] == next[count]);
}

/// One reduction in all its forms. `make(rank, i)` is an element, `reduce(a, b)` the operation in
/// rank order.
template <class T>
void check_one(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int count,
               const std::function<T(int, int)>& make, const std::function<T(T, T)>& reduce) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  std::vector<T> mine;
  std::vector<T> expected;
  for (int i = 0; i < count; ++i) {
    mine.push_back(make(rank, i));
    T result = make(0, i);
    for (int other = 1; other < size; ++other) result = reduce(result, make(other, i));
    expected.push_back(result);
  }
  mine.push_back(make(rank, count));  // one more than is sent, to see that it stays
  std::vector<T> next;
  for (int i = 0; i <= count; ++i) next.push_back(make(rank + 1, i));
  check_local<T>(type, op, count, mine, next, reduce);
  {
    const int root = turn++ % size;
    std::vector<T> result(mine.size(), T{});
    REQUIRE(MPI_Reduce(mine.data(), result.data(), count, type, op, root, comm) == MPI_SUCCESS);
    for (int i = 0; i < count; ++i) REQUIRE(result[i] == (rank == root ? expected[i] : T{}));
    // MPICH 4.0.2 itself reads through MPI_IN_PLACE in MPI_Reduce of more data with a commutative
    // operation.
    if (mine.size() * sizeof(T) <= 2048) {
      result = mine;
      const void* send = rank == root ? MPI_IN_PLACE : mine.data();
      REQUIRE(MPI_Reduce(send, result.data(), count, type, op, root, comm) == MPI_SUCCESS);
      for (int i = 0; i < count; ++i) REQUIRE(result[i] == (rank == root ? expected[i] : mine[i]));
      REQUIRE(result[count] == mine[count]);
    }
  }
  std::vector<T> result(mine.size(), T{});
  REQUIRE(MPI_Allreduce(mine.data(), result.data(), count, type, op, comm) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) REQUIRE(result[i] == expected[i]);
  result = mine;
  REQUIRE(MPI_Allreduce(MPI_IN_PLACE, result.data(), count, type, op, comm) == MPI_SUCCESS);
  for (int i = 0; i < count; ++i) REQUIRE(result[i] == expected[i]);
  REQUIRE(result[count] == mine[count]);
}

template <class T>
void check_arithmetic(MPI_Comm comm, MPI_Datatype type) {
  const auto make = [](int rank, int i) { return static_cast<T>(value(rank, i)); };
  for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN}) {
    check_one<T>(comm, type, op, 4, make, [op](T a, T b) { return combine(op, a, b); });
  }
}

template <class T>
void check_integer(MPI_Comm comm, MPI_Datatype type) {
  check_arithmetic<T>(comm, type);
  const auto make = [](int rank, int i) {
    return static_cast<T>((rank + i) % 3 == 0 ? 0 : value(rank, i));
  };
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) {
    check_one<T>(comm, type, op, 3, make, [op](T a, T b) { return combine(op, a, b); });
  }
  for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) {
    check_one<T>(comm, type, op, 3, make, [op](T a, T b) { return combine_bits(op, a, b); });
  }
}

void check_integers(MPI_Comm comm) {
  check_integer<signed char>(comm, MPI_SIGNED_CHAR);
  check_integer<unsigned char>(comm, MPI_UNSIGNED_CHAR);
  check_integer<short>(comm, MPI_SHORT);
  check_integer<unsigned short>(comm, MPI_UNSIGNED_SHORT);
  check_integer<int>(comm, MPI_INT);
  check_integer<unsigned>(comm, MPI_UNSIGNED);
  check_integer<long>(comm, MPI_LONG);
  check_integer<unsigned long>(comm, MPI_UNSIGNED_LONG);
  check_integer<long long>(comm, MPI_LONG_LONG);
  check_integer<unsigned long long>(comm, MPI_UNSIGNED_LONG_LONG);
  check_integer<std::int8_t>(comm, MPI_INT8_T);
  check_integer<std::int64_t>(comm, MPI_INT64_T);
  check_integer<std::uint32_t>(comm, MPI_UINT32_T);
  check_arithmetic<MPI_Aint>(comm, MPI_AINT);
  check_arithmetic<MPI_Offset>(comm, MPI_OFFSET);
  check_arithmetic<MPI_Count>(comm, MPI_COUNT);
}

void check_logical_and_bytes(MPI_Comm comm) {
  const auto truth = [](int rank, int i) { return (rank + i) % 3 != 0; };
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) {
    check_one<char>(comm, MPI_C_BOOL, op, 3, truth,
                    [op](char a, char b) { return combine(op, a, b); });
  }
  const auto bits = [](int rank, int i) {
    return static_cast<unsigned char>(0x5a + rank * 17 + i);
  };
  for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) {
    check_one<unsigned char>(comm, MPI_BYTE, op, 3, bits, [op](unsigned char a, unsigned char b) {
      return combine_bits(op, a, b);
    });
  }
}

template <class T>
void check_complex(MPI_Comm comm, MPI_Datatype type) {
  // Gaussian integers: exact in any order.
  const auto make = [](int rank, int i) {
    return std::complex<T>(static_cast<T>(value(rank, i)), static_cast<T>(rank % 2));
  };
  check_one<std::complex<T>>(comm, type, MPI_SUM, 3, make,
                             [](std::complex<T> a, std::complex<T> b) { return a + b; });
  check_one<std::complex<T>>(comm, type, MPI_PROD, 3, make,
                             [](std::complex<T> a, std::complex<T> b) { return a * b; });
}

template <class T>
struct Pair {
  T value;
  int place;
  bool operator==(const Pair& other) const { return value == other.value && place == other.place; }
};

template <class T>
void check_pair(MPI_Comm comm, MPI_Datatype type) {
  const auto make = [](int rank, int i) {
    return Pair<T>{static_cast<T>(value(rank, i) / 2), rank};
  };
  // Equal values: the lower place.
  const auto better = [](Pair<T> a, Pair<T> b, bool max) {
    if (a.value == b.value) return a.place < b.place ? a : b;
    return (a.value > b.value) == max ? a : b;
  };
  check_one<Pair<T>>(comm, type, MPI_MAXLOC, 4, make,
                     [&](Pair<T> a, Pair<T> b) { return better(a, b, true); });
  check_one<Pair<T>>(comm, type, MPI_MINLOC, 4, make,
                     [&](Pair<T> a, Pair<T> b) { return better(a, b, false); });
}

/// 2 x 2 matrices modulo a prime: associative, not commutative.
struct Matrix {
  std::int32_t at[4];
  bool operator==(const Matrix& other) const { return std::memcmp(at, other.at, sizeof(at)) == 0; }
};

Matrix multiply(Matrix a, Matrix b) {
  constexpr std::int32_t kPrime = 10007;
  return {{(a.at[0] * b.at[0] + a.at[1] * b.at[2]) % kPrime,
           (a.at[0] * b.at[1] + a.at[1] * b.at[3]) % kPrime,
           (a.at[2] * b.at[0] + a.at[3] * b.at[2]) % kPrime,
           (a.at[2] * b.at[1] + a.at[3] * b.at[3]) % kPrime}};
}

MPI_Datatype matrix_type = MPI_DATATYPE_NULL;

extern "C" void multiply_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  REQUIRE(*type == matrix_type);  // the user's own handle
  for (int i = 0; i < *count; ++i) {
    Matrix& right = static_cast<Matrix*>(inout)[i];
    right = multiply(static_cast<Matrix*>(in)[i], right);
  }
}

extern "C" void add_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower_bound, &extent);  // MPI may be asked from an operation
  REQUIRE(extent == sizeof(Matrix));
  for (int i = 0; i < 4 * *count; ++i)
    static_cast<std::int32_t*>(inout)[i] += static_cast<std::int32_t*>(in)[i];
}

/// Long enough for the algorithms that cut data to pieces.
void check_long_in_order(MPI_Comm comm, MPI_Op multiplication) {
  constexpr int kCount = 20000;
  const int rank = rank_in(comm);
  std::vector<Matrix> matrices;
  for (int i = 0; i < kCount; ++i)
    matrices.push_back({{value(rank, i), value(rank, i + 1), rank, 1}});
  REQUIRE(MPI_Allreduce(MPI_IN_PLACE, matrices.data(), kCount, matrix_type, multiplication, comm) ==
          MPI_SUCCESS);
  for (int i = 0; i < kCount; ++i) {
    Matrix expected{{value(0, i), value(0, i + 1), 0, 1}};
    for (int other = 1; other < size_of(comm); ++other) {
      expected = multiply(expected, Matrix{{value(other, i), value(other, i + 1), other, 1}});
    }
    REQUIRE(matrices[i] == expected);
  }
}

void check_user_operations(MPI_Comm comm) {
  MPI_Type_contiguous(4, MPI_INT32_T, &matrix_type);
  MPI_Type_commit(&matrix_type);
  MPI_Op multiplication = MPI_OP_NULL;
  MPI_Op addition = MPI_OP_NULL;
  MPI_Op_create(multiply_all, 0, &multiplication);
  MPI_Op_create(add_all, 1, &addition);
  const auto make = [](int rank, int i) {
    return Matrix{{value(rank, i), value(rank, i + 1), rank, 1}};
  };
  const auto sum = [](Matrix a, const Matrix& b) {
    for (int i = 0; i < 4; ++i) a.at[i] += b.at[i];
    return a;
  };
  for (const int count : {0, 1, 3, 100})
    check_one<Matrix>(comm, matrix_type, multiplication, count, make, multiply);
  for (const int count : {0, 1, 3, 20000})
    check_one<Matrix>(comm, matrix_type, addition, count, make, sum);
  check_long_in_order(comm, multiplication);
  MPI_Op_free(&multiplication);
  MPI_Op_free(&addition);
  MPI_Type_free(&matrix_type);
}

MPI_Datatype spread_type = MPI_DATATYPE_NULL;

/// Maxima of the two ints that an element of spread_type has: 4 and 16 bytes from its origin, 24
/// bytes from one to the next.
extern "C" void spread_maximum(void* in, void* inout, int* count, MPI_Datatype* type) {
  REQUIRE(*type == spread_type);
  for (int i = 0; i < *count; ++i) {
    for (const int place : {1, 4}) {
      const int other = static_cast<int*>(in)[6 * i + place];
      int& here = static_cast<int*>(inout)[6 * i + place];
      if (other > here) here = other;
    }
  }
}

/// A datatype with gaps, a first byte away from its origin and an extent of its own.
void check_derived_type(MPI_Comm comm) {
  const int lengths[2] = {1, 1};
  const int places[2] = {1, 4};
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_indexed(2, lengths, places, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 24, &spread_type);
  MPI_Type_commit(&spread_type);
  MPI_Type_free(&inner);
  MPI_Op maximum = MPI_OP_NULL;
  MPI_Op_create(spread_maximum, 1, &maximum);
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  constexpr int kCount = 5;
  for (int root = 0; root < size; ++root) {
    std::vector<int> mine(6 * kCount);
    std::vector<int> result(6 * kCount, -1);
    for (int i = 0; i < 6 * kCount; ++i) mine[i] = (rank * 5 + i * 3 + root) % 11;
    MPI_Reduce(mine.data(), result.data(), kCount, spread_type, maximum, root, comm);
    for (int i = 0; i < 6 * kCount; ++i) {
      int expected = -1;
      const bool data = i % 6 == 1 || i % 6 == 4;
      for (int other = 0; other < size && data && rank == root; ++other)
        expected = std::max(expected, (other * 5 + i * 3 + root) % 11);
      REQUIRE_EQUAL(result[i], expected);
    }
  }
  MPI_Op_free(&maximum);
  MPI_Type_free(&spread_type);
}

/// Sums whose last bits depend on the order of adding: everybody gets the same.
void check_same_bits(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  constexpr int kCount = 100;
  std::vector<double> mine(kCount);
  std::vector<double> sums(kCount);
  for (int i = 0; i < kCount; ++i) mine[i] = 1.0 / (1 + rank * 13 + i) * (i % 2 == 0 ? 1e10 : 1e-7);
  MPI_Allreduce(mine.data(), sums.data(), kCount, MPI_DOUBLE, MPI_SUM, comm);
  std::vector<double> all(static_cast<std::size_t>(kCount) * size);
  MPI_Allgather(sums.data(), kCount, MPI_DOUBLE, all.data(), kCount, MPI_DOUBLE, comm);
  for (int other = 0; other < size; ++other) {
    REQUIRE(std::memcmp(&all[static_cast<std::size_t>(other) * kCount], sums.data(),
                        kCount * sizeof(double)) == 0);
  }
}

void check_sizes(MPI_Comm comm) {
  for (const int count : {0, 1, 127, 128, 16384, 300000}) {
    check_one<int>(comm, MPI_INT, MPI_SUM, count, value, [](int a, int b) { return a + b; });
  }
}

void check_all(MPI_Comm comm, const char* /*name*/) {
  check_integers(comm);
  check_arithmetic<float>(comm, MPI_FLOAT);
  check_arithmetic<double>(comm, MPI_DOUBLE);
  check_arithmetic<long double>(comm, MPI_LONG_DOUBLE);
  check_logical_and_bytes(comm);
  check_complex<float>(comm, MPI_C_FLOAT_COMPLEX);
  check_complex<double>(comm, MPI_C_DOUBLE_COMPLEX);
  check_pair<int>(comm, MPI_2INT);
  check_pair<float>(comm, MPI_FLOAT_INT);
  check_pair<double>(comm, MPI_DOUBLE_INT);
  check_pair<long>(comm, MPI_LONG_INT);
  check_pair<short>(comm, MPI_SHORT_INT);
  check_pair<long double>(comm, MPI_LONG_DOUBLE_INT);
  check_user_operations(comm);
  check_derived_type(comm);
  impishim_test::check_derived_types(comm);
  impishim_test::check_many_elements(comm);
  check_same_bits(comm);
  check_sizes(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  on_each_communicator(check_all);
  return impishim_test::finish("reductions");
}
