// SPDX-License-Identifier: Apache-2.0
/// A whole job in one thread: one Engine per proc, joined by memory channels that tear reads and
/// writes by a seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "wire/channel/memory_channel.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::wire::test {

struct JobShape {
  std::vector<std::vector<int>> procs_of_hosts = {{1},
                                                  {1}};  ///< for each client, for each of its hosts
  std::uint32_t seed = 0;                                ///< of the channels
  std::uint64_t cut_after = 0;                           ///< bytes after which host channels end
  /// If not empty: only channels between these two hosts end then.
  std::vector<std::int32_t> cut_hosts{};
  Format format = Format::kNative;
  NegotiatedValues values{};
  RelayOptions relay{};
  std::set<int> foreign{};  ///< clients that do not know our extensions
  /// For each host the index of its gateway, -1 for none; hosts beyond its end have none.
  std::vector<int> gateways{};
  int job = 0;  ///< number of the job among several
};

/// Host i has address 127.0.(1 + job).i, proc r has pid 100 + r.
[[nodiscard]] JobMap make_job(const JobShape& shape);

class SimulatedJob {
 public:
  explicit SimulatedJob(const JobShape& shape);

  [[nodiscard]] Engine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(engines_.size()); }
  [[nodiscard]] const JobMap& job() const { return job_; }

  /// These ranks wait in MPI calls; the others compute, and only their progress threads poll. At
  /// first all wait.
  void only_these_wait(std::set<int> ranks) { waiting_ = std::move(ranks); }

  /// These ranks are not polled at all, as if their machines were slow without end. At first none.
  void stop(std::set<int> ranks) { stopped_ = std::move(ranks); }

  /// Polls everybody in turn until `done`. False: nothing has moved for so long that nothing will.
  [[nodiscard]] bool run_until(const std::function<bool()>& done);
  /// Polls everybody until nothing moves any more.
  void settle();
  /// Closes all engines and runs until they are closed.
  [[nodiscard]] bool close_all();
  /// Ends `rank` as a crash does: its channels end without FINI.
  void kill(int rank) { engines_[static_cast<std::size_t>(rank)].reset(); }

 private:
  std::size_t poll_all();
  JobMap job_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::set<int> waiting_;
  std::set<int> stopped_;
};

/// A send of bytes, started at once; the communicator is the world.
struct Send {
  Send(SimulatedJob& job, int from, int to, std::int32_t tag, std::vector<std::byte> bytes,
       SendMode mode = SendMode::kStandard, ContextId context = 0);
  std::vector<std::byte> data;
  SendOperation operation;
};

/// A receive of bytes and its room.
struct Receive {
  /// Started at once on rank `at`.
  Receive(SimulatedJob& job, int at, std::int32_t source, std::int32_t tag, std::size_t room,
          ContextId context = 0);
  /// Not started.
  Receive(std::int32_t source, std::int32_t tag, std::size_t room, ContextId context = 0);
  [[nodiscard]] bool complete() const { return operation.complete(); }
  /// The bytes received.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  std::vector<std::byte> data;
  ReceiveOperation operation;
};

[[nodiscard]] std::vector<std::byte> pattern(std::size_t size, unsigned seed);

}  // namespace impishim::wire::test
