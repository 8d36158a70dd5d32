// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace impishim::wire {

/// Largest payload of a short packet, in bytes. Such a packet is copied as a whole, header and
/// payload, into one piece or into a batch; longer payloads are sent and received in place.
inline constexpr std::size_t kMaxInlinePayload = 1024;

}  // namespace impishim::wire
