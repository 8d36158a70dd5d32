// SPDX-License-Identifier: Apache-2.0
/// How two groups of processes are connected over a port: the roots agree, then each process
/// connects with each process of the other group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/group_info.hpp"

namespace impishim::wire {

/// What the roots of both groups know after agree_on_groups().
struct GroupAgreement {
  GroupInfo remote;
  std::uint64_t context = 0;  ///< the number that the root at the accepting end has proposed
  JobSecret secret;           ///< proves the connections between members
};

/// Exchanges the groups' descriptions with the other root. `port_secret` is that of the port's
/// name; the new secret is derived from it and never sent. `context` is the proposal for the number
/// of the new communicator; that of the accepting end is taken. Fails with kConfiguration if the
/// settings of both jobs do not fit, and as Conversation and hmac_sha256() do.
[[nodiscard]] Result<GroupAgreement> agree_on_groups(Conversation& conversation,
                                                     const JobSecret& port_secret,
                                                     const GroupInfo& mine, std::uint64_t context);

/// Tells the other root whether all is well here, and returns what it tells: nothing, or the error.
/// An error of the own side is returned as it is.
[[nodiscard]] std::optional<Error> agree_on_outcome(Conversation& conversation,
                                                    const std::optional<Error>& mine);

/// One of two groups that are being connected.
struct GroupSide {
  const std::vector<GroupMember>& members;
  bool accepts;  ///< its root is at the accepting end of the port
};

/// Connects member `rank` of `mine` with each member of `theirs` that belongs to another job. Both
/// groups do so at the same time. Returns the channels in the order of their ranks, null for
/// members of the same job. Fails as connect_hosts() does (host_mesh.hpp).
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> connect_members(
    const GroupSide& mine, const GroupSide& theirs, std::int32_t rank, HostListener listener,
    const JobSecret& secret, int timeout_ms);

}  // namespace impishim::wire
