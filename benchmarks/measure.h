// SPDX-License-Identifier: Apache-2.0
/* The measurements that every contestant of scripts/bench goes through, whatever carries its
 * messages. */
#ifndef IMPISHIM_TESTS_BENCH_MEASURE_H
#define IMPISHIM_TESTS_BENCH_MEASURE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a pair: the leader measures, the follower does as it is told. */
struct contestant {
  int leader;
  /* Bytes that carry a message of `size` payload bytes: more than `size` where the contestant adds
   * headers by hand. */
  size_t (*bytes_of)(size_t size);
  /* The leader tells the follower how many rounds come, the follower hears it. */
  void (*tell)(long rounds);
  long (*hear)(void);
  /* `rounds` times from the leader's `out` to the follower's `in`, and from there back to the
   * leader's `in`. */
  void (*ping_pong)(char* out, char* in, size_t bytes, long rounds);
  /* `rounds` times `window` messages from the leader to the follower, all outstanding at once, each
   * in a place of its own in `memory`; then an answer of 8 payload bytes. */
  void (*stream)(char* memory, size_t bytes, int window, long rounds);
};

/* Arguments: sizes as 8,64,512; microseconds per batch; most batches per size. The leader prints
 * for each size latency SIZE MICROSECONDS      half a round trip bandwidth SIZE MEGABYTES 10^6
 * payload bytes per second both in the batch that a twentieth of all batches beat. Returns 0, or 1
 * with a text on stderr: bad arguments, or data that did not arrive as sent. */
int measure(const struct contestant* contestant, int argc, char** argv);

/* `ours` and `theirs` take turns of `turn_us` microseconds, `pairs` of them, and begin a pair in
 * turns, too; the same two processes do both, with messages of `size` bytes. The leader prints
 *   latency OURS THEIRS RATIO      half a round trip, microseconds
 *   rate OURS THEIRS RATIO         of windows of messages, million per second; only if both can
 * stream the medians, and that of the ratios within a pair. `theirs` tells and hears as `ours`
 * does. Returns as measure(). */
int measure_in_turns(const struct contestant* ours, const struct contestant* theirs, size_t size,
                     double turn_us, int pairs);

#ifdef __cplusplus
}
#endif

#endif
