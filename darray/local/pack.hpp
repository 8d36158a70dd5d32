// SPDX-License-Identifier: Apache-2.0
// Moving the elements of patches once: into a row of bytes, out of it, or from patch to patch. No
// MPI here. What runs many times is prepared instead: strided_copy.hpp, packer.hpp.
#pragma once

#include <cstddef>

#include "darray/local/combine.hpp"
#include "darray/local/patch.hpp"

namespace impishim::darray {

/// Copies the patch's elements, in its order, to `out`; `base` is the address of element 0.
void pack(const Patch& patch, std::size_t element_size, const std::byte* base, std::byte* out);
/// The reverse of pack.
void unpack(const Patch& patch, std::size_t element_size, std::byte* base, const std::byte* in);
/// As unpack, but every element becomes combine(what is there, what arrives), in the patch's order.
void unpack_combine(const Patch& patch, std::size_t element_size, std::byte* base,
                    const std::byte* in, const CombineFunction& combine);
/// The k-th element of one patch becomes the k-th of the other; the extents may differ, the sizes
/// may not. The elements do not overlap. Transposes when the strides say so. Errors: kShape.
void copy(const Patch& source, const std::byte* source_base, const Patch& destination,
          std::byte* destination_base, std::size_t element_size);

}  // namespace impishim::darray
