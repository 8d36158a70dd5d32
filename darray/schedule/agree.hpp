// SPDX-License-Identifier: Apache-2.0
// Checked mode: an error of one rank, or a difference between what ranks were asked to do, becomes
// the same error of all.
#pragma once

#include <concepts>
#include <functional>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/index/triplet.hpp"
#include "darray/schedule/collective_call.hpp"
#include "darray/schedule/communicator.hpp"

namespace impishim::darray {

/// Whether collective operations compare what the ranks were asked to do. kOff: errors are found by
/// single ranks only, which throw alone; no messages.
enum class Checks { kOn, kOff };

namespace detail {
/// Runs `body`, then agrees with the other ranks on its error and on call(). Collective over the
/// communicator.
void agree_on_call(const Communicator& communicator, const std::function<CollectiveCall()>& call,
                   const std::function<void()>& body);
}  // namespace detail

/// Runs `body`, which checks arguments and may throw. With checks, all ranks then agree by one
/// all-reduce of three words, which is the first message of every collective operation:
/// - If any has thrown, all throw the error of the lowest such rank, whose number its text names;
/// an exception of another type
///   (no memory) becomes kUnsupported.
/// - If the calls differ, be it in the operation, all throw the same kArgument error. It names the
/// operation, the argument, and
///   the values of all ranks.
/// `call()` returns the CollectiveCall; it is called behind `body`, and with checks only.
/// Collective over the communicator with checks, else local.
template <std::invocable Call>
void agreed(const Communicator& communicator, Checks checks, const Call& call,
            const std::function<void()>& body) {
  if (checks == Checks::kOff) return body();
  detail::agree_on_call(communicator, call, body);
}
/// The same for an operation without arguments, or whose arguments have been compared.
inline void agreed(const Communicator& communicator, Checks checks, const char* operation,
                   const std::function<void()>& body) {
  agreed(
      communicator, checks, [operation] { return CollectiveCall(operation); }, body);
}
/// Agrees on the call alone.
template <std::invocable Call>
void agree_on(const Communicator& communicator, Checks checks, const Call& call) {
  agreed(communicator, checks, call, [] {});
}

/// Returns the value of every rank, with checks; else nothing. Collective with checks.
std::vector<Index> values_of_all(const Communicator& communicator, Checks checks, Index value);

}  // namespace impishim::darray
