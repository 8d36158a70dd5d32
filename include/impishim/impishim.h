// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The public interface of impishim beyond MPI itself: the joined world as a communicator, the place
 * of a process in it, and statistics.
 *
 * Programs need none of this to run as one job over several systems. A program that includes this
 * header does not have to link a library. The names below are found when libimpishim.so is
 * preloaded or linked; otherwise the functions are null pointers.
 *
 * All functions here are local. Call them between MPI_Init and MPI_Finalize.
 */
#ifndef IMPISHIM_IMPISHIM_H
#define IMPISHIM_IMPISHIM_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Attributes of communicators (IMPI 2.5)
 *
 * Every communicator of a joined job has these attributes. MPI_Comm_get_attr with one of these keys
 * gives an int*. For an intercommunicator the values describe the local group. Outside of a joined
 * job the vendor reports MPI_ERR_KEYVAL.
 *
 * - IMPI_CLIENT_SIZE: number of clients ("systems") that have a process in the communicator
 * - IMPI_CLIENT_COLOR: index of this process's client among these clients, from 0
 * - IMPI_HOST_SIZE: number of IMPI hosts that have a process in the communicator
 * - IMPI_HOST_COLOR: index of this process's host among these hosts, from 0
 *
 * Open MPI before 5.0 defines enumerators with these names, and the library uses those. With other
 * MPI libraries the keys are numbers that no MPI library creates.
 * @{
 */
#if !defined(OPEN_MPI) || !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION >= 5
#define IMPI_CLIENT_SIZE 0x494D5001
#define IMPI_CLIENT_COLOR 0x494D5002
#define IMPI_HOST_SIZE 0x494D5003
#define IMPI_HOST_COLOR 0x494D5004
#endif
/** @} */

#if defined(__GNUC__)
#define IMPISHIM_OPTIONAL __attribute__((weak))
#else
#define IMPISHIM_OPTIONAL
#endif

/**
 * Returns the communicator of all processes of all systems in `comm`.
 *
 * With IMPISHIM_WORLD=joined (the default), and in a job that is not joined to others, this is
 * MPI_COMM_WORLD. With IMPISHIM_WORLD=split it is a separate communicator, and MPI_COMM_WORLD stays
 * the system's own. The communicator belongs to the library: do not free it. Local; call it between
 * MPI_Init and MPI_Finalize.
 *
 * @param[out] comm the communicator
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a null pointer
 */
int impishim_comm_world(MPI_Comm* comm) IMPISHIM_OPTIONAL;

/**
 * Messages exchanged with processes of other systems since MPI_Init, and the bytes of their data as
 * they travelled. Messages that the library exchanges for itself, to tell of errors, do not count.
 *
 * A message counts as sent when its first part is handed to the network; its bytes count as they
 * are handed over. A message counts as received when a receive has taken all of it. Its bytes count
 * as they arrive, which may be before this process asks for them.
 */
struct impishim_counters {
  unsigned long long messages_sent;
  unsigned long long bytes_sent;
  unsigned long long messages_received;
  unsigned long long bytes_received;
};

/**
 * Reads the message counters. All are 0 in a job that is not joined to others. Local; call it
 * between MPI_Init and MPI_Finalize.
 *
 * @param[out] counters the counters
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a null pointer
 */
int impishim_get_counters(struct impishim_counters* counters) IMPISHIM_OPTIONAL;

/** Packets of one kind, and their bytes including headers. */
struct impishim_hop {
  unsigned long long packets;
  unsigned long long bytes;
};

/** Packets by the hops of their routes (see "How it works" in the README). */
struct impishim_hops {
  struct impishim_hop local_origin;    /**< sent to processes of this host, which relay them */
  struct impishim_hop local_relay;     /**< relayed to processes of this host */
  struct impishim_hop remote_origin;   /**< sent to other hosts */
  struct impishim_hop remote_relay;    /**< relayed to other hosts */
  struct impishim_hop local_received;  /**< received from processes of this host */
  struct impishim_hop remote_received; /**< received from other hosts */
};

/**
 * Reads the packet counters. All are 0 in a job that is not joined to others. Local; call it
 * between MPI_Init and MPI_Finalize.
 *
 * @param[out] hops the counters
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a null pointer
 */
int impishim_get_hops(struct impishim_hops* hops) IMPISHIM_OPTIONAL;

/**
 * Writes to standard error what this process holds and waits for: the queues of each of its links,
 * credits, messages held back, unexpected messages.
 *
 * Any process of a joined job does the same when it receives SIGUSR1 (IMPISHIM_DUMP_SIGNAL). Local;
 * call it between MPI_Init and MPI_Finalize.
 *
 * @return MPI_SUCCESS
 */
int impishim_dump_state(void) IMPISHIM_OPTIONAL;

#ifdef __cplusplus
}
#endif

#endif
