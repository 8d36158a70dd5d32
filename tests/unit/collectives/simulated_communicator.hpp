// SPDX-License-Identifier: Apache-2.0
/// One communicator of a simulated job: its membership, messages in progress between its members,
/// and its clients' local phases.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simulated_job.hpp"

namespace impishim::collectives::test {

/// What all communicators of a job share.
struct World {
  World(const Limits& limits, SendEnds send_ends, bool bytes_may_cross, unsigned seed,
        std::size_t processes)
      : limits(limits),
        send_ends(send_ends),
        bytes_may_cross(bytes_may_cross),
        random(seed),
        clocks(processes, 0) {}

  const Limits& limits;
  SendEnds send_ends;
  bool bytes_may_cross;
  std::mt19937 random;
  std::uint64_t round = 0;
  std::vector<Message> messages;
  std::vector<std::vector<std::byte>> untyped;
  std::uint64_t crossing_bytes = 0;
  std::vector<std::int32_t>
      clocks;  ///< by process: messages between clients on the longest chain that has led there
  std::string failure;

  void fail(const std::string& text) {
    if (failure.empty()) failure = text;
  }
};

/// Something that a task awaits, once: `finish` returns true when it is over, and `after` tells how
/// far the clock is then.
class SimulatedPending final : public Pending {
 public:
  SimulatedPending(World& world, bool in_vendor, std::int32_t& clock, std::function<bool()> finish,
                   std::function<std::int32_t()> after)
      : world_(world),
        in_vendor_(in_vendor),
        clock_(clock),
        finish_(std::move(finish)),
        after_(std::move(after)) {}
  bool done() override {
    if (awaited_) world_.fail("something is awaited twice");
    over_ = over_ || finish_();
    return over_;
  }
  Result<void> outcome() override {
    awaited_ = true;
    clock_ = std::max(clock_, after_());
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return in_vendor_; }
  [[nodiscard]] bool awaited() const { return awaited_; }

 private:
  World& world_;
  bool in_vendor_;
  std::int32_t& clock_;
  std::function<bool()> finish_;
  std::function<std::int32_t()> after_;
  bool over_ = false;
  bool awaited_ = false;
};

/// A message in progress.
struct Parcel {
  std::int32_t tag = 0;
  wire::Format format = wire::Format::kExternal32;
  std::vector<std::byte> bytes;
  std::int32_t clock = 0;
  std::uint64_t arrives = 0;  ///< in this round
  bool matched = false;
};

/// A phase of one client: members join it in their own time.
struct LocalPhase {
  std::string kind;
  std::vector<std::optional<std::vector<std::byte>>>
      blocks;  ///< by local rank; empty until it joins
  std::vector<std::int32_t> clocks;
};

class SimulatedLocal;
class SimulatedLeaders;

class SimulatedCommunicator {
 public:
  /// `processes[rank]`: the process of each rank; `client_of[process]`: its client.
  SimulatedCommunicator(World& world, const std::vector<std::int32_t>& processes,
                        const std::vector<std::int32_t>& client_of);
  ~SimulatedCommunicator();
  SimulatedCommunicator(const SimulatedCommunicator&) = delete;
  SimulatedCommunicator& operator=(const SimulatedCommunicator&) = delete;

  [[nodiscard]] const Team& team(std::int32_t rank) const;
  [[nodiscard]] std::int32_t process(std::int32_t rank) const {
    return processes_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int32_t& clock(std::int32_t rank) {
    return world.clocks[static_cast<std::size_t>(process(rank))];
  }
  /// Pairs of clients differ in how they talk, as impishim and foreign ones do.
  [[nodiscard]] wire::Format format_between(std::int32_t a, std::int32_t b) const;
  LocalPhase& phase(std::int32_t client, std::size_t number, const std::string& kind);
  /// True while a message is on its way.
  [[nodiscard]] bool has_late_messages() const;
  /// Notes messages left over and what was not awaited as failures.
  void check_end();

  World& world;
  std::map<std::pair<std::int32_t, std::int32_t>, std::list<std::shared_ptr<Parcel>>>
      under_way;  ///< (from, to)

 private:
  struct Member;
  std::vector<std::int32_t> processes_;
  std::vector<std::int32_t> client_of_;  ///< the job's number of each rank's client
  std::vector<std::int32_t> master_of_;
  std::vector<std::int32_t> masters_;
  std::vector<std::vector<std::int32_t>> ranks_of_client_;
  std::vector<std::map<std::size_t, LocalPhase>> phases_;  ///< by client
  std::vector<Member> members_;
};

/// One member's view of its client's phases.
class SimulatedLocal final : public LocalGroup {
 public:
  SimulatedLocal(SimulatedCommunicator& communicator, const Membership& membership)
      : communicator_(communicator), membership_(membership) {}

  Pending& barrier() override;
  Pending& broadcast(const Data& data, std::int32_t root) override;
  Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) override;
  Pending& reduce(const ConstData& contribution, const Data& result, const Reduction& operation,
                  std::int32_t root) override;
  Pending& allreduce(const ConstData& contribution, const Data& result,
                     const Reduction& operation) override;
  Pending& reduce_scatter(const ConstData& contribution, const Data& result,
                          std::span<const std::uint64_t> counts,
                          const Reduction& operation) override;
  Pending& scan(const ConstData& contribution, const Data& result,
                const Reduction& operation) override;
  Pending& exscan(const ConstData& contribution, const Data& result,
                  const Reduction& operation) override;
  Pending& gather(std::span<const std::byte> block, std::span<std::byte> all,
                  std::int32_t root) override;
  Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                   std::span<const std::uint64_t> sizes, std::int32_t root) override;
  Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                    std::span<std::byte> block, std::int32_t root) override;
  Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                      std::span<const std::uint64_t> sizes) override;

  [[nodiscard]] bool all_awaited() const;

 private:
  using Read = std::function<std::vector<std::byte>()>;
  using Needs = std::function<bool(std::size_t member)>;
  using Deliver = std::function<void(const LocalPhase& phase)>;
  Pending& start(const std::string& kind, const Read& read, const Needs& needs,
                 const Deliver& deliver);
  [[nodiscard]] Needs all_at(std::int32_t root) const;
  void combine(const LocalPhase& phase, std::size_t begin, std::size_t end, std::size_t first,
               const Data& result, const Reduction& operation) const;
  void concatenate(const LocalPhase& phase, std::span<const std::uint64_t> sizes,
                   std::span<std::byte> all) const;
  [[nodiscard]] std::size_t me() const {
    return static_cast<std::size_t>(membership_.local_rank(membership_.rank));
  }
  [[nodiscard]] std::size_t locals() const { return membership_.spanning_ranks.size(); }

  SimulatedCommunicator& communicator_;
  const Membership& membership_;
  std::size_t next_ = 0;
  std::list<SimulatedPending> pendings_;
};

/// One member's messages.
class SimulatedLeaders final : public MemberTransport {
 public:
  SimulatedLeaders(SimulatedCommunicator& communicator, const Membership& membership);

  Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override;
  Pending& post_receive(std::int32_t from, std::int32_t tag,
                        const wire::MutableBuffer& room) override;
  Pending& post_send(std::int32_t to, std::int32_t tag, const ConstData& data) override;
  Pending& post_receive(std::int32_t from, std::int32_t tag, const Data& room) override;
  Pending& post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room,
                        Arrival& arrival) override;
  Pending& all_posted() override;

  [[nodiscard]] bool all_awaited() const;

 private:
  /// A receive that waits.
  struct Room {
    std::int32_t from = 0;
    std::int32_t tag = 0;
    wire::MutableBuffer buffer;
    Arrival* arrival = nullptr;
    std::shared_ptr<Parcel> parcel;  ///< what has come
  };
  /// What wire buffers may be used for.
  void check_plain(std::int32_t member, const wire::TypeLayout& layout, std::uint64_t count);
  Pending& send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data);
  Pending& receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room,
                   Arrival* arrival = nullptr);
  void match();
  void fill(Room& room);

  SimulatedCommunicator& communicator_;
  World& world_;
  const Membership& membership_;
  std::list<Room> rooms_;
  std::list<SimulatedPending> pendings_;
  std::list<SimulatedPending> all_posted_;
};

}  // namespace impishim::collectives::test
