// SPDX-License-Identifier: Apache-2.0
/* Where and how the two sides run: on different processors, always on the same ones, and with one
 * priority, so that contestants differ in nothing else. */
#ifndef IMPISHIM_TESTS_BENCH_SETTLE_H
#define IMPISHIM_TESTS_BENCH_SETTLE_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Binds the calling thread to the `side`th processor that it may use, if there are that many. */
static inline void stay_on_processor(int side) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != side) continue;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(cpu, &chosen);
    sched_setaffinity(0, sizeof(chosen), &chosen);
    return;
  }
}

/* BENCH_NICE, if set, is the niceness to measure with: against the noise of a machine that does
 * other work. Linux weighs whole sessions first where it groups by session. */
static inline void take_priority(void) {
  const char* nice = getenv("BENCH_NICE");
  if (nice == NULL) return;
  if (setpriority(PRIO_PROCESS, 0, atoi(nice)) != 0) perror("BENCH_NICE");
  FILE* group = fopen("/proc/self/autogroup", "w");
  if (group == NULL) return;
  fputs(nice, group);
  fclose(group);
}

static inline void settle(int side) {
  stay_on_processor(side);
  take_priority();
}

#endif
