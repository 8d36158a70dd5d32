// SPDX-License-Identifier: Apache-2.0
/// How the elements of accumulates lie in memory and travel.
#pragma once

#include <cstdint>

#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"

namespace impishim::wire {

/// Returns the layout of one element: a basic type, or the parts of a pair or a complex number. It
/// lives forever.
[[nodiscard]] const TypeLayout& element_layout(ElementKind kind);

/// Returns the number of basic elements in one element.
[[nodiscard]] std::uint64_t parts_of(ElementKind kind);

/// Returns true if a datatype of this layout consists of whole elements of the kind, as operations
/// take them: no run ends within an element, and the parts of a pair lie at their places in it.
[[nodiscard]] bool consists_of(const TypeLayout& layout, ElementKind kind);

}  // namespace impishim::wire
