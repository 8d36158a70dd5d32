// SPDX-License-Identifier: Apache-2.0
/// Time limits of startup.
#pragma once

namespace impishim::shim {

/// Timeout for connections to the server and to the other hosts.
inline constexpr int kConnectTimeoutMs = 60000;

}  // namespace impishim::shim
