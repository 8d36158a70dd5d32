// SPDX-License-Identifier: Apache-2.0
/// The startup label that announces a system's libfabric providers, and the checks on it. No
/// sockets.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns what a client sends as StartupLabel::kFabrics.
[[nodiscard]] std::vector<std::byte> encode_fabrics(const JoinOptions& options);

/// Stores the announced providers in `clients`. `data` contains the announcements of all clients;
/// null means that no client announced any. Fails with kProtocol if a list is cut or comes from a
/// client that is not impishim. Fails with kConfiguration if a user named providers and another
/// impishim system has none of them. A provider that is requested by name is not silently ignored.
/// Foreign implementations cannot have providers, so they are not checked.
[[nodiscard]] Result<void> settle_fabrics(const LabelData* data, std::vector<Client>& clients);

}  // namespace impishim::wire
