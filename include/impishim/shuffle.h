/* All-to-all messages of a joined job through three hops, in batches: what DeltaFS Shuffle offers,
 * on impishim's own transport.
 *
 * A message goes from its source to the process that represents the source's host for the
 * destination's (a representative), from there to that host's representative, and on to its
 * destination; hops fall away where one process is both. So each process keeps one queue for each
 * neighbour instead of one for each process of the job. Queues gather messages into batches while
 * earlier ones are unanswered; a message that nobody is batching with leaves at once. Queues that
 * are full make impishim_shuffle_enqueue() wait; nothing is dropped, and messages from one process
 * to another keep their order. Ranks are those of impishim_comm_world().
 *
 * Relaying and delivery go on in threads of the library's, whatever the program computes.
 */
#ifndef IMPISHIM_SHUFFLE_H
#define IMPISHIM_SHUFFLE_H

#include <stddef.h>

#include "impishim/impishim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct impishim_shuffle;

/* Called in the library's delivery thread, for one message at a time. It may block, which in the
 * end stops those who send here. It must not call this shuffle's functions, and MPI only with
 * MPI_THREAD_MULTIPLE. `data` is valid until it returns.
 */
typedef void (*impishim_shuffle_deliver)(int source, int destination, unsigned type,
                                         const void* data, size_t bytes, void* context);

/* Output queues lead to one neighbour each, and are of three kinds: local origin (this process's
 * messages to processes of its host), local relay (messages from other hosts to processes of this
 * host) and remote (to other hosts). Variables of the same meaning are named in parentheses, with
 * IMPISHIM_SHUFFLE_ before them.
 */
struct impishim_shuffle_options {
  unsigned local_origin_maxrpc;    /* most unanswered batches of a queue (LOMAXRPC) */
  unsigned local_origin_buftarget; /* bytes from which a batch leaves while others are unanswered
                                      (LOBUFTARGET) */
  unsigned local_relay_maxrpc;     /* (LRMAXRPC) */
  unsigned local_relay_buftarget;  /* (LRBUFTARGET) */
  unsigned remote_maxrpc;          /* (RMAXRPC) */
  unsigned remote_buftarget;       /* (RBUFTARGET) */
  unsigned local_sender_limit;     /* most unanswered batches of all local origin queues, and of all
                                      local relay queues     (LOCALSENDERLIMIT) */
  unsigned remote_sender_limit;    /* of all remote queues (REMOTESENDERLIMIT) */
  unsigned deliverq_max; /* messages waiting for delivery above which those that bring more wait for
                            their answer (DELIVERQ_MAX) */
  unsigned deliverq_threshold; /* messages from which delivery begins; fewer wait for more, or for a
                                  flush (DELIVERQ_THRESHOLD) */
};

struct impishim_shuffle_statistics {
  unsigned long long sent_local_origin; /* messages, by the queue that they left through */
  unsigned long long sent_local_relay;
  unsigned long long sent_remote;
  unsigned long long batches_local_origin; /* that they left in */
  unsigned long long batches_local_relay;
  unsigned long long batches_remote;
  unsigned long long received_local;  /* by way of processes of this host */
  unsigned long long received_remote; /* from other hosts, to be delivered or passed on */
  unsigned long long delivered;
  unsigned long long held_bytes;      /* with 16 of each message's own: in this process's queues, on
                                         their way in or to be delivered */
  unsigned long long held_bytes_peak; /* most of them so far; the README gives the bound */
};

/* Fills in the defaults, and what the variables say. Returns MPI_SUCCESS, or MPI_ERR_ARG for a null
 * pointer or a variable that is wrong, which it names on standard error.
 */
int impishim_shuffle_options_init(struct impishim_shuffle_options* options) IMPISHIM_OPTIONAL;

/* Makes a shuffle. Collective over all processes of the joined job, with a barrier's effect;
 * several may exist at once. `options` may be null: those of impishim_shuffle_options_init().
 * `context` is handed to `deliver`. Errors, through the error handler of impishim_comm_world():
 * MPI_ERR_ARG for null pointers and options that are wrong; MPI_ERR_UNSUPPORTED_OPERATION in a job
 * of a single system, or one that has a system of another implementation.
 */
int impishim_shuffle_init(struct impishim_shuffle** shuffle,
                          const struct impishim_shuffle_options* options,
                          impishim_shuffle_deliver deliver, void* context) IMPISHIM_OPTIONAL;

/* Sends `bytes` bytes with a number of the program's own. The data is copied. Waits while the queue
 * is full. Errors: MPI_ERR_RANK, MPI_ERR_ARG, MPI_ERR_COUNT (2^31 bytes and more), MPI_ERR_OTHER if
 * the job has failed.
 */
int impishim_shuffle_enqueue(struct impishim_shuffle* shuffle, int destination, unsigned type,
                             const void* data, size_t bytes) IMPISHIM_OPTIONAL;

/* Each waits until what is in this process's queues of one kind now has been taken by the next
 * processes, or delivered. They say nothing of what comes later, nor of the messages' further way:
 * combined with barriers they make flushes of the whole job.
 */
int impishim_shuffle_flush_origin(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_relay(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_remote(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_delivery(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;

int impishim_shuffle_get_statistics(struct impishim_shuffle* shuffle,
                                    struct impishim_shuffle_statistics* statistics)
    IMPISHIM_OPTIONAL;
/* Writes queues, limits and what waits to standard error. */
int impishim_shuffle_dump_state(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;

/* Ends a shuffle when all messages of all processes have been delivered. Collective over the joined
 * job; before MPI_Finalize, which ends in MPI_ERR_OTHER while there is one left. Sets the pointer
 * to null.
 */
int impishim_shuffle_shutdown(struct impishim_shuffle** shuffle) IMPISHIM_OPTIONAL;

#ifdef __cplusplus
}
#endif

#endif
