// SPDX-License-Identifier: Apache-2.0
/// A window for the tests: memory of ints, filled with a value that no test writes.
#pragma once

#include <mpi.h>

#include <vector>

#include "tests/support/check.hpp"

namespace impishim_test {

constexpr int kUntouched = -7777;

class IntWindow {
 public:
  IntWindow(int count, MPI_Comm comm) : memory_(static_cast<std::size_t>(count), kUntouched) {
    MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(sizeof(int)) * count, sizeof(int),
                   MPI_INFO_NULL, comm, &window_);
  }
  ~IntWindow() { MPI_Win_free(&window_); }
  IntWindow(const IntWindow&) = delete;
  IntWindow& operator=(const IntWindow&) = delete;
  [[nodiscard]] MPI_Win window() const { return window_; }
  [[nodiscard]] int& operator[](int at) { return memory_[static_cast<std::size_t>(at)]; }
  [[nodiscard]] int* data() { return memory_.data(); }
  void fill(int value) { memory_.assign(memory_.size(), value); }

 private:
  std::vector<int> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace impishim_test
