// SPDX-License-Identifier: Apache-2.0
// Derived datatypes between every rank and the next: gaps, negative strides, structs, changed
// bounds, absolute addresses; and every predefined type by its values. What arrives must be what
// MPI's own rules say, element by element.
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int above() { return (rank_in(kWorld) + 1) % size_of(kWorld); }
int below() { return (rank_in(kWorld) + size_of(kWorld) - 1) % size_of(kWorld); }

/// Sends to the rank above and receives from the one below; returns the status of the receive.
MPI_Status pass(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type) {
  MPI_Status status;
  MPI_Sendrecv(out, out_count, out_type, above(), 1, in, in_count, in_type, below(), 1, kWorld,
               &status);
  return status;
}

int value(int rank, int index) { return rank * 100000 + index; }

/// Columns of a matrix go out, and arrive as rows; elements in the gaps stay.
void vector_with_gaps(int rows, int columns) {
  const auto total = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  std::vector<int> matrix(total);
  for (std::size_t i = 0; i < total; ++i) matrix[i] = value(rank_in(kWorld), static_cast<int>(i));
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
  MPI_Datatype columns_in_order = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(column, 0, sizeof(int), &columns_in_order);
  MPI_Type_commit(&columns_in_order);

  std::vector<int> transposed(total, -1);
  MPI_Status status = pass(matrix.data(), columns, columns_in_order, transposed.data(),
                           static_cast<int>(total), MPI_INT);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  REQUIRE_EQUAL(count, total);
  for (int row = 0; row < rows; ++row) {
    for (int at = 0; at < columns; ++at) {
      REQUIRE_EQUAL(transposed[static_cast<std::size_t>(at * rows + row)],
                    value(below(), row * columns + at));
    }
  }
  std::vector<int> single(total, -1);
  status = pass(matrix.data(), rows, MPI_INT, single.data(), 1, columns_in_order);
  MPI_Get_count(&status, columns_in_order, &count);
  REQUIRE_EQUAL(count, 1);
  for (std::size_t i = 0; i < total; ++i) {
    const auto row = static_cast<int>(i) / columns;
    REQUIRE_EQUAL(single[i], i % static_cast<std::size_t>(columns) == 0 ? value(below(), row) : -1);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&columns_in_order);
}

/// The last element first.
void negative_stride() {
  constexpr int kElements = 40000;  // more than a packet
  std::vector<double> numbers(kElements);
  for (int i = 0; i < kElements; ++i)
    numbers[static_cast<std::size_t>(i)] = value(rank_in(kWorld), i) + 0.25;
  MPI_Datatype backwards = MPI_DATATYPE_NULL;
  MPI_Type_vector(kElements, 1, -1, MPI_DOUBLE, &backwards);
  MPI_Type_commit(&backwards);
  std::vector<double> in(kElements, -1);
  pass(&numbers.back(), 1, backwards, in.data(), kElements, MPI_DOUBLE);
  for (int i = 0; i < kElements; ++i) {
    REQUIRE(in[static_cast<std::size_t>(i)] == value(below(), kElements - 1 - i) + 0.25);
  }
  MPI_Type_free(&backwards);
}

struct Particle {
  char kind;
  double position[3];
  short charge;
  int neighbours[2];
  long id;
};

MPI_Datatype particle_type() {
  const std::array<int, 5> lengths = {1, 3, 1, 2, 1};
  const std::array<MPI_Aint, 5> offsets = {offsetof(Particle, kind), offsetof(Particle, position),
                                           offsetof(Particle, charge),
                                           offsetof(Particle, neighbours), offsetof(Particle, id)};
  const std::array<MPI_Datatype, 5> types = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT, MPI_LONG};
  MPI_Datatype fields = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(5, lengths.data(), offsets.data(), types.data(), &fields);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(fields, 0, sizeof(Particle), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&fields);
  return type;
}

Particle particle(int rank, int index) {
  Particle made;
  std::memset(&made, 0, sizeof made);
  made.kind = static_cast<char>('a' + index % 26);
  for (int i = 0; i < 3; ++i) made.position[i] = rank + index * 0.5 + i;
  made.charge = static_cast<short>(index - 100);
  made.neighbours[0] = rank;
  made.neighbours[1] = index;
  made.id = (1L << 40) + index;  // more than 32 bits: kept between systems of one representation
  return made;
}

void structs(int count) {
  MPI_Datatype type = particle_type();
  std::vector<Particle> out;
  for (int i = 0; i < count; ++i) out.push_back(particle(rank_in(kWorld), i));
  std::vector<Particle> in(static_cast<std::size_t>(count) + 2);
  std::memset(static_cast<void*>(in.data()), 0, in.size() * sizeof(Particle));
  const MPI_Status status = pass(out.data(), count, type, in.data(), count + 2, type);
  int received = -1;
  int elements = -1;
  MPI_Get_count(&status, type, &received);
  REQUIRE_EQUAL(received, count);
  MPI_Get_elements(&status, type, &elements);
  REQUIRE_EQUAL(elements, count * 8);
  for (int i = 0; i < count; ++i) {
    const Particle expected = particle(below(), i);
    REQUIRE(std::memcmp(&in[static_cast<std::size_t>(i)], &expected, sizeof(Particle)) == 0);
  }
  MPI_Type_free(&type);
}

/// Half of a pair arrives: MPI_Get_count cannot say how many, MPI_Get_elements can.
void partial_elements() {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const std::array<int, 3> out = {1, 2, 3};
  std::array<int, 4> in = {};
  const MPI_Status status = pass(out.data(), 3, MPI_INT, in.data(), 2, pair);
  int count = 0;
  MPI_Get_count(&status, pair, &count);
  REQUIRE_EQUAL(count, MPI_UNDEFINED);
  MPI_Get_elements(&status, pair, &count);
  REQUIRE_EQUAL(count, 3);
  MPI_Count elements = 0;
  MPI_Get_elements_x(&status, pair, &elements);
  REQUIRE_EQUAL(elements, 3);
  MPI_Type_free(&pair);
}

/// Absolute addresses, from two arrays at once.
void from_bottom() {
  std::vector<int> first(1000);
  std::vector<double> second(500);
  for (int i = 0; i < 1000; ++i) first[static_cast<std::size_t>(i)] = value(rank_in(kWorld), i);
  for (int i = 0; i < 500; ++i)
    second[static_cast<std::size_t>(i)] = value(rank_in(kWorld), i) / 8.0;
  std::vector<int> first_in(1000);
  std::vector<double> second_in(500);
  const auto type_of = [](void* ints, void* doubles) {
    std::array<MPI_Aint, 2> addresses = {};
    MPI_Get_address(ints, &addresses[0]);
    MPI_Get_address(doubles, &addresses[1]);
    const std::array<int, 2> lengths = {1000, 500};
    const std::array<MPI_Datatype, 2> types = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths.data(), addresses.data(), types.data(), &type);
    MPI_Type_commit(&type);
    return type;
  };
  MPI_Datatype out = type_of(first.data(), second.data());
  MPI_Datatype in = type_of(first_in.data(), second_in.data());
  pass(MPI_BOTTOM, 1, out, MPI_BOTTOM, 1, in);
  for (int i = 0; i < 1000; ++i)
    REQUIRE_EQUAL(first_in[static_cast<std::size_t>(i)], value(below(), i));
  for (int i = 0; i < 500; ++i)
    REQUIRE(second_in[static_cast<std::size_t>(i)] == value(below(), i) / 8.0);
  MPI_Type_free(&out);
  MPI_Type_free(&in);
}

/// A lower bound below zero and an extent of our own; a block of a three-dimensional array; blocks
/// at any place.
void bounds_and_blocks() {
  MPI_Datatype shifted = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, -4, 12, &shifted);
  MPI_Type_commit(&shifted);
  std::array<int, 30> wide = {};
  for (int i = 0; i < 30; ++i) wide[static_cast<std::size_t>(i)] = value(rank_in(kWorld), i);
  std::array<int, 10> narrow = {};
  pass(wide.data(), 10, shifted, narrow.data(), 10, MPI_INT);
  for (int i = 0; i < 10; ++i)
    REQUIRE_EQUAL(narrow[static_cast<std::size_t>(i)], value(below(), 3 * i));
  MPI_Type_free(&shifted);

  const std::array<int, 3> sizes = {10, 12, 14};
  const std::array<int, 3> block = {3, 5, 7};
  const std::array<int, 3> start = {2, 4, 6};
  MPI_Datatype part = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes.data(), block.data(), start.data(), MPI_ORDER_C, MPI_FLOAT,
                           &part);
  MPI_Type_commit(&part);
  std::vector<float> cube(10 * 12 * 14);
  for (std::size_t i = 0; i < cube.size(); ++i)
    cube[i] = static_cast<float>(rank_in(kWorld) * 10000) + static_cast<float>(i);
  std::vector<float> in(cube.size(), -1.0F);
  pass(cube.data(), 1, part, in.data(), 1, part);
  for (int x = 0; x < 10; ++x) {
    for (int y = 0; y < 12; ++y) {
      for (int z = 0; z < 14; ++z) {
        const bool inside = x >= 2 && x < 5 && y >= 4 && y < 9 && z >= 6 && z < 13;
        const auto at = static_cast<std::size_t>((x * 12 + y) * 14 + z);
        REQUIRE(in[at] ==
                (inside ? static_cast<float>(below() * 10000) + static_cast<float>(at) : -1.0F));
      }
    }
  }
  MPI_Type_free(&part);

  const std::array<int, 3> lengths = {2, 0, 3};
  const std::array<int, 3> places = {7, 100, 1};
  MPI_Datatype indexed = MPI_DATATYPE_NULL;
  MPI_Type_indexed(3, lengths.data(), places.data(), MPI_INT, &indexed);
  MPI_Type_commit(&indexed);
  std::array<int, 5> five = {};
  pass(wide.data(), 1, indexed, five.data(), 5, MPI_INT);
  const std::array<int, 5> from = {7, 8, 1, 2, 3};
  for (std::size_t i = 0; i < 5; ++i) REQUIRE_EQUAL(five[i], value(below(), from[i]));
  MPI_Type_free(&indexed);
}

/// A predefined type: `count` values that differ, none of them symmetrical in its bytes.
template <typename Value>
void predefined(MPI_Datatype type, Value first, Value step) {
  constexpr int kValues = 50;
  std::vector<Value> out(kValues);
  std::vector<Value> in(kValues);
  const auto nth = [&](int rank, int index) {
    Value made = first;
    for (int i = 0; i < rank * 3 + index; ++i) made = static_cast<Value>(made + step);
    return made;
  };
  for (int i = 0; i < kValues; ++i) out[static_cast<std::size_t>(i)] = nth(rank_in(kWorld), i);
  const MPI_Status status = pass(out.data(), kValues, type, in.data(), kValues, type);
  int count = 0;
  MPI_Get_count(&status, type, &count);
  REQUIRE_EQUAL(count, kValues);
  for (int i = 0; i < kValues; ++i) REQUIRE(in[static_cast<std::size_t>(i)] == nth(below(), i));
}

template <typename Value>
struct WithIndex {
  Value value;
  int index;
};

template <typename Value>
void pair_type(MPI_Datatype type, Value first) {
  std::array<WithIndex<Value>, 20> out;
  std::array<WithIndex<Value>, 20> in;
  std::memset(static_cast<void*>(in.data()), 0, sizeof in);
  for (int i = 0; i < 20; ++i)
    out[static_cast<std::size_t>(i)] = {
        static_cast<Value>(first + static_cast<Value>(rank_in(kWorld) * 20 + i)), -i};
  pass(out.data(), 20, type, in.data(), 20, type);
  for (int i = 0; i < 20; ++i) {
    const auto& got = in[static_cast<std::size_t>(i)];
    REQUIRE(got.value == static_cast<Value>(first + static_cast<Value>(below() * 20 + i)));
    REQUIRE_EQUAL(got.index, -i);
  }
}

void integer_types() {
  predefined<char>(MPI_CHAR, 'A', 1);
  predefined<signed char>(MPI_SIGNED_CHAR, -100, 3);
  predefined<unsigned char>(MPI_UNSIGNED_CHAR, 100, 3);
  predefined<unsigned char>(MPI_BYTE, 3, 5);
  predefined<short>(MPI_SHORT, -30000, 333);
  predefined<unsigned short>(MPI_UNSIGNED_SHORT, 3, 999);
  predefined<int>(MPI_INT, -2000000000, 33333333);
  predefined<unsigned>(MPI_UNSIGNED, 3000000000U, 7654321);
  predefined<long>(MPI_LONG, -(1L << 60), 12345678901234L);
  predefined<unsigned long>(MPI_UNSIGNED_LONG, 1UL << 63, 12345678901234UL);
  predefined<long long>(MPI_LONG_LONG, -(1LL << 61), 12345678901234LL);
  predefined<unsigned long long>(MPI_UNSIGNED_LONG_LONG, 1ULL << 63, 12345678901234ULL);
  predefined<wchar_t>(MPI_WCHAR, L'\u20ac', 70001);
  predefined<std::int8_t>(MPI_INT8_T, -120, 3);
  predefined<std::int16_t>(MPI_INT16_T, -32000, 444);
  predefined<std::int32_t>(MPI_INT32_T, -2100000000, 44444444);
  predefined<std::int64_t>(MPI_INT64_T, -(std::int64_t{1} << 62), 98765432109876);
  predefined<std::uint8_t>(MPI_UINT8_T, 5, 3);
  predefined<std::uint16_t>(MPI_UINT16_T, 5, 999);
  predefined<std::uint32_t>(MPI_UINT32_T, 5, 66666666);
  predefined<std::uint64_t>(MPI_UINT64_T, 5, 98765432109876U);
  predefined<MPI_Aint>(MPI_AINT, 77, 1L << 33);
  predefined<MPI_Count>(MPI_COUNT, 78, 1L << 34);
  predefined<MPI_Offset>(MPI_OFFSET, 79, 1L << 35);
}

void other_types() {
  predefined<float>(MPI_FLOAT, 1.5F, 0.001F);
  predefined<double>(MPI_DOUBLE, -1e300, 1.2345678e290);
  predefined<long double>(MPI_LONG_DOUBLE, 1.0L / 3.0L, 1.0L / 7.0L);
  predefined<std::complex<float>>(MPI_CXX_FLOAT_COMPLEX, {1, 2}, {0.5F, -0.25F});
  predefined<std::complex<double>>(MPI_CXX_DOUBLE_COMPLEX, {1, 2}, {0.1, -0.3});
  predefined<std::complex<long double>>(MPI_CXX_LONG_DOUBLE_COMPLEX, {1, 2}, {0.1L, -0.3L});
  predefined<std::complex<float>>(MPI_C_FLOAT_COMPLEX, {1, 2}, {0.5F, -0.25F});
  predefined<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, {1, 2}, {0.1, -0.3});
  pair_type<float>(MPI_FLOAT_INT, 0.5F);
  pair_type<double>(MPI_DOUBLE_INT, 0.125);
  pair_type<long>(MPI_LONG_INT, 1L << 50);
  pair_type<int>(MPI_2INT, 1 << 20);
  pair_type<short>(MPI_SHORT_INT, 300);
  pair_type<long double>(MPI_LONG_DOUBLE_INT, 0.0625L);

  std::array<bool, 9> bools = {true, false, true, true, false, false, true, false, true};
  std::array<bool, 9> bools_in = {};
  pass(bools.data(), 9, MPI_CXX_BOOL, bools_in.data(), 9, MPI_CXX_BOOL);
  REQUIRE(bools == bools_in);
  pass(bools.data(), 9, MPI_C_BOOL, bools_in.data(), 9, MPI_C_BOOL);
  REQUIRE(bools == bools_in);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  vector_with_gaps(7, 5);
  vector_with_gaps(300, 200);
  negative_stride();
  structs(1);
  structs(5000);
  partial_elements();
  from_bottom();
  bounds_and_blocks();
  integer_types();
  other_types();
  std::printf("rank %d: all types\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
