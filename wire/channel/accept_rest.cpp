// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/accept_rest.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "wire/base/log.hpp"

namespace impishim::wire {

bool AcceptRest::is_lack(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

void AcceptRest::begin(int error, const std::string& log_prefix) {
  const auto now = Clock::now();
  if (!said_ || now >= *said_ + kInterval) {
    log(LogArea::kChannel, LogLevel::kWarn, "{}cannot accept connections now: {}", log_prefix,
        std::strerror(error));
    said_ = now;
  }
  trouble_ = fmt::format("connections cannot be accepted: {}; see ulimit -n", std::strerror(error));
  until_ = now + kRest;
}

}  // namespace impishim::wire
