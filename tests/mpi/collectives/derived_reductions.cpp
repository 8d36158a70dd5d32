// SPDX-License-Identifier: Apache-2.0
#include "derived_reductions.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace impishim_test {
namespace {

/// x -> factor * x + summand modulo 2^32.
struct Pair {
  std::uint32_t factor;
  std::uint32_t summand;
  bool operator==(const Pair& other) const {
    return factor == other.factor && summand == other.summand;
  }
};

Pair sum_of(Pair left, Pair right) {
  return {left.factor + right.factor, left.summand + right.summand};
}
/// Associative, not commutative.
Pair composed(Pair left, Pair right) {
  return {right.factor * left.factor, right.factor * left.summand + right.summand};
}

/// Where the two numbers of an element are, from its origin.
struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::ptrdiff_t factor = 0;
  std::ptrdiff_t summand = 0;
  std::ptrdiff_t extent = 0;
};

Layout before_the_origin() {
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {-8, 4};
  const MPI_Datatype types[2] = {MPI_UINT32_T, MPI_UINT32_T};
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  Layout layout{MPI_DATATYPE_NULL, -8, 4, 24};
  MPI_Type_create_struct(2, lengths, places, types, &inner);
  MPI_Type_create_resized(inner, -8, layout.extent, &layout.type);
  MPI_Type_commit(&layout.type);
  MPI_Type_free(&inner);
  return layout;
}

Layout vector_with_gaps() {
  Layout layout{MPI_DATATYPE_NULL, 0, 12, 16};
  MPI_Type_vector(2, 1, 3, MPI_UINT32_T, &layout.type);
  MPI_Type_commit(&layout.type);
  return layout;
}

/// The layout that operations are called with.
Layout current;

Pair load(const std::byte* element) {
  Pair pair{};
  std::memcpy(&pair.factor, element + current.factor, sizeof(pair.factor));
  std::memcpy(&pair.summand, element + current.summand, sizeof(pair.summand));
  return pair;
}

void store(std::byte* element, Pair pair) {
  std::memcpy(element + current.factor, &pair.factor, sizeof(pair.factor));
  std::memcpy(element + current.summand, &pair.summand, sizeof(pair.summand));
}

template <Pair (*kCombine)(Pair, Pair)>
void combine_all(void* in, void* inout, int* count, MPI_Datatype* type) {
  REQUIRE(*type == current.type);  // the user's own handle
  for (int i = 0; i < *count; ++i) {
    std::byte* const right = static_cast<std::byte*>(inout) + i * current.extent;
    store(right, kCombine(load(static_cast<std::byte*>(in) + i * current.extent), load(right)));
  }
}

/// Elements between guards: all bytes but those of elements that have been put are known.
class Elements {
 public:
  explicit Elements(int count)
      : memory_(2 * kGuard + static_cast<std::size_t>(count * current.extent), kUntouched) {}
  [[nodiscard]] std::byte* at(int i) { return memory_.data() + kGuard + i * current.extent; }
  void put(int i, Pair pair) { store(at(i), pair); }
  /// Elements from 0 on are these, and nothing else has been touched but elements from there up to
  /// `open`.
  void require(const std::vector<Pair>& expected, int open) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      REQUIRE(load(at(static_cast<int>(i))) == expected[i]);
    Pair untouched{};
    std::memset(&untouched, static_cast<int>(kUntouched), sizeof(untouched));
    for (int i = 0; i < std::max(open, static_cast<int>(expected.size())); ++i) put(i, untouched);
    for (const std::byte each : memory_) REQUIRE(each == kUntouched);
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kUntouched{0xa5};
  std::vector<std::byte> memory_;
};

/// One operation on one communicator.
class Check {
 public:
  Check(MPI_Comm comm, bool commutes)
      : comm_(comm),
        commutes_(commutes),
        rank_(rank_in(comm)),
        size_(size_of(comm)),
        combine_(commutes ? sum_of : composed) {
    MPI_Op_create(commutes ? combine_all<sum_of> : combine_all<composed>, commutes ? 1 : 0, &op_);
    int answer = -1;
    REQUIRE_EQUAL(MPI_Op_commutative(op_, &answer), MPI_SUCCESS);
    REQUIRE_EQUAL(answer != 0, commutes);
  }
  ~Check() { MPI_Op_free(&op_); }
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  /// This process's elements with those of the next one, without them.
  void reduce_local(int count) {
    Elements in = contribution(rank_, count);
    Elements inout = contribution(rank_ + 1, count);
    REQUIRE_EQUAL(MPI_Reduce_local(in.at(0), inout.at(0), count, current.type, op_), MPI_SUCCESS);
    std::vector<Pair> expected;
    for (int i = 0; i < count; ++i)
      expected.push_back(combine_(element(rank_, i), element(rank_ + 1, i)));
    inout.require(expected, 0);
    in.require(own(count), 0);
  }

  void reduce(int count, int root) {
    const bool at_root = rank_ == root;
    Elements send = contribution(count);
    Elements result(at_root ? count : 0);
    REQUIRE_EQUAL(MPI_Reduce(send.at(0), at_root ? result.at(0) : nullptr, count, current.type, op_,
                             root, comm_),
                  MPI_SUCCESS);
    if (at_root) result.require(of_ranks(size_, 0, count), 0);
    send.require(own(count), 0);
    // MPICH 4.0.2 itself crashes in place from 2 KiB on.
    if (count * sizeof(Pair) > 2048) return;
    Elements both = contribution(count);
    const void* const from = at_root ? MPI_IN_PLACE : both.at(0);
    REQUIRE_EQUAL(
        MPI_Reduce(from, at_root ? both.at(0) : nullptr, count, current.type, op_, root, comm_),
        MPI_SUCCESS);
    both.require(at_root ? of_ranks(size_, 0, count) : own(count), 0);
  }

  void allreduce(int count) {
    twice(count, of_ranks(size_, 0, count), [&](const void* send, void* receive) {
      return MPI_Allreduce(send, receive, count, current.type, op_, comm_);
    });
  }

  void scan(int count) {
    twice(count, of_ranks(rank_ + 1, 0, count), [&](const void* send, void* receive) {
      return MPI_Scan(send, receive, count, current.type, op_, comm_);
    });
  }

  /// What rank 0 gets is not told; not in place, its buffer stays as it is.
  void exscan(int count) {
    Elements send = contribution(count);
    Elements result(count);
    REQUIRE_EQUAL(MPI_Exscan(send.at(0), result.at(0), count, current.type, op_, comm_),
                  MPI_SUCCESS);
    result.require(of_ranks(rank_, 0, rank_ == 0 ? 0 : count), 0);
    send.require(own(count), 0);
    Elements both = contribution(count);
    REQUIRE_EQUAL(MPI_Exscan(MPI_IN_PLACE, both.at(0), count, current.type, op_, comm_),
                  MPI_SUCCESS);
    both.require(of_ranks(rank_, 0, rank_ == 0 ? 0 : count), count);
  }

  void reduce_scatter(int least) {
    std::vector<int> counts;
    for (int other = 0; other < size_; ++other) counts.push_back(least + other);
    const int total = std::accumulate(counts.begin(), counts.end(), 0);
    const int begin = std::accumulate(counts.begin(), counts.begin() + rank_, 0);
    const std::vector<Pair> expected = of_ranks(size_, begin, least + rank_);
    Elements send = contribution(total);
    Elements result(least + rank_);
    REQUIRE_EQUAL(
        MPI_Reduce_scatter(send.at(0), result.at(0), counts.data(), current.type, op_, comm_),
        MPI_SUCCESS);
    result.require(expected, 0);
    send.require(own(total), 0);
    Elements both = contribution(total);
    REQUIRE_EQUAL(
        MPI_Reduce_scatter(MPI_IN_PLACE, both.at(0), counts.data(), current.type, op_, comm_),
        MPI_SUCCESS);
    both.require(expected, total);
  }

  [[nodiscard]] bool commutes() const { return commutes_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  static Pair element(int rank, int i) {
    return {static_cast<std::uint32_t>(3 + 2 * rank + i % 1000),
            static_cast<std::uint32_t>(7 * rank + i)};
  }
  [[nodiscard]] std::vector<Pair> own(int count) const {
    std::vector<Pair> pairs;
    for (int i = 0; i < count; ++i) pairs.push_back(element(rank_, i));
    return pairs;
  }
  [[nodiscard]] Elements contribution(int count) const { return contribution(rank_, count); }
  static Elements contribution(int rank, int count) {
    Elements elements(count);
    for (int i = 0; i < count; ++i) elements.put(i, element(rank, i));
    return elements;
  }
  /// The reduction of the first `ranks` ranks' elements, `count` of it from `begin` on.
  [[nodiscard]] std::vector<Pair> of_ranks(int ranks, int begin, int count) const {
    std::vector<Pair> pairs;
    for (int i = begin; i < begin + count; ++i) {
      Pair pair = element(0, i);
      for (int other = 1; other < ranks; ++other) pair = combine_(pair, element(other, i));
      pairs.push_back(pair);
    }
    return pairs;
  }
  /// From one buffer to another, and in place.
  template <class Call>
  void twice(int count, const std::vector<Pair>& expected, const Call& call) {
    Elements send = contribution(count);
    Elements result(count);
    REQUIRE_EQUAL(call(send.at(0), result.at(0)), MPI_SUCCESS);
    result.require(expected, 0);
    send.require(own(count), 0);
    Elements both = contribution(count);
    REQUIRE_EQUAL(call(MPI_IN_PLACE, both.at(0)), MPI_SUCCESS);
    both.require(expected, 0);
  }

  MPI_Comm comm_;
  bool commutes_;
  int rank_;
  int size_;
  Pair (*combine_)(Pair, Pair);
  MPI_Op op_ = MPI_OP_NULL;
};

/// Its members are in several systems.
bool spans(MPI_Comm comm) {
  if (impishim_comm_world == nullptr || !in_joined_job()) return false;
  int* systems = nullptr;
  int found = 0;
  REQUIRE_EQUAL(MPI_Comm_get_attr(comm, IMPI_CLIENT_SIZE, &systems, &found), MPI_SUCCESS);
  REQUIRE(found != 0);
  return *systems > 1;
}

/// MPICH 4.0.2 itself scatters in a wrong order if the operation does not commute.
bool scatters_in_order(MPI_Comm comm) {
#ifdef OPEN_MPI
  static_cast<void>(comm);
  return true;
#else
  return spans(comm);
#endif
}

/// By all members together.
long long combined = 0;

extern "C" void count_elements(void* /*in*/, void* /*inout*/, int* count, MPI_Datatype* /*type*/) {
  REQUIRE(*count >= 0);
  combined += *count;
}

}  // namespace

void check_derived_types(MPI_Comm comm) {
  for (const auto make : {before_the_origin, vector_with_gaps}) {
    current = make();
    for (const bool commutes : {true, false}) {
      Check check(comm, commutes);
      // Long enough for messages in segments, and for the forms of long data.
      for (const int count : {1, 7, 40000}) {
        check.reduce_local(count);
        for (int root = 0; root < check.size(); ++root) check.reduce(count, root);
        check.allreduce(count);
        check.scan(count);
        check.exscan(count);
        if (commutes || scatters_in_order(comm)) check.reduce_scatter(count);
      }
    }
    MPI_Type_free(&current.type);
  }
}

void check_many_elements(MPI_Comm comm) {
  if (!spans(comm)) return;
  MPI_Datatype nothing = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(count_elements, 1, &op);
  const int size = size_of(comm);
  const std::vector<int> counts(static_cast<std::size_t>(size), INT_MAX);
  int send = 0;
  int receive = 0;
  combined = 0;
  REQUIRE_EQUAL(MPI_Reduce_scatter(&send, &receive, counts.data(), nothing, op, comm), MPI_SUCCESS);
  MPI_Allreduce(MPI_IN_PLACE, &combined, 1, MPI_LONG_LONG, MPI_SUM, comm);
  REQUIRE_EQUAL(combined, static_cast<long long>(size - 1) * size * INT_MAX);
  MPI_Op_free(&op);
  MPI_Type_free(&nothing);
}

}  // namespace impishim_test
