// SPDX-License-Identifier: Apache-2.0
/// What both ends of a channel between hosts derive from the job: its name and its key.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the name of another host and of the process there that owns the channel of `here`. For a
/// foreign host the owner is unknown, and the name is that of the host alone.
[[nodiscard]] std::string channel_peer_name(const JobMap& job, WorldRank here, std::int32_t host);

/// Returns the terms of the encrypted channel of `here` to the owner in another host. Each
/// connection of a stream (link_repair.hpp) has the same key, and fresh keys for its records. Fails
/// like channel_key().
[[nodiscard]] Result<TlsTerms> channel_tls_terms(const JobMap& job, WorldRank here,
                                                 std::int32_t host, const JobSecret& secret,
                                                 std::int32_t stream = 0);

}  // namespace impishim::wire
