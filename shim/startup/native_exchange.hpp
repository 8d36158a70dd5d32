// SPDX-License-Identifier: Apache-2.0
/// Small exchanges among the processes of one system during startup, over the vendor's collectives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::shim {

/// Meets the other processes of `comm` without burning their processors: the vendor's barrier would
/// spin while others wait for the network.
void meet_politely(MPI_Comm comm);
/// Every process's bytes, in rank order, on `root` (elsewhere empty).
[[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, int root,
                                                               std::span<const std::byte> mine);
/// The root's bytes on everybody.
[[nodiscard]] std::vector<std::byte> broadcast_bytes(MPI_Comm comm, int root,
                                                     std::vector<std::byte> bytes);
/// The error of the lowest rank that has one, on everybody; nothing if nobody has. One that only
/// follows from another process's (kAborted) counts if there is no other.
[[nodiscard]] std::optional<Error> first_error(MPI_Comm comm, const std::optional<Error>& mine);
/// kConfiguration where this process's value of the variable `name` (empty: not set) is not that of
/// rank 0.
[[nodiscard]] Result<void> same_as_first(MPI_Comm comm, const char* name, const std::string& value);

}  // namespace impishim::shim
