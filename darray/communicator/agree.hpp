// SPDX-License-Identifier: Apache-2.0
/// Checked mode: an error of one rank, or a difference between the calls of the ranks, becomes the
/// same error on all ranks.
#pragma once

#include <concepts>
#include <functional>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/communicator/collective_call.hpp"
#include "darray/communicator/communicator.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Whether collective operations compare the calls of the ranks. With kOff they send no messages
/// for checks. An error is then found by single ranks only, and only these throw.
enum class Checks { kOn, kOff };

namespace detail {
/// Runs `body`, then agrees with the other ranks on its error and on call(). Collective over the
/// communicator.
void agree_on_call(const Communicator& communicator, const std::function<CollectiveCall()>& call,
                   const std::function<void()>& body);
}  // namespace detail

/// Runs `body`, which checks arguments and may throw. With checks, all ranks then agree by one
/// all-reduce of three words. This is the first message of every collective operation:
/// - If any rank has thrown, all ranks throw the error of the lowest such rank. The text names that
///   rank. An exception of another type (no memory) becomes kUnsupported.
/// - If the calls differ, even in the operation itself, all ranks throw the same Error(kArgument).
///   It names the operation, the argument, and the values of all ranks.
///
/// `call()` returns the CollectiveCall. It is called after `body`, and only with checks. Collective
/// over the communicator with checks, local without.
template <std::invocable Call>
void agreed(const Communicator& communicator, Checks checks, const Call& call,
            const std::function<void()>& body) {
  if (checks == Checks::kOff) return body();
  detail::agree_on_call(communicator, call, body);
}
/// Does the same for an operation that has no arguments, or whose arguments have been compared
/// already.
inline void agreed(const Communicator& communicator, Checks checks, const char* operation,
                   const std::function<void()>& body) {
  agreed(
      communicator, checks, [operation] { return CollectiveCall(operation); }, body);
}
/// Agrees on the call only; no arguments are checked.
template <std::invocable Call>
void agree_on(const Communicator& communicator, Checks checks, const Call& call) {
  agreed(communicator, checks, call, [] {});
}

/// Returns the value of every rank with checks, else an empty list. Collective with checks.
std::vector<Index> values_of_all(const Communicator& communicator, Checks checks, Index value);

}  // namespace impishim::darray
