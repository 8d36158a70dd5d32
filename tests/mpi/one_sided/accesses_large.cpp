// SPDX-License-Identifier: Apache-2.0
// Windows and accesses with large counts: from every rank to every rank.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr MPI_Count kCount = 300;

/// A window with kCount longs for each rank, all of which hold the owner's number times 1000.
class Blocks {
 public:
  explicit Blocks(bool allocates) : memory_(data_size(), 0) {
    const auto bytes = static_cast<MPI_Aint>(sizeof(long) * data_size());
    base_ = memory_.data();
    if (allocates) {
      MPI_Win_allocate_c(bytes, sizeof(long), MPI_INFO_NULL, kWorld, static_cast<void*>(&base_),
                         &window_);
    } else {
      MPI_Win_create_c(base_, bytes, sizeof(long), MPI_INFO_NULL, kWorld, &window_);
    }
    fill();
  }
  ~Blocks() { MPI_Win_free(&window_); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  [[nodiscard]] MPI_Win window() const { return window_; }
  /// The elements of this rank's memory that rank `from` uses.
  [[nodiscard]] long* of(int from) const { return base_ + from * kCount; }
  void fill() {
    MPI_Win_fence(0, window_);
    for (std::size_t i = 0; i < data_size(); ++i) base_[i] = 1000L * rank_in(kWorld);
    MPI_Win_fence(0, window_);
  }

 private:
  static std::size_t data_size() {
    return static_cast<std::size_t>(size_of(kWorld)) * static_cast<std::size_t>(kCount);
  }
  std::vector<long> memory_;
  long* base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Runs `access` on every rank's memory, at this rank's place, and checks what the owners hold.
void run_on_all(Blocks& blocks, const std::function<void(int target, MPI_Aint at)>& access,
                const std::function<long(int origin, int target)>& expected) {
  blocks.fill();
  const int rank = rank_in(kWorld);
  MPI_Win_lock_all(0, blocks.window());
  for (int target = 0; target < size_of(kWorld); ++target)
    access(target, static_cast<MPI_Aint>(rank) * kCount);
  MPI_Win_unlock_all(blocks.window());
  MPI_Win_fence(0, blocks.window());
  for (int from = 0; from < size_of(kWorld); ++from)
    for (MPI_Count i = 0; i < kCount; ++i) REQUIRE_EQUAL(blocks.of(from)[i], expected(from, rank));
}

void check_puts(Blocks& blocks) {
  const std::vector<long> out(kCount, rank_in(kWorld) + 1);
  const auto origin = [](int from, int /*target*/) { return from + 1L; };
  const auto sum = [](int from, int target) { return 1000L * target + from + 1; };
  const MPI_Win window = blocks.window();
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Put_c(out.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, window);
      },
      origin);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Rput_c(out.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      origin);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Accumulate_c(out.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, MPI_SUM,
                         window);
      },
      sum);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Raccumulate_c(out.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, MPI_SUM,
                          window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      sum);
}

void check_gets(Blocks& blocks) {
  const MPI_Win window = blocks.window();
  const auto untouched = [](int /*from*/, int target) { return 1000L * target; };
  const auto sum = [](int /*from*/, int target) { return 1000L * target + 7; };
  const std::vector<long> seven(kCount, 7);
  std::vector<long> in(kCount, -1);
  const auto check = [&](int target) {
    for (const long each : in) REQUIRE_EQUAL(each, 1000L * target);
    in.assign(in.size(), -1);
  };
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Get_c(in.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, window);
        MPI_Win_flush(target, window);
        check(target);
      },
      untouched);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Rget_c(in.data(), kCount, MPI_LONG, target, at, kCount, MPI_LONG, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(target);
      },
      untouched);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Get_accumulate_c(seven.data(), kCount, MPI_LONG, in.data(), kCount, MPI_LONG, target,
                             at, kCount, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(target, window);
        check(target);
      },
      sum);
  run_on_all(
      blocks,
      [&](int target, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Rget_accumulate_c(seven.data(), kCount, MPI_LONG, in.data(), kCount, MPI_LONG, target,
                              at, kCount, MPI_LONG, MPI_SUM, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(target);
      },
      sum);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  for (const bool allocates : {false, true}) {
    Blocks blocks(allocates);
    check_puts(blocks);
    check_gets(blocks);
  }
  std::printf("rank %d of %d: right\n", rank_in(kWorld), size_of(kWorld));
  MPI_Finalize();
  return 0;
}
