// SPDX-License-Identifier: Apache-2.0
/// Attributes of communicators: what the joined job says about them in the vendor's place.
#pragma once

#include <mpi.h>

#include <optional>

namespace impishim::shim {

struct Job;

/// Deletes the user's attributes on MPI_COMM_SELF, last set first, with their callbacks. Returns
/// the first error of the vendor's, after which the remaining ones are still deleted.
int delete_self_attributes(Job& job);

/// Looks up what the joined job says about a predefined key of this communicator in the vendor's
/// place: `value`, or nothing, then the vendor's holds. Returns an MPI code that has been raised.
[[nodiscard]] int joined_attribute(Job& job, MPI_Comm comm, int keyval, std::optional<int>& value);
/// Returns MPI_SUCCESS, or the code that was raised: attributes of `comm` cannot be changed now.
[[nodiscard]] int check_attribute_change(const Job& job, MPI_Comm comm, const char* function);
/// Notes that the program has set an attribute.
void attribute_was_set(Job& job, MPI_Comm comm, int keyval);

/// Open MPI before 5.0 numbers the keys of IMPI 2.5 (impishim.h) without making them, so that the
/// first keys of a program would get the same numbers: makes them, before the program can. Nothing
/// to do with other vendors.
void reserve_impi_keys();

}  // namespace impishim::shim
