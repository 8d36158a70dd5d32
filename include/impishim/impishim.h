/* The public face of impishim beyond MPI itself: the joined world as a communicator, and where a
 * process is in it.
 *
 * Programs need none of this to run as one job over several systems. A program that includes this
 * header needs no library to link: the names below are found when libimpishim.so is preloaded or
 * linked, and the functions are null pointers when it is not.
 */
#ifndef IMPISHIM_IMPISHIM_H
#define IMPISHIM_IMPISHIM_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Attributes that every communicator of a joined job has (IMPI 2.5): MPI_Comm_get_attr with one of
 * these keys gives an int*. IMPI_CLIENT_SIZE   clients ("systems") that have a process in the
 * communicator IMPI_CLIENT_COLOR  the index of this process's client among them, from 0
 *   IMPI_HOST_SIZE     IMPI hosts that have a process in the communicator
 *   IMPI_HOST_COLOR    the index of this process's host among them, from 0
 * For an intercommunicator they speak of the local group. Outside of a joined job the vendor
 * reports MPI_ERR_KEYVAL.
 *
 * Open MPI before 5.0 has enumerators of these names, and those are used; elsewhere they are
 * numbers that no MPI library makes.
 */
#if !defined(OPEN_MPI) || !defined(OMPI_MAJOR_VERSION) || OMPI_MAJOR_VERSION >= 5
#define IMPI_CLIENT_SIZE 0x494D5001
#define IMPI_CLIENT_COLOR 0x494D5002
#define IMPI_HOST_SIZE 0x494D5003
#define IMPI_HOST_COLOR 0x494D5004
#endif

#if defined(__GNUC__)
#define IMPISHIM_OPTIONAL __attribute__((weak))
#else
#define IMPISHIM_OPTIONAL
#endif

/* Gives the communicator of all processes of all systems. With IMPISHIM_WORLD=joined (the default),
 * and in a job that is not joined to others, that is MPI_COMM_WORLD; with IMPISHIM_WORLD=split it
 * is a communicator of its own, and MPI_COMM_WORLD stays the system's. Call it between MPI_Init and
 * MPI_Finalize; local; the communicator belongs to the library: do not free it. Returns
 * MPI_SUCCESS, or MPI_ERR_ARG for a null pointer.
 */
int impishim_comm_world(MPI_Comm* comm) IMPISHIM_OPTIONAL;

/* What this process has exchanged with processes of other systems since MPI_Init: messages, and the
 * bytes of their data as they travelled. A message counts as sent when the first of it is handed to
 * the network, its bytes as they are. It counts as received when a receive has taken all of it, its
 * bytes as they arrive, which may be before this process asks for them.
 */
struct impishim_counters {
  unsigned long long messages_sent;
  unsigned long long bytes_sent;
  unsigned long long messages_received;
  unsigned long long bytes_received;
};

/* Reads the counters; all are 0 in a job that is not joined to others. Call it between MPI_Init and
 * MPI_Finalize; local. Returns MPI_SUCCESS, or MPI_ERR_ARG for a null pointer.
 */
int impishim_get_counters(struct impishim_counters* counters) IMPISHIM_OPTIONAL;

/* Packets, and their bytes with headers, by the hops of routes (see "How it works" in the README):
 * sent to processes of this process's host, which pass them on; passed on to them; sent to other
 * hosts; passed on to those; received from either.
 */
struct impishim_hop {
  unsigned long long packets;
  unsigned long long bytes;
};
struct impishim_hops {
  struct impishim_hop local_origin;
  struct impishim_hop local_relay;
  struct impishim_hop remote_origin;
  struct impishim_hop remote_relay;
  struct impishim_hop local_received;
  struct impishim_hop remote_received;
};

/* Reads them; all are 0 in a job that is not joined to others. Call it between MPI_Init and
 * MPI_Finalize; local. Returns MPI_SUCCESS, or MPI_ERR_ARG for a null pointer.
 */
int impishim_get_hops(struct impishim_hops* hops) IMPISHIM_OPTIONAL;

/* Writes to standard error what this process holds and waits for: the queues of each of its links,
 * credits, messages held back, unexpected messages. Any process of a joined job does the same when
 * it gets SIGUSR1 (IMPISHIM_DUMP_SIGNAL). Call it between MPI_Init and MPI_Finalize; local. Returns
 * MPI_SUCCESS.
 */
int impishim_dump_state(void) IMPISHIM_OPTIONAL;

#ifdef __cplusplus
}
#endif

#endif
