/// Context ids of new communicators (IMPI 4.3).
#pragma once

#include "shim/job.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

inline constexpr std::uint64_t kMaxContext = 18446744073709551600ULL;  ///< IMPI_MAX_CID

/// Agrees on the context id of a new communicator among all members of `parent`; the id of its collectives is one above.
/// Collective. kConfiguration: no ids are left.
[[nodiscard]] Result<wire::ContextId> agree_on_context(Job& job, const Communicator& parent);

}  // namespace impishim::shim
