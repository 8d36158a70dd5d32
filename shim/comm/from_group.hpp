// SPDX-License-Identifier: Apache-2.0
/// Creation of communicators from groups alone (MPI-4.0 7.4.2, 7.6.2).
#pragma once

#include <mpi.h>

#include <string_view>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

/// What a program passes to such a function besides groups.
struct FromGroup {
  const char* function;  ///< its name, for error texts
  const char* stringtag;
  MPI_Info info;
  MPI_Errhandler errhandler;
};

/// Raises an error of the call through its own error handler, since no communicator exists yet.
/// Returns the code.
int raise_from_group(const FromGroup& call, int error_class, std::string_view text);

/// Computes the world ranks of a group that must contain this process, and checks the string tag.
/// Leaves `members` empty for a group without members. Returns MPI_SUCCESS or an error code that
/// has been raised.
[[nodiscard]] int check_from_group(Job& job, const FromGroup& call, MPI_Group group,
                                   RankList& members);

/// Creates the communicator of `members`, native or spanning, with the call's hints and error
/// handler. Collective over the members, which include this process. Returns MPI_SUCCESS or an
/// error code that has been raised.
[[nodiscard]] int make_from_group(Job& job, const FromGroup& call, const RankList& members,
                                  MPI_Comm* newcomm);

/// Gives `comm` the hints and the error handler of the call.
[[nodiscard]] int set_up_from_group(const FromGroup& call, MPI_Comm comm);

}  // namespace impishim::shim
