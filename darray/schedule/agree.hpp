// Checked mode: an error of one rank becomes the same error of all.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/index/triplet.hpp"
#include "darray/schedule/communicator.hpp"

namespace impishim::darray {

/// Whether collective constructors compare notes. kOff: errors are found by single ranks only, which throw alone; no messages.
enum class Checks { kOn, kOff };

/// Runs `body`, which checks arguments and may throw. With checks, all ranks then agree: if any has thrown, all throw the error
/// of the lowest such rank, whose number its text names; an exception of another type (no memory) becomes kUnsupported.
/// Collective over the communicator with checks, else local.
void agreed(const Communicator& communicator, Checks checks, const std::function<void()>& body);

/// The value of every rank, with checks; else nothing. Collective with checks.
std::vector<Index> values_of_all(const Communicator& communicator, Checks checks, Index value);

/// Throws the same kArgument error on all ranks unless `value` is the same everywhere. Collective with checks, else nothing.
void agree_on_equal(const Communicator& communicator, Checks checks, const char* what, Index value);

}  // namespace impishim::darray
