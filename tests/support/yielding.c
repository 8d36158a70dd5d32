// SPDX-License-Identifier: Apache-2.0
/* Preloaded into the programs of system tests. MPICH's ranks spin while they wait, and have no
 * option to yield: where there are more of them than processors, each spends whole time slices
 * waiting for one that cannot run. All of its waiting passes through UCX. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*progress)(void*);
  static _Thread_local unsigned idle;
  if (progress == NULL) {
    *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (progress == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
  }
  const unsigned events = progress(worker);
  if (events > 0) {
    idle = 0;
  } else if (++idle == 20) {
    idle = 0;
    sched_yield();
  }
  return events;
}
