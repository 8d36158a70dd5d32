// SPDX-License-Identifier: Apache-2.0
/// The local phases of collectives: the vendor's collectives on a spanning communicator's
/// companion. The user's handle carries only the user's own calls, so that they do not depend on
/// the progress of collectives.
///
/// The phases always use the nonblocking forms, for two reasons. Blocking and nonblocking
/// collectives do not match each other (MPI-3.1 5.12). Whether a process may block in the vendor's
/// MPI is a local decision that the other members do not know (docs/architecture.md, Threads).
///
/// Short phases of few members use messages between the members instead
/// (collectives/local/message_group.hpp). Reductions that the vendor's collectives cannot perform
/// correctly use messages, too (collectives/local/single_system_team.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/lone_member.hpp"
#include "collectives/local/message_group.hpp"
#include "collectives/local/message_phase.hpp"

namespace impishim::shim {

class VendorPhase;

class VendorLocalGroup final : public collectives::LocalGroup, private collectives::MessagePhases {
 public:
  /// Constructs a group. `companion` is the vendor's communicator of the local members; users have
  /// no handle to it.
  VendorLocalGroup(MPI_Comm companion, int rank, int size);
  ~VendorLocalGroup();

  collectives::Pending& barrier() override;
  collectives::Pending& broadcast(const collectives::Data& data, std::int32_t root) override;
  collectives::Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) override;
  /// Reports the size that the root sent only in groups whose pieces are messages: groups of up to
  /// five members.
  collectives::Pending& broadcast_piece(const collectives::Data& data, std::int32_t root,
                                        collectives::Piece& piece) override;
  collectives::Pending& broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                        collectives::Piece& piece) override;
  collectives::Pending& reduce(const collectives::ConstData& contribution,
                               const collectives::Data& result,
                               const collectives::Reduction& operation, std::int32_t root) override;
  collectives::Pending& allreduce(const collectives::ConstData& contribution,
                                  const collectives::Data& result,
                                  const collectives::Reduction& operation) override;
  collectives::Pending& reduce_scatter(const collectives::ConstData& contribution,
                                       const collectives::Data& result,
                                       std::span<const std::uint64_t> counts,
                                       const collectives::Reduction& operation) override;
  collectives::Pending& scan(const collectives::ConstData& contribution,
                             const collectives::Data& result,
                             const collectives::Reduction& operation) override;
  collectives::Pending& exscan(const collectives::ConstData& contribution,
                               const collectives::Data& result,
                               const collectives::Reduction& operation) override;
  collectives::Pending& gather(std::span<const std::byte> block, std::span<std::byte> all,
                               std::int32_t root) override;
  collectives::Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                std::span<const std::uint64_t> sizes, std::int32_t root) override;
  collectives::Pending& scatterv(std::span<const std::byte> all,
                                 std::span<const std::uint64_t> sizes, std::span<std::byte> block,
                                 std::int32_t root) override;
  collectives::Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                   std::span<const std::uint64_t> sizes) override;

  /// Progresses all phases that the vendor does not progress by itself, whether or not they are
  /// awaited.
  void progress();

  /// Cancels the receives of all phases in progress. The vendor's collectives cannot be cancelled.
  /// Nothing may be awaited afterwards.
  void give_up();
  /// Returns true if neither a receive nor a collective of the vendor is in progress. Call it after
  /// give_up().
  [[nodiscard]] bool is_quiet();

  /// Returns the first error code that the vendor returned, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  friend class VendorPhase;
  VendorPhase& begin();
  [[nodiscard]] collectives::MessagePhase& begin_messages() override;
  /// Starts a phase that is a complete operation among the members. `make_task` receives their
  /// team.
  template <class MakeTask>
  collectives::Pending& by_team(const MakeTask& make_task);
  collectives::Pending& vendor_broadcast(void* base, std::uint64_t count, MPI_Datatype type,
                                         std::int32_t root);

  MPI_Comm companion_;
  int rank_;
  int size_;
  collectives::LoneMember alone_;       ///< the phases of a group of one member
  collectives::MessageGroup messages_;  ///< phases by messages
  std::list<VendorPhase> phases_;       ///< in progress
  /// Number of the next phase by a team; tags tell these phases apart.
  std::int32_t next_tags_ = 0;
  int first_code_ = MPI_SUCCESS;
};

}  // namespace impishim::shim
