// SPDX-License-Identifier: Apache-2.0
/// A shuffle whose messages tell who sent them and when, and an inbox that expects them whole, once
/// and in order.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "impishim/shuffle.h"
#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace impishim_test {

inline double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline void compute(double duration) {
  for (const double end = seconds() + duration; seconds() < end;) {
  }
}

/// Longer than a packet.
inline constexpr std::size_t kLong = 200000;

/// Many short messages, some of them empty, and now and then one of the longest.
inline std::size_t size_for(unsigned type, std::size_t longest) {
  return type % 100 == 99 ? longest : type % 7 * 20;
}

inline std::uint64_t seed_for(int source, int destination, unsigned type) {
  return (static_cast<std::uint64_t>(source) * 100 + static_cast<std::uint64_t>(destination)) *
             100000 +
         type;
}

/// What the delivery thread has seen. Failures are told by the program's own thread: the callback
/// must not call MPI.
struct Inbox {
  int rank = 0;
  std::vector<unsigned> next;  ///< by source: the type that comes next
  std::atomic<unsigned long> messages{0};
  std::atomic<unsigned long> wrong{0};
  double pause_s = 0;           ///< computed in each callback
  std::size_t longest = kLong;  ///< of the messages
};

inline void deliver(int source, int destination, unsigned type, const void* data, std::size_t bytes,
                    void* context) {
  Inbox& inbox = *static_cast<Inbox*>(context);
  const bool right =
      destination == inbox.rank && type == inbox.next[static_cast<std::size_t>(source)]++ &&
      bytes == size_for(type, inbox.longest) &&
      (bytes == 0 ||
       holds(static_cast<const unsigned char*>(data), bytes, seed_for(source, destination, type)));
  if (!right) inbox.wrong.fetch_add(1);
  if (inbox.pause_s > 0) compute(inbox.pause_s);
  inbox.messages.fetch_add(1);
}

/// Everybody's messages to everybody through one shuffle. Made and ended by all processes.
class Exchange {
 public:
  explicit Exchange(double pause_s = 0, std::size_t longest = kLong) {
    inbox_.rank = rank_in(MPI_COMM_WORLD);
    inbox_.next.assign(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)), 0);
    inbox_.pause_s = pause_s;
    inbox_.longest = longest;
    REQUIRE_EQUAL(impishim_shuffle_init(&shuffle_, nullptr, deliver, &inbox_), MPI_SUCCESS);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] impishim_shuffle* shuffle() const { return shuffle_; }
  [[nodiscard]] unsigned long delivered() const { return inbox_.messages.load(); }

  /// Types begin with 0 and have no gaps.
  void send_to_all(unsigned type) {
    std::vector<unsigned char> data(size_for(type, inbox_.longest));
    for (int to = 0; to < static_cast<int>(inbox_.next.size()); ++to) {
      fill(data.data(), data.size(), seed_for(inbox_.rank, to, type));
      REQUIRE_EQUAL(impishim_shuffle_enqueue(shuffle_, to, type, data.data(), data.size()),
                    MPI_SUCCESS);
    }
  }

  /// Everybody has sent so many messages to everybody, and all have come.
  void end(unsigned messages) {
    REQUIRE_EQUAL(impishim_shuffle_shutdown(&shuffle_), MPI_SUCCESS);
    REQUIRE(shuffle_ == nullptr);
    REQUIRE_EQUAL(inbox_.wrong.load(), 0);
    REQUIRE_EQUAL(inbox_.messages.load(), messages * inbox_.next.size());
    for (const unsigned next : inbox_.next) REQUIRE_EQUAL(next, messages);
  }

 private:
  Inbox inbox_;
  impishim_shuffle* shuffle_ = nullptr;
};

}  // namespace impishim_test
