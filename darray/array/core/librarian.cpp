// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/librarian.hpp"

#include "darray/base/error.hpp"

namespace impishim::darray {

void* ArrayRegistry::find(ArrayId id, Scalar scalar) const {
  if (id.group != group_) {
    fail(ErrorKind::kArgument, "array {} belongs to communicator {:#x}, not to {:#x}", id.number,
         id.group, group_);
  }
  const auto found = arrays_.find(id.number);
  if (found == arrays_.end()) return nullptr;
  if (found->second.scalar != scalar) {
    fail(ErrorKind::kType, "array {} has elements of type {}, not {}", id.number,
         name_of(found->second.scalar), name_of(scalar));
  }
  return found->second.array;
}

}  // namespace impishim::darray
