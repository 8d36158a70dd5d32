#include "tests/bench/measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostBatches = 201, kFewestBatches = 5, kLargestWindow = 64, kSmallestWindow = 4 };

static const size_t kWindowBytes = (size_t)4 << 20;
static const double kSlowFactor = 5; /* of the intended time, before batches are left out */
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
static uint64_t content(size_t word, unsigned seed) { return (word + 1) * 0x9E3779B97F4A7C15U ^ seed * 0xD1B54A32D192ED03U; }

static size_t memory_size(const struct test* test) { return test->bytes * (size_t)(test->window > 0 ? test->window : 1); }

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
    contestant->stream(contestant->leader ? test->out : test->in, test->bytes, test->window, rounds);
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

/* Time of one round in the batch that a quarter of all batches beat: other work on the machine does not reach it as soon as it
 * would reach the median, and a lucky batch does not make it. Slow rounds get fewer batches. */
static double lead(const struct test* test, double batch_us, int batches) {
  double each[kMostBatches];
  const long rounds = rounds_per_batch(test, batch_us);
  const double start = now_us();
  int done = 0;
  while (done < batches && (done < kFewestBatches || now_us() - start < kSlowFactor * batch_us * batches)) {
    each[done++] = timed(test, rounds) / (double)rounds;
  }
  qsort(each, (size_t)done, sizeof(each[0]), by_value);
  return each[done / 4];
}

/* Does what the leader tells until it says 0. */
static void follow(const struct test* test) {
  for (long rounds = test->contestant->hear(); rounds > 0; rounds = test->contestant->hear()) run(test, rounds);
}

/* After the timing: is in place what was sent; and does other content arrive that goes the same way once more? */
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

static int measure_size(const struct contestant* contestant, size_t size, int window, double batch_us, int batches) {
  struct test test = {contestant, contestant->bytes_of(size), window, NULL, NULL};
  const size_t memory = memory_size(&test);
  test.out = malloc(memory);
  test.in = malloc(memory);
  if (test.out == NULL || test.in == NULL) {
    fprintf(stderr, "no memory for messages of %zu bytes\n", size);
    exit(1);
  }
  fill(test.out, memory, 1);
  memset(test.in, 0, memory);
  double round_us = 0;
  if (contestant->leader) {
    round_us = lead(&test, batch_us, batches);
    contestant->tell(0);
  } else {
    follow(&test);
  }
  const int right = check(&test);
  free(test.out);
  free(test.in);
  if (!right) {
    fprintf(stderr, "messages of %zu bytes did not arrive as sent\n", size);
    return 1;
  }
  if (contestant->leader && window == 0) printf("latency %zu %.4f\n", size, round_us / 2);
  if (contestant->leader && window > 0) printf("bandwidth %zu %.3f\n", size, (double)size * window / round_us);
  fflush(stdout);
  return 0;
}

static int window_of(size_t size) {
  const size_t fitting = kWindowBytes / size;
  if (fitting > kLargestWindow) return kLargestWindow;
  return fitting < kSmallestWindow ? kSmallestWindow : (int)fitting;
}

int measure(const struct contestant* contestant, int argc, char** argv) {
  const double batch_us = argc == 4 ? strtod(argv[2], NULL) : 0;
  const int batches = argc == 4 ? atoi(argv[3]) : 0;
  if (batch_us <= 0 || batches < 1 || batches > kMostBatches) {
    fprintf(stderr, "usage: %s SIZE[,SIZE...] MICROSECONDS_PER_BATCH BATCHES\n", argv[0]);
    return 1;
  }
  for (int streams = 0; streams <= 1; ++streams) {
    char* rest = argv[1];
    while (*rest != '\0') {
      char* end = NULL;
      const size_t size = strtoul(rest, &end, 10);
      if (end == rest || size < 8 || size % 8 != 0) {
        fprintf(stderr, "%s is not a list of sizes that are multiples of 8\n", argv[1]);
        return 1;
      }
      if (measure_size(contestant, size, streams ? window_of(size) : 0, batch_us, batches) != 0) return 1;
      rest = *end == ',' ? end + 1 : end;
    }
  }
  return 0;
}
