// SPDX-License-Identifier: Apache-2.0
/// The names of a Fortran binding: those that compilers generate, and the vendor's own.
#pragma once

#include "shim/entry/vendor_lookup.hpp"

/// Exports the function `ompi_<name>_f`, defined before, under all names that Open MPI's Fortran
/// library has for it. `lower`, `upper` and `mixed` are the name with its prefix as Fortran
/// compilers and the module mpi_f08 spell it, e.g. mpi_send, MPI_SEND, MPI_Send.
#define IMPISHIM_FORTRAN_NAMES(function, lower, upper, mixed) \
  IMPISHIM_FORTRAN_NAME(function, lower)                      \
  IMPISHIM_FORTRAN_NAME(function, lower##_)                   \
  IMPISHIM_FORTRAN_NAME(function, lower##__)                  \
  IMPISHIM_FORTRAN_NAME(function, upper)                      \
  IMPISHIM_FORTRAN_NAME(function, mixed##_f)                  \
  IMPISHIM_FORTRAN_NAME(function, mixed##_f08)                \
  IMPISHIM_FORTRAN_NAME(function, p##lower)                   \
  IMPISHIM_FORTRAN_NAME(function, p##lower##_)                \
  IMPISHIM_FORTRAN_NAME(function, p##lower##__)               \
  IMPISHIM_FORTRAN_NAME(function, P##upper)                   \
  IMPISHIM_FORTRAN_NAME(function, P##mixed##_f)               \
  IMPISHIM_FORTRAN_NAME(function, P##mixed##_f08)

/// Exports one of these names. All names of a function are one address.
#define IMPISHIM_FORTRAN_NAME(function, name) \
  extern "C" __attribute__((visibility("default"), alias(#function))) decltype(function) name;

/// Precedes the definition of a binding under its first name.
#define IMPISHIM_FORTRAN_BINDING extern "C" __attribute__((visibility("default")))

namespace impishim::shim {

/// Returns the vendor's binding of this name, which has the type of this library's binding. Ends
/// the process if there is none.
template <class Binding>
[[nodiscard]] Binding* vendors_binding(const char* name) {
  return reinterpret_cast<Binding*>(resolve_fortran(name));
}

}  // namespace impishim::shim
