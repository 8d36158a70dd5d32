// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "tests/mpi/collectives/sweep/reduction.hpp"

namespace sweep {
namespace {

/// x -> factor * x + summand modulo 2^32, or just two numbers.
struct Pair {
  std::uint32_t factor;
  std::uint32_t summand;
};

Pair of_two(Op op, const Pair& left, const Pair& right) {
  if (op == Op::kUserSum) return {left.factor + right.factor, left.summand + right.summand};
  return {right.factor * left.factor, right.factor * left.summand + right.summand};
}

/// Where the two numbers of an item are.
struct Places {
  std::ptrdiff_t extent;
  std::ptrdiff_t factor;
  std::ptrdiff_t summand;
};

Places places_of(MPI_Datatype type) {
  if (type == MPI_UINT64_T) return {8, 0, 4};
  const Layout* layout = layouts().find(type);
  if (layout == nullptr) {
    std::fprintf(
        stderr, "a function of an operation was called with a datatype that is not the caller's\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return {};
  }
  return {layout->extent, layout->offsets[0], layout->offsets[1]};
}

Pair load(const std::byte* item, const Places& places) {
  Pair pair{};
  std::memcpy(&pair.factor, item + places.factor, sizeof(pair.factor));
  std::memcpy(&pair.summand, item + places.summand, sizeof(pair.summand));
  return pair;
}

void store(std::byte* item, const Places& places, const Pair& pair) {
  std::memcpy(item + places.factor, &pair.factor, sizeof(pair.factor));
  std::memcpy(item + places.summand, &pair.summand, sizeof(pair.summand));
}

void apply(Op op, const std::byte* left, std::byte* right, std::size_t items,
           const Places& places) {
  for (std::size_t i = 0; i < items; ++i) {
    store(right, places, of_two(op, load(left, places), load(right, places)));
    left += places.extent;
    right += places.extent;
  }
}

void add(void* left, void* right, int* length, MPI_Datatype* type) {
  apply(Op::kUserSum, static_cast<const std::byte*>(left), static_cast<std::byte*>(right),
        static_cast<std::size_t>(*length), places_of(*type));
}

void compose(void* left, void* right, int* length, MPI_Datatype* type) {
  apply(Op::kUserAffine, static_cast<const std::byte*>(left), static_cast<std::byte*>(right),
        static_cast<std::size_t>(*length), places_of(*type));
}

}  // namespace

void combine(const Layout& layout, std::size_t items, Op op, const Dense& left, Dense& right) {
  if (op == Op::kUserSum || op == Op::kUserAffine)
    return apply(op, left.data(), right.data(), items, {8, 0, 4});
  const Basic& type = *layout.map.front();
  for (std::size_t i = 0; i < items; ++i)
    type.combine(op, left.data() + i * type.size, right.data() + i * type.size);
}

MPI_Op create_user_operation(Op op) {
  MPI_Op made = MPI_OP_NULL;
  const bool commutes = op == Op::kUserSum;
  MPI_Op_create(commutes ? add : compose, commutes ? 1 : 0, &made);
  return made;
}

}  // namespace sweep
