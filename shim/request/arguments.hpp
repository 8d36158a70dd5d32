// SPDX-License-Identifier: Apache-2.0
/// Checks of the arguments of calls on spanning communicators that the vendor does not see.
#pragma once

#include <mpi.h>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

/// Checks destination, tag and count of a send. Returns MPI_SUCCESS, or the code that was raised.
[[nodiscard]] int check_send(const Job& job, const Communicator& communicator, const char* function,
                             int count, MPI_Datatype datatype, int dest, int tag);
/// Checks source (MPI_ANY_SOURCE allowed), tag (MPI_ANY_TAG allowed) and count of a receive or
/// probe.
[[nodiscard]] int check_receive(const Job& job, const Communicator& communicator,
                                const char* function, int count, MPI_Datatype datatype, int source,
                                int tag);

/// Describes the user's buffer for the wire. Returns an MPI code that was not raised: MPI_ERR_TYPE,
/// or MPI_ERR_BUFFER for a null address of a predefined type (MPI_BOTTOM makes sense for derived
/// types only).
[[nodiscard]] int describe_buffer(const char* function, const void* address, std::int64_t count,
                                  MPI_Datatype datatype, wire::ConstBuffer& buffer);
[[nodiscard]] int describe_buffer(const char* function, void* address, std::int64_t count,
                                  MPI_Datatype datatype, wire::MutableBuffer& buffer);

/// Sets where and how a send of this process goes, except for its buffer. `dest` is a valid
/// spanning rank.
inline void address_send(const Communicator& communicator, int dest, int tag, SendKind kind,
                         wire::SendOperation& send) {
  send.destination = communicator.world_rank(dest);
  send.context = communicator.context;
  send.source_rank = communicator.rank;
  send.tag = tag;
  send.mode =
      kind == SendKind::kSynchronous ? wire::SendMode::kSynchronous : wire::SendMode::kStandard;
}

}  // namespace impishim::shim
