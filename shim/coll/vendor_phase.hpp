// SPDX-License-Identifier: Apache-2.0
/// A local phase in progress: a collective of the vendor, messages on the companion, or a complete
/// operation among the members.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/message_phase.hpp"
#include "collectives/local/single_system_team.hpp"
#include "shim/coll/vendor_transport.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

class VendorLocalGroup;

/// The members of a system as a team, whose messages use the vendor's MPI.
struct VendorTeam {
  /// Reserves the tags from `first_tag` to `first_tag` + kTags - 1 for this team during its
  /// lifetime.
  VendorTeam(MPI_Comm companion, int rank, int size, std::int32_t first_tag)
      : transport(companion, first_tag), members(transport, rank, size) {}

  static constexpr std::int32_t kTags = 512;
  static_assert(collectives::kStraightTag <
                // The highest tag except for the tags of edges, which reductions do not use.
                kTags);

  VendorTransport transport;
  collectives::SingleSystemTeam members;
};

/// Leaves its group's list when it has been awaited.
class VendorPhase final : public collectives::MessagePhase {
 public:
  explicit VendorPhase(VendorLocalGroup& group) : group_(group) {}

  bool done() override;
  Result<void> outcome() override;
  [[nodiscard]] bool in_vendor() const override { return true; }

  using MessagePhase::receive;
  using MessagePhase::send;
  void send(const collectives::ConstData& data, std::int32_t to, std::int32_t tag) override;
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) override;
  void receive(const collectives::Data& room, std::int32_t from, std::int32_t tag) override;
  void receive(std::span<std::byte> room, std::int32_t from, std::int32_t tag) override;
  void expect(std::uint64_t bytes, collectives::Piece* told) override {
    expected_ = bytes;
    told_ = told;
  }
  [[nodiscard]] const collectives::Data& make_room(const collectives::ElementType& type,
                                                   std::uint64_t count) override {
    room_ = collectives::TypedRoom(type, count);
    return room_.data();
  }
  void at_end(std::function<void()> work) override { finish_ = std::move(work); }

  /// Makes the phase an operation among `team`, whose task `make_task` makes.
  template <class MakeTask>
  void run(std::unique_ptr<VendorTeam> team, const MakeTask& make_task) {
    team_ = std::move(team);
    task_.emplace(make_task(team_->members.team()));
    task_->step();
  }
  /// Progresses such an operation.
  void progress() {
    if (task_) task_->step();
  }

  void give_up();
  [[nodiscard]] bool is_quiet();

  std::list<VendorPhase>::iterator place;  ///< in the group's list
  // A collective of the vendor.
  int code = MPI_SUCCESS;
  std::vector<int> counts;  ///< read by the vendor until the phase is done
  std::vector<int> displacements;
  MPI_Request request = MPI_REQUEST_NULL;

 private:
  void post_send(const void* base, std::uint64_t count, MPI_Datatype type, int to, int tag);
  void post_receive(void* base, std::uint64_t count, MPI_Datatype type, int from, int tag);
  void keep_first(int new_code);
  bool request_done();
  bool messages_done();
  int test_message(int& complete);

  VendorLocalGroup& group_;
  std::vector<MPI_Request> messages_;
  std::size_t receives_ = 0;  ///< receives stand before all sends in `messages_`
  std::uint64_t expected_ = 0;
  collectives::Piece* told_ = nullptr;
  bool too_little_ = false;
  collectives::TypedRoom room_;
  std::function<void()> finish_;  ///< the work that remains when the messages are complete
  std::unique_ptr<VendorTeam> team_;
  std::optional<collectives::Task> task_;  ///< of `team_`
};

}  // namespace impishim::shim
