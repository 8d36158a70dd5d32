// SPDX-License-Identifier: Apache-2.0
/// Hints of the program (MPI_Info), for this library and for the vendor.
#pragma once

#include <mpi.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace impishim::shim {

/// Returns the value of a hint, or nothing if the program does not give it.
[[nodiscard]] std::optional<std::string> hint(MPI_Info hints, const char* key);

/// The program's hints with some of them replaced, for the vendor.
class ChangedHints {
 public:
  /// Copies `hints`, which may be MPI_INFO_NULL, and sets pairs of key and value.
  ChangedHints(MPI_Info hints, std::initializer_list<std::pair<const char*, const char*>> changes);
  ~ChangedHints();
  ChangedHints(const ChangedHints&) = delete;
  ChangedHints& operator=(const ChangedHints&) = delete;
  /// Returns the hints, or MPI_INFO_NULL if the vendor could not copy them.
  [[nodiscard]] MPI_Info info() const { return hints_; }

 private:
  MPI_Info hints_ = MPI_INFO_NULL;
};

}  // namespace impishim::shim
