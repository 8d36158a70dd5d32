// SPDX-License-Identifier: Apache-2.0
#include "darray/local/pack.hpp"

#include "darray/local/packer.hpp"

namespace impishim::darray {

void pack(const Patch& patch, std::size_t element_size, const std::byte* base, std::byte* out) {
  Packer(patch, element_size).pack(base, out);
}

void unpack(const Patch& patch, std::size_t element_size, std::byte* base, const std::byte* in) {
  Packer(patch, element_size).unpack(base, in);
}

void unpack_combine(const Patch& patch, std::size_t element_size, std::byte* base,
                    const std::byte* in, const CombineFunction& combine) {
  Packer(patch, element_size, true).unpack_combine(base, in, combine);
}

void copy(const Patch& source, const std::byte* source_base, const Patch& destination,
          std::byte* destination_base, std::size_t element_size) {
  LocalCopy(source, destination, element_size, false).run(source_base, destination_base, {});
}

}  // namespace impishim::darray
