// SPDX-License-Identifier: Apache-2.0
/// A joined job in memory: any number of clients with any members, collective tasks stepped in
/// turn, every message recorded.
///
/// The test fails with a deadlock if no task advances in a round of steps and no message is in
/// progress.
/// Tasks are stepped in a new random order in each round, and messages take a random number of
/// rounds, from a fixed seed. Unless all clients represent data alike (Limits), messages between
/// clients travel packed, in external32 between some pairs of clients and in the wide form between
/// others, and must be typed, so that a master that passes on another system's bytes unread is
/// found out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/collectives.hpp"

namespace impishim::collectives::test {

/// One message between members. Ranks are those of the whole job; of an intercommunicator, first
/// group then second.
struct Message {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t tag = 0;
  std::uint64_t elements = 0;  ///< basic ones
  bool local = false;          ///< inside one client
  bool operator==(const Message&) const = default;
};

/// When a send is over: at once, or when its receive has come.
enum class SendEnds { kAtOnce, kAtMatch };

class SimulatedJob {
 public:
  /// `client_of[rank]` is the client of each rank: clients' numbers are any, in any order.
  SimulatedJob(std::vector<std::int32_t> client_of, SendEnds send_ends, unsigned seed = 1);
  /// Two groups of an intercommunicator: the first has the first `first_group_size` ranks.
  SimulatedJob(std::vector<std::int32_t> client_of, std::int32_t first_group_size,
               SendEnds send_ends, unsigned seed = 1);
  ~SimulatedJob();
  SimulatedJob(const SimulatedJob&) = delete;
  SimulatedJob& operator=(const SimulatedJob&) = delete;

  /// Runs one task on every rank to its end. Returns false, with the reason in failure(), on a
  /// deadlock, an error, messages left over, or something started and not awaited.
  [[nodiscard]] bool run(const std::function<Task(std::int32_t rank, const Team& team)>& make_task);
  /// The same of the two groups.
  [[nodiscard]] bool run_inter(
      const std::function<Task(std::int32_t rank, const InterTeam& team)>& make_task);

  [[nodiscard]] std::int32_t size() const;
  [[nodiscard]] std::int32_t first_group_size() const;
  [[nodiscard]] const Membership& membership(std::int32_t rank) const;
  /// All messages of the last run, in the order of posting; those between clients alone.
  [[nodiscard]] const std::vector<Message>& messages() const;
  [[nodiscard]] std::vector<Message> crossings() const;
  /// Basic elements in all crossings together.
  [[nodiscard]] std::uint64_t crossing_elements() const;
  /// Bytes in them, as represented on their way.
  [[nodiscard]] std::uint64_t crossing_bytes() const;
  /// The most messages between clients that one had to wait for after the other in the last run:
  /// one-way delays.
  [[nodiscard]] std::int32_t delays() const;
  [[nodiscard]] const std::string& failure() const;
  Limits limits;
  /// Set for forms that pass packed bytes on between clients that represent data differently;
  /// otherwise they are a failure.
  bool bytes_may_cross = false;
  /// Those bytes, by message.
  [[nodiscard]] const std::vector<std::vector<std::byte>>& untyped() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

/// Client numbers for `clients` clients of one to three members each, in blocks of ranks; or dealt
/// out in turn.
[[nodiscard]] std::vector<std::int32_t> blocks_of_ranks(std::int32_t clients);
[[nodiscard]] std::vector<std::int32_t> dealt_ranks(std::int32_t clients);

/// Jobs of 1 to 17 clients, blocked and dealt, with both kinds of sends, and clients that represent
/// data alike or not.
void for_each_job(const std::function<void(SimulatedJob& job)>& check);
/// Jobs of two groups: on the same clients, on others, each inside one, one inside a client of the
/// other; varied in the same way.
void for_each_inter_job(const std::function<void(SimulatedJob& job)>& check);

/// The type of `count` consecutive elements, and one with a gap after each element and its origin
/// not at its first byte.
[[nodiscard]] ElementType plain_type(wire::BasicType type);
[[nodiscard]] ElementType gapped_type(wire::BasicType type);

}  // namespace impishim::collectives::test
