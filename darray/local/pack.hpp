// SPDX-License-Identifier: Apache-2.0
// Copies of the elements of patches: into a row of bytes, out of it, or from patch to patch.
// Without MPI. For copies that run many times see strided_copy.hpp and packer.hpp.
#pragma once

#include <cstddef>

#include "darray/local/combine.hpp"
#include "darray/local/patch.hpp"

namespace impishim::darray {

/// Copies the patch's elements, in its order, to `out`; `base` is the address of element 0.
void pack(const Patch& patch, std::size_t element_size, const std::byte* base, std::byte* out);
/// Copies `in` to the patch's elements: the reverse of pack.
void unpack(const Patch& patch, std::size_t element_size, std::byte* base, const std::byte* in);
/// Replaces every element by combine(value in place, value that arrives), in the patch's order.
void unpack_combine(const Patch& patch, std::size_t element_size, std::byte* base,
                    const std::byte* in, const CombineFunction& combine);
/// Copies the k-th element of one patch to the k-th element of the other. The extents may differ,
/// the sizes must be equal. The elements do not overlap. Transposes if the strides require it.
/// Errors: kShape.
void copy(const Patch& source, const std::byte* source_base, const Patch& destination,
          std::byte* destination_base, std::size_t element_size);

}  // namespace impishim::darray
