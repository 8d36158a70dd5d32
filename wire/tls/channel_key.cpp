// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/channel_key.hpp"

#include <span>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {
namespace {

/// Separates these keys from everything else that is computed from the secret.
constexpr std::string_view kLabel = "impishim tls channel key 1";

}  // namespace

Result<ChannelKey> channel_key(const JobSecret& secret, std::string_view text) {
  std::string message(kLabel);
  message += '\0';  // no label is the beginning of another one with its text
  message += text;
  return hmac_sha256(secret.bytes(), std::as_bytes(std::span(message)));
}

}  // namespace impishim::wire
