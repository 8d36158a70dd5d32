// SPDX-License-Identifier: Apache-2.0
/// Element types as MPI sees them.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "darray/base/error.hpp"
#include "darray/local/combine.hpp"

namespace impishim::darray {

/// The type of a schedule's elements: `items` values of an MPI type, `size` bytes in total. Data is
/// sent as values of that type, so that the MPI below converts between the representations of
/// different systems.
struct Element {
  MPI_Datatype type = MPI_BYTE;
  std::size_t size = 1;  // bytes of one element, with all items
  int items = 1;         // values of `type` in one element
  Scalar scalar = Scalar::kOpaque;

  /// Returns an element of `count` of these elements, side by side. A point with three coordinates
  /// is an example.
  Element times(int count) const {
    return {type, size * static_cast<std::size_t>(count), items * count, scalar};
  }
};

/// Returns the element of a scalar type. Throws Error(kType) if it is kOpaque.
Element element_of(Scalar scalar);

/// Returns the element of a C++ type: bool, integers, float, double, long double,
/// std::complex<float> or std::complex<double>.
template <class T>
Element element_of() {
  static_assert(scalar_of<T>() != Scalar::kOpaque, "use opaque(sizeof(T)) for other types");
  return element_of(scalar_of<T>());
}

/// Returns an element of `bytes` bytes that is never converted. Throws Error(kArgument) if `bytes`
/// is less than 1.
Element opaque(std::size_t bytes);

}  // namespace impishim::darray
