/// From the proc of a host that makes its connections to those that own them: sockets, passed on as
/// descriptors.
///
/// A host has one listening port, which its lowest proc owns; each connection belongs to the
/// representative for the remote host (wire/topology/route.hpp). A gateway keeps all that it makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/stranger_report.hpp"
#include "wire/channel/accept_rest.hpp"

namespace impishim::wire {

/// The lowest proc's end.
class HandoverGiver {
 public:
  /// First step, before any of the others learns `token` (random_token()) and begins to take.
  [[nodiscard]] static Result<HandoverGiver> open(const std::string& token);
  /// Hands `socket`, connected to `host`, to the proc with `index` in this host; returns when that
  /// has it, kTimeout if it does not take it in `timeout_ms`.
  [[nodiscard]] Result<void> give(std::int32_t index, std::int32_t host, const Descriptor& socket,
                                  int timeout_ms);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<int> connection_of(std::int32_t index, Clock::time_point deadline);
  [[nodiscard]] Result<void> accept_one(Clock::time_point deadline);
  [[nodiscard]] Result<void> rest(int error, Clock::time_point deadline);

  Descriptor listener_;
  std::map<std::int32_t, Descriptor> connections_;  ///< by index in the host
  AcceptRest rest_;
  StrangerReport report_;
};

/// The end of any other proc that owns channels.
class HandoverTaker {
 public:
  [[nodiscard]] static Result<HandoverTaker> connect(const std::string& token,
                                                     std::int32_t my_index, int timeout_ms);
  /// The next socket and its host. kConnection: the giver has ended, and says why itself.
  [[nodiscard]] Result<std::pair<std::int32_t, Descriptor>> take(int timeout_ms);

 private:
  Descriptor connection_;
};

}  // namespace impishim::wire
