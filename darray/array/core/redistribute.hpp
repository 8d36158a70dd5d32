// SPDX-License-Identifier: Apache-2.0
/// Redistribution of elements from one layout to another.
#pragma once

#include "darray/array/core/layout.hpp"
#include "darray/communicator/element.hpp"

namespace impishim::darray {

/// Copies the elements of `source`, a buffer of layout `from`, to `destination`, a buffer of layout
/// `to`. Both addresses are those of the whole buffer. Ghosts do not change. Nothing is sent if the
/// layouts are aligned; otherwise, the call is collective over the communicator. With checks, the
/// ranks then compare `operation`, layouts and element. The last few plans are cached. Throws
/// Error(kShape) for different shapes, Error(kLayout) for layouts of different communicators,
/// Error(kArgument) if the ranks' arguments differ, and Error(kMpi) if MPI fails.
void redistribute(const Layout& to, void* destination, const Layout& from, const void* source,
                  const Element& element, const char* operation = "redistribution",
                  Checks checks = Checks::kOn);

}  // namespace impishim::darray
