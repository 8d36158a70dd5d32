// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * ULFM, the interface for programs that go on after failures, on communicators over several
 * systems.
 *
 * MPICH's mpi.h declares these functions and error classes. This header declares what the mpi.h in
 * use does not, Open MPI 4's above all, so that one program fits both. A program that uses what
 * this header declares is linked with libimpishim.so, before the MPI library.
 *
 * A failure takes out a system as a whole. A process hears of one if errors on MPI_COMM_WORLD do
 * not end the job: MPI_ERRORS_RETURN, or an error handler of the program's. On communicators inside
 * a system the functions do what their comments say; without a joined job they are MPICH's own, or
 * do the same. All return MPI_SUCCESS or
 * an error code, which has been raised on the communicator.
 */
#ifndef IMPISHIM_ULFM_H
#define IMPISHIM_ULFM_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The error classes of ULFM where the MPI library has none. They are no classes of the MPI
 * library, whose MPI_Error_class() tells MPI_ERR_OTHER for their codes: use impishim_error_class().
 */
#define IMPISHIM_ERR_PROC_FAILED 1229992193
#define IMPISHIM_ERR_PROC_FAILED_PENDING 1229992194
#define IMPISHIM_ERR_REVOKED 1229992195

#ifndef MPIX_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED IMPISHIM_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED_PENDING IMPISHIM_ERR_PROC_FAILED_PENDING
#define MPIX_ERR_REVOKED IMPISHIM_ERR_REVOKED

/** Acknowledges the failures in a communicator that this process knows of. Receives from
 * MPI_ANY_SOURCE wait again, in spite of them. Inside a system: does nothing. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
/** Sets `*failed` to a new group: the processes that the latest acknowledgement was for. Inside a
 * system: an empty group. */
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed);
/** Ends all that waits on a communicator, in all its members, in MPIX_ERR_REVOKED; later calls end
 * in it, too, but for those of this header and MPI_Comm_free. Does not wait for other members.
 * Inside a system: MPI_ERR_UNSUPPORTED_OPERATION. */
int MPIX_Comm_revoke(MPI_Comm comm);
/** Makes a communicator of the members that are not lost, in their order. All of these call it.
 * Inside a system: of all of them. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
/** Sets `*flag` to the bitwise "and" of the flags of all members that are not lost. All of these
 * call it, and get the same flag and the same result: MPIX_ERR_PROC_FAILED if a member is lost
 * whose failure one of them has not acknowledged. Inside a system: a reduction. */
int MPIX_Comm_agree(MPI_Comm comm, int* flag);
#endif

/** Sets `*flag` to 1 if the communicator is revoked, as far as this process knows, otherwise to 0.
 */
int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag);

/** As MPI_Error_class(), and knows the error classes of this header. */
int impishim_error_class(int errorcode, int* errorclass);

#ifdef __cplusplus
}
#endif

#endif
