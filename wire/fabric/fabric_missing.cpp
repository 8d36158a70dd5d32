// SPDX-License-Identifier: Apache-2.0
// Replacement for the libfabric code if libfabric's headers were missing when this library was
// built.
#include <memory>
#include <vector>
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/fabric/fabric.hpp"

namespace impishim::wire {
namespace {

Error not_built() {
  return {ErrorKind::kConfiguration,
          "IMPISHIM_FABRIC: this library was built without libfabric: install its headers (Debian: "
          "libfabric-dev) and build again, "
          "or use auto or none"};
}

}  // namespace

Result<std::vector<std::string>> usable_providers(const FabricChoice& choice) {
  if (!choice.wanted.empty()) return not_built();
  return std::vector<std::string>();
}

// NOLINTBEGIN(performance-unnecessary-value-param): the links are passed by value, as in the real
// function, which keeps them
Result<std::vector<std::unique_ptr<Channel>>> make_fabric_channels(
    const std::string& /*provider*/, std::vector<FabricLink> /*links*/, int /*timeout_ms*/,
    const SocketFallback& /*fallback*/) {
  return not_built();
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace impishim::wire
