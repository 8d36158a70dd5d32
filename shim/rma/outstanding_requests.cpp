// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/outstanding_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {

std::vector<std::uint64_t> OutstandingRequests::counts() const {
  std::vector<std::uint64_t> counts;
  counts.reserve(targets_.size());
  for (const Target& target : targets_) counts.push_back(target.requests);
  return counts;
}

std::vector<std::int32_t> OutstandingRequests::all_unflushed() const {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].unflushed) found.push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

std::vector<std::int32_t> OutstandingRequests::all_in_vendor() const {
  std::vector<std::int32_t> found;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].in_vendor) found.push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

bool OutstandingRequests::settle(wire::WindowService& service, std::int32_t target) {
  const auto concerns = [&](std::int32_t other) {
    return target == kAllTargets || target == other;
  };
  std::erase_if(asked_, [&](const std::shared_ptr<AskedRequest>& asked) {
    if (!asked->answer.complete()) return false;
    if (error_ == wire::WindowStatus::kDone) error_ = asked->answer.status();
    return true;
  });
  std::erase_if(
      sends_, [&](const Sent& send) { return concerns(send.target) && service.sent(send.ticket); });
  return std::ranges::none_of(asked_, [&](const auto& asked) { return concerns(asked->target); }) &&
         std::ranges::none_of(sends_, [&](const Sent& send) { return concerns(send.target); });
}

}  // namespace impishim::shim
