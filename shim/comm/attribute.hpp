// SPDX-License-Identifier: Apache-2.0
/// Attributes of communicators: the values that the joined job reports instead of the vendor's.
#pragma once

#include <mpi.h>

#include <optional>

namespace impishim::shim {

struct Job;

/// Deletes the user's attributes on MPI_COMM_SELF in the reverse order of setting, and calls their
/// callbacks. Returns the first error of the vendor. The remaining attributes are deleted despite
/// an error.
int delete_self_attributes(Job& job);

/// Looks up the value that the joined job reports for a predefined key of this communicator.
/// `value` becomes empty if the vendor's value applies. Returns MPI_SUCCESS or an error code that
/// has been raised.
[[nodiscard]] int joined_attribute(Job& job, MPI_Comm comm, int keyval, std::optional<int>& value);
/// Returns MPI_SUCCESS if the attributes of `comm` can be changed now, or else the error code that
/// was raised.
[[nodiscard]] int check_attribute_change(const Job& job, MPI_Comm comm, const char* function);
/// Records that the program has set an attribute.
void attribute_was_set(Job& job, MPI_Comm comm, int keyval);

/// Creates the keys of IMPI 2.5 (impishim.h) before the program can create keys. Open MPI before
/// 5.0 has numbers for them but does not create them, so the first keys of a program would receive
/// the same numbers. Has no effect with other vendors.
void reserve_impi_keys();

}  // namespace impishim::shim
