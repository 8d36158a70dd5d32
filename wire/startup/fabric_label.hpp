/// Which of libfabric's providers systems have: the label by which startup tells, and what follows
/// from it. No sockets.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// What a client contributes to StartupLabel::kFabrics.
[[nodiscard]] std::vector<std::byte> encode_fabrics(const JoinOptions& options);

/// Fills in what the clients have announced (`data`; null: nobody did). kProtocol: a list that is
/// cut, or of somebody who is no impishim. kConfiguration: a user has named providers, and another
/// system of this library has none of them; what is asked for by name is not quietly left out.
/// (Foreign implementations cannot have any.)
[[nodiscard]] Result<void> settle_fabrics(const LabelData* data, std::vector<Client>& clients);

}  // namespace impishim::wire
