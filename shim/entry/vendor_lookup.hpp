// SPDX-License-Identifier: Apache-2.0
/// Finds the vendor's functions.
#pragma once

#include <string>

namespace impishim::shim {

/// Returns the address of the vendor's function `name` ("PMPI_Send"; "MPI_Send" is used if the
/// library has no other). This is the next definition after this library's in link order. If a
/// dlopen'ed part of the program hides that, it is the definition in the vendor's library itself,
/// or in the one that has its PMPI_ names. Ends the process with a clear message if there is none.
/// Any thread.
void* resolve(const char* name);

/// Returns the address of `name` in the vendor's Fortran library (IMPISHIM_VENDOR_FORTRAN). That
/// library has been loaded, since one of its functions was called. Ends the process with a clear
/// message if there is none. Any thread.
void* resolve_fortran(const char* name);

/// Returns the file name of the MPI library that the program really uses if this libimpishim.so is
/// built for another one; otherwise an empty string. Libraries that share MPICH's binary interface
/// count as MPICH.
[[nodiscard]] std::string unfit_vendor();

}  // namespace impishim::shim
