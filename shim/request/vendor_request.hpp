// SPDX-License-Identifier: Apache-2.0
/// Receives that are a request of the vendor inside ours: matched messages, and receives where
/// vendor_request_serves() is false.
#pragma once

#include "shim/request/request.hpp"

namespace impishim::shim {

[[nodiscard]] const RequestKind& vendor_receive();

/// Starts the vendor's part of a receive from the vendor's rank `source`. Returns the vendor's
/// code.
[[nodiscard]] int start_vendor_receive(Request& request, int source);
/// Tests the vendor's part. Returns true if it is complete: its status is then the result.
[[nodiscard]] bool test_vendor_part(Request& request);
/// Returns the code of a request that ended by the vendor's part, not raised: that of a revoked
/// communicator if it was cancelled for that.
[[nodiscard]] int code_of_vendor_part(const Request& request);

}  // namespace impishim::shim
