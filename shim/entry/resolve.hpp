// SPDX-License-Identifier: Apache-2.0
/// Finding the vendor's functions.
#pragma once

#include <string>

namespace impishim::shim {

/// The address of the vendor's function `name` ("PMPI_Send"; "MPI_Send" serves where the library
/// has no other): the next definition after this library's in link order, or in the vendor's
/// library itself where a dlopen'ed program part hides it. Ends the process with a clear message if
/// there is none. Any thread.
void* resolve(const char* name);

/// Returns the address of `name` in the vendor's Fortran library (IMPISHIM_VENDOR_FORTRAN), which
/// has been loaded: one of its functions was called. Ends the process with a clear message if there
/// is none. Any thread.
void* resolve_fortran(const char* name);

/// Returns the file name of the MPI library that the program really uses if this libimpishim.so is
/// built for another one; otherwise an empty text. MPICH's relatives, which share its binary
/// interface, count as MPICH.
[[nodiscard]] std::string unfit_vendor();

}  // namespace impishim::shim
