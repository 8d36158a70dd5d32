// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/relay_options.hpp"
#include <cstdint>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/link/relay_credit.hpp"

namespace impishim::wire {

Result<RelayOptions> RelayOptions::from_environment() {
  constexpr std::int64_t kMost = std::int64_t{1} << 40U;
  constexpr auto kLeast = static_cast<std::int64_t>(RelayDebt::kLeastLimit);
  RelayOptions options;
  for (const auto& checked :
       {read_variable("IMPISHIM_LOCAL_SENDER_LIMIT", kLeast, kMost, options.local_sender_limit),
        read_variable("IMPISHIM_REMOTE_SENDER_LIMIT", kLeast, kMost, options.remote_sender_limit),
        read_variable("IMPISHIM_RELAY_BUFTARGET", 1, kMost, options.batch_target),
        read_variable("IMPISHIM_BUFTARGET", 0, kMost, options.origin_batch_target),
        read_variable("IMPISHIM_EARLY_MESSAGE_LIMIT", 0, kMost, options.early_message_limit)}) {
    if (!checked) return checked.error();
  }
  return options;
}

}  // namespace impishim::wire
