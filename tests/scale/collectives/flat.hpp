// SPDX-License-Identifier: Apache-2.0
/// The algorithms of an MPI library that does not know of systems, for numbers of ranks that are
/// powers of two: dissemination, binomial trees, recursive doubling and halving, pairwise exchange
/// (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
/// 2005).
#pragma once

#include <cstdint>

#include "collectives/collectives.hpp"

namespace impishim::scale::flat {

using collectives::Data;
using collectives::Task;
using collectives::Team;

/// Bytes from which reductions and broadcasts divide their data.
inline constexpr std::uint64_t kLong = 12288;

/// `data` has elements of one byte. A message is any part of it: contents do not matter.
Task barrier(const Team& team);
Task bcast(const Team& team, Data data);
Task reduce(const Team& team, Data data);
Task allreduce(const Team& team, Data data);
/// Each rank contributes `block`; `room` is as large as all blocks.
Task allgather(const Team& team, Data block, Data room);
Task alltoall(const Team& team, Data block);
Task scan(const Team& team, Data data);

}  // namespace impishim::scale::flat
