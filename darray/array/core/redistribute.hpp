/// From one layout to another.
#pragma once

#include "darray/array/core/layout.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// Copies the elements of `source`, a buffer of layout `from`, to `destination`, a buffer of layout
/// `to`: both addresses are of the whole buffer. Ghosts are left alone. Nothing is sent if the
/// layouts are aligned. Collective over the communicator otherwise, and with checks the ranks then
/// compare `operation`, layouts and element. The last few plans are kept.
/// @throws Error kShape for different shapes, kLayout for layouts of different communicators,
/// kArgument for ranks that differ, kMpi.
void redistribute(const Layout& to, void* destination, const Layout& from, const void* source,
                  const Element& element, const char* operation = "redistribution",
                  Checks checks = Checks::kOn);

}  // namespace impishim::darray
