// SPDX-License-Identifier: Apache-2.0
/// Datatypes whose memory layout is known without asking MPI: the tests' own typemaps
/// (MPI-3.1 4.1).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "tests/mpi/collectives/sweep/element.hpp"
#include "tests/support/content.hpp"

namespace sweep {

using impishim_test::Random;
using impishim_test::shuffled;
using Dense = std::vector<std::byte>;  ///< elements one after another, without gaps

/// A datatype with its typemap.
struct Layout {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::vector<const Basic*> map;        ///< in the order of the typemap
  std::vector<std::ptrdiff_t> offsets;  ///< of each of them, in bytes
  std::ptrdiff_t extent = 0;
  std::ptrdiff_t low = 0;   ///< first byte of data
  std::ptrdiff_t high = 0;  ///< behind the last one
  const char* kind = "";

  [[nodiscard]] std::size_t dense_size() const;
};

/// The layouts in use.
class Layouts {
 public:
  /// An element type by itself.
  const Layout& single(const Basic& type);
  /// `repeat` times the pattern in one of several layouts with gaps, strides of both signs and
  /// lower bounds.
  const Layout& derived(const std::vector<const Basic*>& pattern, int repeat, Random& random);
  /// The pattern once, in ascending order from 0 on.
  const Layout& ascending(const std::vector<const Basic*>& pattern);
  /// Two 32-bit numbers with gaps before, between and behind them.
  const Layout& gapped_pair();

  /// That of a derived handle, for functions of operations; null if there is none.
  [[nodiscard]] const Layout* find(MPI_Datatype handle) const;
  /// MPI_Type_free of all derived ones; what is known of them stays until forget().
  void free_handles();
  /// Derived ones are needed no longer.
  void forget();

 private:
  const Layout& keep(Layout layout);

  std::deque<Layout> singles_;
  std::deque<Layout> derived_;
  std::size_t freed_ = 0;
};

/// Of this process.
Layouts& layouts();

}  // namespace sweep
