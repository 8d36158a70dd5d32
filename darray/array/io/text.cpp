// SPDX-License-Identifier: Apache-2.0
#include "darray/array/io/text.hpp"

#include <fmt/ranges.h>

namespace impishim::darray::detail {

std::string title_of(const Layout& layout, Scalar scalar) {
  return fmt::format("{} array of shape ({}), {}; process {} of {} has", name_of(scalar),
                     fmt::join(layout.shape(), ", "), layout.strategy().name(), layout.rank(),
                     layout.processes());
}

}  // namespace impishim::darray::detail
