// SPDX-License-Identifier: Apache-2.0
/// The local phases of collectives: the vendor's collectives on a spanning communicator's
/// companion. The user's handle carries only the user's own calls, so that they do not depend on
/// the progress of collectives.
///
/// The phases always use the nonblocking forms, for two reasons. Blocking and nonblocking
/// collectives do not match each other (MPI-3.1 5.12). Whether a process may block in the vendor's
/// MPI is a local decision that the other members do not know (docs/architecture.md, Threads).
///
/// Short phases of few members use messages between the members instead (native_group_short.cpp). A
/// nonblocking collective's schedule takes several rounds of the vendor's progress where a message
/// takes one. Reductions that the vendor's collectives cannot perform correctly use messages, too
/// (SingleSystemTeam).
#pragma once

#include <mpi.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/core/groups.hpp"

namespace impishim::shim {

class SingleSystemTeam;

class VendorLocalGroup final : public collectives::LocalGroup {
 public:
  /// Constructs a group. `companion` is the vendor's communicator of the local members; users have
  /// no handle to it.
  VendorLocalGroup(MPI_Comm companion, int rank, int size)
      : companion_(companion), rank_(rank), size_(size) {}

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
  /// A phase in progress. It leaves the list when it has been awaited.
  class Phase;
  Phase& begin();
  /// Returns the phase of a single local member: complete, without a call to the vendor.
  collectives::Pending& over();
  /// Starts a phase that is a complete operation among the members. `make_task` receives their
  /// team.
  template <class MakeTask>
  collectives::Pending& by_messages(const MakeTask& make_task);

  // Short phases (native_group_short.cpp). Each member contributes or receives `bytes` bytes. All
  // members make the same decision.
  [[nodiscard]] bool is_short(std::uint64_t bytes) const;
  /// Returns true if the operands are short. Empty operands are excluded, since their addresses
  /// could not tell them apart.
  [[nodiscard]] bool short_operands(const collectives::ConstData& contribution) const {
    return contribution.native_bytes() > 0 && is_short(contribution.native_bytes());
  }
  collectives::Pending& short_broadcast(const collectives::Data& data, std::int32_t root);
  collectives::Pending& short_broadcast(std::span<std::byte> bytes, std::int32_t root);
  [[nodiscard]] bool pieces_are_messages() const;
  collectives::Pending& piece_message(void* base, std::uint64_t count, MPI_Datatype type,
                                      std::int32_t root, collectives::Piece& piece);
  collectives::Pending& short_reduce(const collectives::ConstData& contribution,
                                     const collectives::Data& result,
                                     const collectives::Reduction& operation, std::int32_t root);
  collectives::Pending& short_scan(const collectives::ConstData& contribution,
                                   const collectives::Data& result,
                                   const collectives::Reduction& operation, bool inclusive);
  collectives::Pending& gather_by_messages(std::span<const std::byte> block,
                                           std::span<std::byte> all, std::int32_t root);
  collectives::Pending& allgatherv_by_messages(std::span<const std::byte> block,
                                               std::span<std::byte> all,
                                               std::span<const std::uint64_t> sizes);

  MPI_Comm companion_;
  int rank_;
  int size_;
  std::list<Phase> phases_;
  /// Number of the next phase by messages; tags tell these phases apart.
  std::int32_t next_tags_ = 0;
  int first_code_ = MPI_SUCCESS;
};

class VendorLocalGroup::Phase final : public collectives::Pending {
 public:
  explicit Phase(VendorLocalGroup& group);
  ~Phase();
  bool done() override;
  Result<void> outcome() override;
  [[nodiscard]] bool in_vendor() const override { return true; }

  std::list<Phase>::iterator place;
  int code = MPI_SUCCESS;
  std::vector<int> counts;  ///< read by the vendor until the phase is done
  std::vector<int> displacements;
  MPI_Request request = MPI_REQUEST_NULL;

  // Members of a phase that is made of messages. All members post theirs at its start, so that the
  // messages between two members are in order.
  static constexpr int kPhaseTag = 1;  ///< one tag suffices, since the messages are ordered
  static constexpr int kMoreTag = 2;   ///< marks a piece that is not the last
  void send(const void* base, std::uint64_t count, MPI_Datatype type, int to, int tag = kPhaseTag);
  void send(std::span<const std::byte> bytes, int to) {
    send(bytes.data(), bytes.size(), MPI_BYTE, to);
  }
  void receive(void* base, std::uint64_t count, MPI_Datatype type, int from, int tag = kPhaseTag);
  void receive(std::span<std::byte> room, int from) {
    receive(room.data(), room.size(), MPI_BYTE, from);
  }
  std::vector<MPI_Request> messages;
  std::size_t receives = 0;  ///< receives stand before all sends in `messages`
  void give_up();
  [[nodiscard]] bool is_quiet();

  /// Describes the single message that the receiver of a broadcast expects: `bytes` is the expected
  /// size. `told` receives what arrived, unless it is null.
  void expect(std::uint64_t bytes, collectives::Piece* told) {
    asked = bytes;
    piece = told;
  }
  std::uint64_t asked = 0;
  collectives::Piece* piece = nullptr;

  collectives::TypedRoom room;
  std::function<void()> finish;  ///< the work that remains when the messages are complete

  std::unique_ptr<SingleSystemTeam> members;
  std::optional<collectives::Task> task;  ///< of `members`

 private:
  void keep_first(int new_code);
  bool request_done();
  bool messages_done();
  int test_message(int& complete);
  bool too_little_ = false;
  VendorLocalGroup& group_;
};

}  // namespace impishim::shim
