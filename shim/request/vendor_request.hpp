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

}  // namespace impishim::shim
