// SPDX-License-Identifier: Apache-2.0
/// Messages between engines, the receives for them, and which receive must get which message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/random.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire::test {

/// The ways in which receives name their messages. Each has a context of its own, so that no
/// receive takes what another one needs.
enum class Naming : std::uint8_t { kExact, kAnyTag, kAnySource, kAnything };
inline constexpr ContextId kNamings = 4;

struct SimulatedSend {
  WorldRank from = 0;
  Naming naming = Naming::kExact;
  std::uint64_t place = 0;  ///< position of its content
  std::size_t size = 0;
  bool claimed = false;  ///< a receive has got it
  SendOperation operation;
};

struct SimulatedReceive {
  WorldRank at = 0;
  std::vector<std::byte> room;
  ReceiveOperation operation;
};

/// All messages of a job, in the order in which each process begins them.
///
/// If a client is lost, its processes begin and complete nothing more. A process that knows of it
/// skips its planned receives from any source: some of their messages never come. It posts new ones
/// instead, one after the other, as long as messages of survivors are missing.
class MessagePlan {
 public:
  static constexpr std::size_t kLongest = 200'000;

  /// `job` must live as long as the plan.
  MessagePlan(const JobMap& job, Random& random);

  /// Begins the next send or receive of a process. Returns false if all have begun.
  bool begin_next(WorldRank rank, Engine& engine);
  /// Marks all processes of a client as lost.
  void lose(std::int32_t client) { lost_ = client; }
  /// Tells the plan that a process has handled the loss.
  void knows_loss(WorldRank rank) { processes_[static_cast<std::size_t>(rank)].knows = true; }
  /// Returns true if all that the process has begun is complete, and nothing is left to begin.
  [[nodiscard]] bool complete(WorldRank rank) const;
  /// Throws a Violation unless each receive has got the message that the order of MPI gives it.
  void check();
  [[nodiscard]] std::size_t messages() const { return sends_.size(); }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Process {
    std::vector<SimulatedSend*> sends;
    std::vector<SimulatedReceive*> receives;
    std::size_t sends_begun = 0;
    std::size_t receives_begun = 0;
    bool knows = false;  ///< of the loss
  };
  void add(WorldRank from, WorldRank to);
  SimulatedReceive& add_receive(WorldRank at, Naming naming, std::int32_t source, std::int32_t tag);
  [[nodiscard]] bool is_lost(WorldRank rank) const {
    return rank >= 0 && job_.proc(rank).client == lost_;
  }
  bool begin_planned(Process& process, Engine& engine);
  /// A receive from any source that must be posted again, or null.
  [[nodiscard]] const SimulatedReceive* missing(const Process& process) const;
  [[nodiscard]] bool lacks(const Process& process, const SimulatedReceive& receive) const;
  void check(SimulatedReceive& receive);
  void check_content(const SimulatedReceive& receive, const SimulatedSend& message) const;
  [[nodiscard]] SimulatedSend* find_message(const SimulatedReceive& receive);

  const JobMap& job_;
  Random& random_;
  std::int32_t lost_ = -1;  ///< client
  std::vector<std::unique_ptr<SimulatedSend>> sends_;
  std::vector<std::unique_ptr<SimulatedReceive>> receives_;
  std::vector<Process> processes_;
};

}  // namespace impishim::wire::test
