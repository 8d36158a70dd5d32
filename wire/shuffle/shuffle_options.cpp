// SPDX-License-Identifier: Apache-2.0
#include "wire/shuffle/shuffle_options.hpp"

#include <fmt/format.h>
#include <cstdint>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::wire {

Result<ShuffleOptions> ShuffleOptions::from_environment() {
  constexpr std::int64_t kMostRpcs = 1 << 20;
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30U;
  ShuffleOptions options;
  for (const auto& checked :
       {read_variable("IMPISHIM_SHUFFLE_LOMAXRPC", 1, kMostRpcs, options.local_origin.maxrpc),
        read_variable("IMPISHIM_SHUFFLE_LOBUFTARGET", 1, kMostBytes,
                      options.local_origin.buftarget),
        read_variable("IMPISHIM_SHUFFLE_LRMAXRPC", 1, kMostRpcs, options.local_relay.maxrpc),
        read_variable("IMPISHIM_SHUFFLE_LRBUFTARGET", 1, kMostBytes, options.local_relay.buftarget),
        read_variable("IMPISHIM_SHUFFLE_RMAXRPC", 1, kMostRpcs, options.remote.maxrpc),
        read_variable("IMPISHIM_SHUFFLE_RBUFTARGET", 1, kMostBytes, options.remote.buftarget),
        read_variable("IMPISHIM_SHUFFLE_LOCALSENDERLIMIT", 1, kMostRpcs,
                      options.local_sender_limit),
        read_variable("IMPISHIM_SHUFFLE_REMOTESENDERLIMIT", 1, kMostRpcs,
                      options.remote_sender_limit),
        read_variable("IMPISHIM_SHUFFLE_DELIVERQ_MAX", 1, kMostRpcs, options.deliverq_max),
        read_variable("IMPISHIM_SHUFFLE_DELIVERQ_THRESHOLD", 1, kMostRpcs,
                      options.deliverq_threshold)}) {
    if (!checked) return checked.error();
  }
  if (options.deliverq_threshold > options.deliverq_max) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("IMPISHIM_SHUFFLE_DELIVERQ_THRESHOLD ({}) must not be above "
                             "IMPISHIM_SHUFFLE_DELIVERQ_MAX ({})",
                             options.deliverq_threshold, options.deliverq_max)};
  }
  return options;
}

}  // namespace impishim::wire
