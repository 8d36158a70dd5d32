// SPDX-License-Identifier: Apache-2.0
/// A LogGP network of several systems (Alexandrov et al., LogGP, SPAA 1995): what one message
/// takes. Inside a system each process has its own way; between two systems all messages in one
/// direction share one road.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace impishim::scale {

/// Times in microseconds.
struct Way {
  double latency = 0;   ///< L: from the last byte that leaves to its arrival
  double overhead = 0;  ///< o: of a processor for a message, at each end
  double gap = 0;       ///< g: least time between two messages of one process
  double per_byte = 0;  ///< G
};

struct NetworkTimes {
  Way local{1.0, 0.3, 0.2, 0.0001};     ///< about 10 GB/s
  Way across{1000.0, 1.0, 0.5, 0.001};  ///< 1 ms, and a road of 1 GB/s
  double combine_per_byte = 0.0002;     ///< of a reduction
};

/// When a message of `bytes` arrives, and when its sender may go on.
struct Passage {
  double sent = 0;
  double arrives = 0;
};

/// The ways of one job while a collective runs.
class Network {
 public:
  Network(const NetworkTimes& times, std::size_t procs, std::size_t systems)
      : times_(times), free_at_(procs, 0.0), systems_(systems), roads_(systems * systems, 0.0) {}

  [[nodiscard]] const NetworkTimes& times() const { return times_; }

  /// Sends from a process at time `now`. `from` and `to` are systems.
  Passage send(std::size_t proc, std::size_t from, std::size_t to, double now,
               std::uint64_t bytes) {
    const Way& way = from == to ? times_.local : times_.across;
    const double length = static_cast<double>(bytes) * way.per_byte;
    double start = std::max(now + way.overhead, free_at_[proc]);
    if (from != to) {
      double& road = roads_[from * systems_ + to];
      start = std::max(start, road);
      road = start + length;
    }
    free_at_[proc] = start + std::max(way.gap, length);
    return {start + length, start + length + way.latency};
  }

 private:
  NetworkTimes times_;
  std::vector<double> free_at_;  ///< by process
  std::size_t systems_;
  std::vector<double> roads_;  ///< by sending and receiving system: when it is free
};

/// What a vendor's collective among `members` processes of one system takes, after the last one it
/// needs has joined. The forms are the usual ones of MPICH and Open MPI (Thakur et al., 2005):
/// binomial trees for short data, scatter and gather for long data.
class VendorTimes {
 public:
  VendorTimes(const NetworkTimes& times, std::size_t members)
      : way_(times.local),
        combine_(times.combine_per_byte),
        rounds_(members > 1 ? std::ceil(std::log2(static_cast<double>(members))) : 0.0) {}

  [[nodiscard]] double barrier() const { return rounds_ * hop(0); }
  [[nodiscard]] double broadcast(double bytes) const {
    return std::min(rounds_ * hop(bytes), rounds_ * hop(0) + 2 * bytes * way_.per_byte);
  }
  [[nodiscard]] double reduce(double bytes) const {
    return std::min(rounds_ * (hop(bytes) + bytes * combine_),
                    rounds_ * hop(0) + bytes * (2 * way_.per_byte + combine_));
  }
  [[nodiscard]] double allreduce(double bytes) const {
    return std::min(rounds_ * (hop(bytes) + bytes * combine_),
                    2 * rounds_ * hop(0) + bytes * (2 * way_.per_byte + combine_));
  }
  [[nodiscard]] double reduce_scatter(double bytes) const {
    return rounds_ * hop(0) + bytes * (way_.per_byte + combine_);
  }
  [[nodiscard]] double scan(double bytes) const {
    return rounds_ * (hop(bytes) + bytes * combine_);
  }
  /// Gathers and scatters: `bytes` of all members together.
  [[nodiscard]] double collect(double bytes) const {
    return rounds_ * hop(0) + bytes * way_.per_byte;
  }

 private:
  [[nodiscard]] double hop(double bytes) const {
    return way_.latency + 2 * way_.overhead + bytes * way_.per_byte;
  }
  Way way_;
  double combine_;
  double rounds_;
};

}  // namespace impishim::scale
