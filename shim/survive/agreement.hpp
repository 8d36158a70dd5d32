// SPDX-License-Identifier: Apache-2.0
/// Agreement of the members of a spanning communicator that are not lost.
///
/// The members of a system combine their words at its first member, by letters
/// (comm/named_meeting.hpp). These first members agree (values/survivor_agreement.hpp), by messages
/// in a context of their own. Nothing of it uses the communicator's collectives, which a loss
/// breaks.
#pragma once

#include "shim/comm/named_meeting.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/survivor_agreement.hpp"

namespace impishim::shim {

/// Agrees on `words`: they are this process's own at first, then those that all have agreed on.
/// `communicator` is an intracommunicator. Collective over its members that are not lost. Returns
/// MPI_SUCCESS or a code of the vendor that has been raised.
[[nodiscard]] int agree_among_survivors(Job& job, Communicator& communicator, AgreedWords& words);

/// Returns the name of the letters of the latest agreement on `communicator`.
[[nodiscard]] MeetingName latest_agreement(const Communicator& communicator);

}  // namespace impishim::shim
