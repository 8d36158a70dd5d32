// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * All-to-all messages of a joined job through three hops, in batches: the functions of DeltaFS
 * Shuffle on impishim's own transport.
 *
 * A message goes from its source to a process of the source's host, the representative for the
 * destination's host. From there it goes to the representative of the destination's host, and then
 * to its destination. A hop disappears if one process has two of these roles. Therefore each
 * process keeps one queue for each neighbour instead of one for each process of the job.
 *
 * Queues gather messages into batches while earlier batches are unanswered. If no batch is
 * unanswered, a message leaves at once. A full queue makes impishim_shuffle_enqueue() block.
 * Nothing is dropped, and messages from one process to another keep their order. Ranks are those of
 * impishim_comm_world().
 *
 * Threads of the library relay and deliver messages, also while the program computes.
 */
#ifndef IMPISHIM_SHUFFLE_H
#define IMPISHIM_SHUFFLE_H

#include <stddef.h>

#include "impishim/impishim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A shuffle. Create it with impishim_shuffle_init(). */
struct impishim_shuffle;

/**
 * Receives the messages of a shuffle. The library's delivery thread calls it for one message at a
 * time.
 *
 * The callback may block; in the end this stops the processes that send here. It must not call
 * functions of this shuffle. It may call MPI only with MPI_THREAD_MULTIPLE. `data` is valid until
 * the callback returns.
 */
typedef void (*impishim_shuffle_deliver)(int source, int destination, unsigned type,
                                         const void* data, size_t bytes, void* context);

/**
 * Limits of a shuffle.
 *
 * Each output queue leads to one neighbour. There are three kinds: local origin (this process's
 * messages to processes of its host), local relay (messages from other hosts to processes of this
 * host) and remote (messages to other hosts). The names in parentheses are environment variables of
 * the same meaning, without their prefix IMPISHIM_SHUFFLE_.
 */
struct impishim_shuffle_options {
  unsigned local_origin_maxrpc; /**< most unanswered batches of a local origin queue (LOMAXRPC) */
  unsigned local_origin_buftarget; /**< bytes from which a batch leaves while others are unanswered
                                      (LOBUFTARGET) */
  unsigned local_relay_maxrpc;     /**< the same for a local relay queue (LRMAXRPC) */
  unsigned local_relay_buftarget;  /**< the same for a local relay queue (LRBUFTARGET) */
  unsigned remote_maxrpc;          /**< the same for a remote queue (RMAXRPC) */
  unsigned remote_buftarget;       /**< the same for a remote queue (RBUFTARGET) */
  unsigned local_sender_limit;     /**< most unanswered batches of all local origin queues together,
                                      and of all local relay queues together (LOCALSENDERLIMIT) */
  unsigned remote_sender_limit;    /**< most unanswered batches of all remote queues together
                                      (REMOTESENDERLIMIT) */
  unsigned deliverq_max;       /**< most messages waiting for delivery; batches with more messages
                                  wait for their answer (DELIVERQ_MAX) */
  unsigned deliverq_threshold; /**< messages from which delivery starts; fewer wait for more, or
                                  for a flush (DELIVERQ_THRESHOLD) */
};

/** Counts of one process since impishim_shuffle_init(). */
struct impishim_shuffle_statistics {
  unsigned long long sent_local_origin;    /**< messages that left through local origin queues */
  unsigned long long sent_local_relay;     /**< messages that left through local relay queues */
  unsigned long long sent_remote;          /**< messages that left through remote queues */
  unsigned long long batches_local_origin; /**< batches that local origin queues sent */
  unsigned long long batches_local_relay;  /**< batches that local relay queues sent */
  unsigned long long batches_remote;       /**< batches that remote queues sent */
  unsigned long long received_local;       /**< messages received through processes of this host */
  unsigned long long received_remote; /**< messages from other hosts, to be delivered or relayed */
  unsigned long long delivered;       /**< messages delivered */
  unsigned long long held_bytes; /**< bytes in this process's queues, on their way in or waiting
                                    for delivery; each message counts 16 bytes more */
  unsigned long long held_bytes_peak; /**< largest value so far; the README gives the bound */
};

/**
 * Settings of the log of this process, which writes about shuffles in the area "shuffle". Each text
 * has the form of the environment variable that is named; null keeps the setting.
 */
struct impishim_log_options {
  const char* levels;         /**< what is recorded (IMPISHIM_LOG) */
  const char* file;           /**< the prefix of the file of each process (IMPISHIM_LOG_FILE) */
  const char* standard_error; /**< what standard error shows of it (IMPISHIM_LOG_STDERR) */
  const char* ranks;          /**< the processes that record it (IMPISHIM_LOG_RANKS) */
  const char* buffer;         /**< bytes in memory, written at a failure (IMPISHIM_LOG_BUFFER) */
};

/**
 * Changes the settings of the log, as DeltaFS Shuffle's shuffle_cfglog() does. It may be called at
 * any time, and by several threads.
 *
 * @param options the settings to change
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a null pointer or a wrong text; the function names the
 * text on standard error, and changes nothing
 */
int impishim_configure_log(const struct impishim_log_options* options) IMPISHIM_OPTIONAL;

/**
 * Sets the options to their defaults and to the values of the environment variables.
 *
 * @param[out] options the options
 * @return MPI_SUCCESS, or MPI_ERR_ARG for a null pointer or a wrong variable; the function names
 * the variable on standard error
 */
int impishim_shuffle_options_init(struct impishim_shuffle_options* options) IMPISHIM_OPTIONAL;

/**
 * Creates a shuffle. Collective over all processes of the joined job, with the effect of a barrier.
 * Several shuffles may exist at once.
 *
 * Errors go through the error handler of impishim_comm_world().
 *
 * @param[out] shuffle the new shuffle
 * @param options the limits, or null for those of impishim_shuffle_options_init()
 * @param deliver receives the messages for this process
 * @param context passed to `deliver`
 * @return MPI_SUCCESS; MPI_ERR_ARG for null pointers and wrong options;
 * MPI_ERR_UNSUPPORTED_OPERATION in a job of a single system, or in a job with a system of another
 * implementation
 */
int impishim_shuffle_init(struct impishim_shuffle** shuffle,
                          const struct impishim_shuffle_options* options,
                          impishim_shuffle_deliver deliver, void* context) IMPISHIM_OPTIONAL;

/**
 * Sends a message of `bytes` bytes and copies its data. Blocks while the queue is full.
 *
 * @param shuffle the shuffle
 * @param destination rank of the receiver
 * @param type a number that the program chooses; the receiver's callback gets it
 * @param data the data
 * @param bytes the size of the data
 * @return MPI_SUCCESS, MPI_ERR_RANK, MPI_ERR_ARG, MPI_ERR_COUNT (2^31 bytes and more), or
 * MPI_ERR_OTHER if the job has failed
 */
int impishim_shuffle_enqueue(struct impishim_shuffle* shuffle, int destination, unsigned type,
                             const void* data, size_t bytes) IMPISHIM_OPTIONAL;

/**
 * @name Flushes
 *
 * Each of the first three functions blocks until the next hops have taken all messages that are now
 * in this process's queues of one kind. The last one blocks until all messages that have arrived
 * for this process have been delivered. A flush says nothing about later messages, or about the
 * further route of these. Flushes combined with barriers flush the whole job.
 * @{
 */
int impishim_shuffle_flush_origin(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_relay(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_remote(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
int impishim_shuffle_flush_delivery(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;
/** @} */

/** Reads the statistics of this process. */
int impishim_shuffle_get_statistics(struct impishim_shuffle* shuffle,
                                    struct impishim_shuffle_statistics* statistics)
    IMPISHIM_OPTIONAL;

/** Writes the queues, limits and waiting messages of this process to standard error. */
int impishim_shuffle_dump_state(struct impishim_shuffle* shuffle) IMPISHIM_OPTIONAL;

/**
 * Ends a shuffle after all messages of all processes have been delivered, and sets the pointer to
 * null.
 *
 * Collective over the joined job. Call it before MPI_Finalize, which fails with MPI_ERR_OTHER while
 * a shuffle exists.
 */
int impishim_shuffle_shutdown(struct impishim_shuffle** shuffle) IMPISHIM_OPTIONAL;

#ifdef __cplusplus
}
#endif

#endif
