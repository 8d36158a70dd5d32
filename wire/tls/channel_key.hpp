// SPDX-License-Identifier: Apache-2.0
/// The keys of single channels, made from the secret of the job.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {

/// A key that both ends of one channel know before they connect (RFC 8446 2.2).
using ChannelKey = std::array<std::byte, 32>;

/// Returns the key of the channel that `text` names: HMAC-SHA-256 of a fixed label and `text` under
/// the secret. Other texts give other keys, and no key tells anything about the secret or about
/// another key. Both ends must use the same text. The caller wipes the key. Fails like
/// hmac_sha256().
[[nodiscard]] Result<ChannelKey> channel_key(const JobSecret& secret, std::string_view text);

}  // namespace impishim::wire
