// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kPage = 4096,
  kMostSizes = 32,
  kMostBatches = 201,
  kFewestBatches = 5,
  kLargestWindow = 64,
  kSmallestWindow = 4,
  kMostPairs = 2000
};

static const size_t kWindowBytes = (size_t)4 << 20;
/* A stream of long messages is no steady thing: from one window to the next TCP is three times as
 * fast or slow, as what is on its way does or does not fit the processors' caches. The best windows
 * would tell of luck; batches of many tell of streams. */
static const size_t kLongMessage = (size_t)64 << 10;
static const double kLongStreamFactor = 20;
static const int kLongStreamShare = 4; /* of the batches */
static const double kSlowFactor = 5;   /* of the intended time, before batches are left out */
static const long kMostRounds = 1L << 24;

struct test {
  const struct contestant* contestant;
  size_t bytes;
  int window; /* messages per round of a stream; 0: a ping-pong */
  char* out;
  char* in;
};

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Neighbouring words, slots and seeds differ. */
static uint64_t content(size_t word, unsigned seed) {
  return (word + 1) * 0x9E3779B97F4A7C15U ^ seed * 0xD1B54A32D192ED03U;
}

static size_t memory_size(const struct test* test) {
  return test->bytes * (size_t)(test->window > 0 ? test->window : 1);
}

static void fill(char* memory, size_t size, unsigned seed) {
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t value = content(i / 8, seed);
    memcpy(memory + i, &value, 8);
  }
}

static int holds(const char* memory, size_t size, unsigned seed) {
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t value = content(i / 8, seed);
    if (memcmp(memory + i, &value, 8) != 0) return 0;
  }
  return 1;
}

static void run(const struct test* test, long rounds) {
  const struct contestant* contestant = test->contestant;
  if (test->window == 0) {
    contestant->ping_pong(test->out, test->in, test->bytes, rounds);
  } else {
    contestant->stream(contestant->leader ? test->out : test->in, test->bytes, test->window,
                       rounds);
  }
}

static double timed(const struct test* test, long rounds) {
  test->contestant->tell(rounds);
  const double start = now_us();
  run(test, rounds);
  return now_us() - start;
}

/* Rounds that take about `batch_us`: found by doing them, which warms everything up as well. */
static long rounds_per_batch(const struct test* test, double batch_us) {
  long rounds = 1;
  for (;;) {
    const double took = timed(test, rounds);
    if (took >= batch_us || rounds >= kMostRounds) return rounds;
    const double factor = batch_us / (took > 0.1 ? took : 0.1) * 1.1;
    rounds = (long)((double)rounds * (factor > 10 ? 10 : factor)) + 1;
  }
}

static int by_value(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

/* Time of one round in the batch that a twentieth of all batches beat: other work on the machine
 * does not reach it as soon as it would reach the median, and a lucky batch does not make it. On
 * shared hardware the same code has two speeds, as processors that stand for two threads of one
 * core, or for two cores, come and go: the better one is what is compared. Slow rounds get fewer
 * batches. */
static double lead(const struct test* test, double batch_us, int batches) {
  double each[kMostBatches];
  const long rounds = rounds_per_batch(test, batch_us);
  const double start = now_us();
  int done = 0;
  while (done < batches &&
         (done < kFewestBatches || now_us() - start < kSlowFactor * batch_us * batches)) {
    each[done++] = timed(test, rounds) / (double)rounds;
  }
  qsort(each, (size_t)done, sizeof(each[0]), by_value);
  return each[done / 20];
}

/* Does what the leader tells until it says 0. */
static void follow(const struct test* test) {
  for (long rounds = test->contestant->hear(); rounds > 0; rounds = test->contestant->hear())
    run(test, rounds);
}

/* After the timing: is in place what was sent; and does other content arrive that goes the same way
 * once more? */
static int check(const struct test* test) {
  const size_t size = memory_size(test);
  const int leader = test->contestant->leader;
  const int receives = !leader || test->window == 0;
  if (receives && !holds(test->in, size, 1)) return 0;
  fill(test->out, size, 2);
  memset(test->in, 0, size);
  if (leader) {
    timed(test, 1);
    test->contestant->tell(0);
  } else {
    follow(test);
  }
  return !receives || holds(test->in, size, 2);
}

static int window_of(size_t size) {
  const size_t fitting = kWindowBytes / size;
  if (fitting > kLargestWindow) return kLargestWindow;
  return fitting < kSmallestWindow ? kSmallestWindow : (int)fitting;
}

static struct test test_of(const struct contestant* contestant, size_t size, int stream) {
  struct test test = {contestant, contestant->bytes_of(size), stream ? window_of(size) : 0, NULL,
                      NULL};
  return test;
}

static int measure_size(struct test* test, size_t size, double batch_us, int batches) {
  const struct contestant* contestant = test->contestant;
  if (test->window > 0 && size >= kLongMessage) {
    batch_us *= kLongStreamFactor;
    batches = (batches + kLongStreamShare - 1) / kLongStreamShare;
  }
  fill(test->out, memory_size(test), 1);
  memset(test->in, 0, memory_size(test));
  double round_us = 0;
  if (contestant->leader) {
    round_us = lead(test, batch_us, batches);
    contestant->tell(0);
  } else {
    follow(test);
  }
  if (!check(test)) {
    fprintf(stderr, "messages of %zu bytes did not arrive as sent\n", size);
    return 1;
  }
  if (contestant->leader && test->window == 0) printf("latency %zu %.4f\n", size, round_us / 2);
  if (contestant->leader && test->window > 0)
    printf("bandwidth %zu %.3f\n", size, (double)size * test->window / round_us);
  fflush(stdout);
  return 0;
}

/* Reads `text`, as 8,64,512, into `sizes`; returns how many there are, 0 if something is wrong with
 * them. */
static int parse_sizes(const char* text, size_t* sizes) {
  int count = 0;
  for (;;) {
    char* end = NULL;
    const size_t size = strtoul(text, &end, 10);
    if (end == text || size < 8 || size % 8 != 0 || count == kMostSizes) return 0;
    sizes[count++] = size;
    if (*end == '\0') return count;
    if (*end != ',') return 0;
    text = end + 1;
  }
}

static char* take_pages(size_t bytes) {
  return aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
}

int measure(const struct contestant* contestant, int argc, char** argv) {
  size_t sizes[kMostSizes];
  const int count = argc == 4 ? parse_sizes(argv[1], sizes) : 0;
  const double batch_us = argc == 4 ? strtod(argv[2], NULL) : 0;
  const int batches = argc == 4 ? atoi(argv[3]) : 0;
  if (count == 0 || batch_us <= 0 || batches < 1 || batches > kMostBatches) {
    fprintf(stderr,
            "usage: %s SIZE[,SIZE...] MICROSECONDS_PER_BATCH BATCHES; sizes are multiples of 8\n",
            argv[0]);
    return 1;
  }
  size_t memory = kPage;
  for (int i = 0; i < count; ++i) {
    const struct test test = test_of(contestant, sizes[i], 1);
    if (memory_size(&test) > memory) memory = memory_size(&test);
  }
  /* The same memory for all sizes: with memory of its own for each, MPICH's bandwidth from 32 KiB
   * on varied four-fold from run to run. */
  char* out = take_pages(memory);
  char* in = take_pages(memory);
  int wrong = out == NULL || in == NULL;
  if (wrong) fprintf(stderr, "no memory\n");
  for (int streams = 0; streams <= 1; ++streams) {
    for (int i = 0; i < count && !wrong; ++i) {
      struct test test = test_of(contestant, sizes[i], streams);
      test.out = out;
      test.in = in;
      wrong = measure_size(&test, sizes[i], batch_us, batches);
    }
  }
  free(out);
  free(in);
  return wrong;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(values[0]), by_value);
  return values[count / 2];
}

static double turn(const struct test* test, long rounds) {
  const double start = now_us();
  run(test, rounds);
  return (now_us() - start) / (double)rounds;
}

/* Both sides at once; microseconds per round go into `ours_us` and `theirs_us`. */
static void take_turns(const struct test* ours, const struct test* theirs, long rounds, int pairs,
                       double* ours_us, double* theirs_us) {
  for (int pair = 0; pair < pairs; ++pair) {
    if (pair % 2 != 0) theirs_us[pair] = turn(theirs, rounds);
    ours_us[pair] = turn(ours, rounds);
    if (pair % 2 == 0) theirs_us[pair] = turn(theirs, rounds);
  }
}

static void print_turns(const struct test* test, double* ours_us, double* theirs_us, int pairs) {
  double ratios[kMostPairs];
  for (int pair = 0; pair < pairs; ++pair) ratios[pair] = ours_us[pair] / theirs_us[pair];
  const double ours = median(ours_us, pairs);
  const double theirs = median(theirs_us, pairs);
  const double ratio = median(ratios, pairs);
  if (test->window == 0) {
    printf("latency %.4f %.4f %.4f\n", ours / 2, theirs / 2, ratio);
  } else {
    printf("rate %.4f %.4f %.4f\n", test->window / ours, test->window / theirs, 1 / ratio);
  }
  fflush(stdout);
}

/* Its memory is its own, and full of what is to arrive. */
static int make_test(struct test* test, const struct contestant* contestant, size_t size,
                     int stream) {
  *test = test_of(contestant, size, stream);
  test->out = take_pages(memory_size(test));
  test->in = take_pages(memory_size(test));
  if (test->out == NULL || test->in == NULL) return 0;
  fill(test->out, memory_size(test), 1);
  memset(test->in, 0, memory_size(test));
  return 1;
}

static int compare(const struct test* ours, const struct test* theirs, double turn_us, int pairs) {
  double ours_us[kMostPairs];
  double theirs_us[kMostPairs];
  const struct contestant* contestant = ours->contestant;
  long rounds = 0;
  if (contestant->leader) {
    rounds = rounds_per_batch(ours, turn_us);
    contestant->tell(0);
    contestant->tell(rounds);
  } else {
    follow(ours);
    rounds = contestant->hear();
  }
  take_turns(ours, theirs, rounds, pairs, ours_us, theirs_us);
  if (contestant->leader) print_turns(ours, ours_us, theirs_us, pairs);
  if (check(ours) && check(theirs)) return 0;
  fprintf(stderr, "messages did not arrive as sent\n");
  return 1;
}

int measure_in_turns(const struct contestant* ours, const struct contestant* theirs, size_t size,
                     double turn_us, int pairs) {
  if (turn_us <= 0 || pairs < 1 || pairs > kMostPairs) {
    fprintf(stderr, "turns take some microseconds, and there are 1 to %d pairs of them\n",
            kMostPairs);
    return 1;
  }
  int wrong = 0;
  for (int streams = 0; streams <= (theirs->stream != NULL) && !wrong; ++streams) {
    struct test our_test;
    struct test their_test;
    wrong = !make_test(&our_test, ours, size, streams) ||
            !make_test(&their_test, theirs, size, streams) ||
            compare(&our_test, &their_test, turn_us, pairs) != 0;
    free(our_test.out);
    free(our_test.in);
    free(their_test.out);
    free(their_test.in);
  }
  return wrong;
}
