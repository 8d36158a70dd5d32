// SPDX-License-Identifier: Apache-2.0
/// Receives from MPI_ANY_SOURCE that both a process of this system and a process of another one can
/// fill: posted at the vendor and in the engine.
///
/// A native twin does not disturb MPI's matching order. The vendor alone matches messages of this
/// system's processes, against native receives posted in the user's order. The engine alone matches
/// messages of other systems, against receives posted there in the same order. A receive from
/// MPI_ANY_SOURCE is in both lists at its place, and only one of the two may fill it. A remote
/// message that reaches the receive contests it, and the twin is cancelled. A cancel has exactly
/// two outcomes. If the twin is cancelled, no native message had matched it, and the engine's first
/// match stands. If it is not, a native message had matched it. For the remote messages, this is as
/// if the receive had been taken before they arrived, so they match the next receives, in order.
/// MatchQueue holds them back meanwhile.
#pragma once

#include "shim/request/request.hpp"

namespace impishim::shim {

[[nodiscard]] const RequestKind& any_source_receive();

/// Settles receives for which a remote message and their native twin compete. Returns true if any
/// made progress.
bool settle_contested(Job& job);

}  // namespace impishim::shim
