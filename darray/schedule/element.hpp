// SPDX-License-Identifier: Apache-2.0
// Element types as MPI sees them.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "darray/base/error.hpp"
#include "darray/local/combine.hpp"

namespace impishim::darray {

/// The type of a schedule's elements: `items` values of an MPI type, `size` bytes in all. Bodies
/// travel as values of that type, so that the MPI below converts between the representations of
/// different systems.
struct Element {
  MPI_Datatype type = MPI_BYTE;
  std::size_t size = 1;  // bytes of one element, all items
  int items = 1;         // values of `type` in one element
  Scalar scalar = Scalar::kOpaque;

  /// An element of `count` of these, side by side: a point with three coordinates.
  Element times(int count) const {
    return {type, size * static_cast<std::size_t>(count), items * count, scalar};
  }
};

/// The element of a scalar type. Errors: kType for kOpaque.
Element element_of(Scalar scalar);

/// The element of a C++ type: bool, integers, float, double, long double, std::complex<float or
/// double>.
template <class T>
Element element_of() {
  static_assert(scalar_of<T>() != Scalar::kOpaque, "use opaque(sizeof(T)) for other types");
  return element_of(scalar_of<T>());
}

/// An element of so many bytes, never converted. Errors: kArgument for less than one byte.
Element opaque(std::size_t bytes);

}  // namespace impishim::darray
