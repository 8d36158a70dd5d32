// SPDX-License-Identifier: Apache-2.0
/// The local phases of collectives: the vendor's collectives on a spanning communicator's
/// companion. The user's handle is left to what the user calls on it, so that nothing there depends
/// on how far collectives have got.
///
/// Always the nonblocking forms: blocking and nonblocking collectives do not match each other
/// (MPI-3.1 5.12), and whether a process may block in the vendor's MPI is its own affair, unknown
/// to the others (DESIGN.md 4b).
///
/// Short phases of few members are messages between them instead (native_group_short.cpp): a
/// nonblocking collective's schedule takes several rounds of the vendor's progress where a message
/// takes one. So are reductions that the vendor's cannot be trusted with (MemberTeam).
#pragma once

#include <mpi.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/core/groups.hpp"

namespace impishim::shim {

class MemberTeam;

class NativeGroup final : public collectives::LocalGroup {
 public:
  /// `companion`: the vendor's communicator of the local members that no user has.
  NativeGroup(MPI_Comm companion, int rank, int size)
      : companion_(companion), rank_(rank), size_(size) {}

  collectives::Pending& barrier() override;
  collectives::Pending& broadcast(const collectives::Data& data, std::int32_t root) override;
  collectives::Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) override;
  /// Groups whose pieces are messages can tell what the root has sent: those of up to five members.
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

  /// Moves all phases on that the vendor does not move on by itself, whichever of them is awaited.
  void progress();

  /// The first error code that the vendor returned, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  /// One phase under way; it leaves the list when it has been awaited.
  class Phase;
  Phase& begin();
  collectives::Pending&
  over();  ///< with one local member there is nobody to talk to: the vendor is not called
  /// A phase that is a whole operation among the members: `make_task` gets their team.
  template <class MakeTask>
  collectives::Pending& by_messages(const MakeTask& make_task);

  // native_group_short.cpp: each member has `bytes` of its own, or gets them. All members decide
  // alike.
  [[nodiscard]] bool is_short(std::uint64_t bytes) const;
  /// Operands without any bytes could not be told apart by their addresses.
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
  std::int32_t next_tags_ =
      0;  ///< number of the next phase by messages: they are told apart by their tags
  int first_code_ = MPI_SUCCESS;
};

class NativeGroup::Phase final : public collectives::Pending {
 public:
  explicit Phase(NativeGroup& group);
  ~Phase();
  bool done() override;
  Result<void> outcome() override;
  [[nodiscard]] bool in_vendor() const override { return true; }

  std::list<Phase>::iterator place;
  int code = MPI_SUCCESS;
  std::vector<int> counts;  ///< what the vendor reads until the phase is done
  std::vector<int> displacements;
  MPI_Request request = MPI_REQUEST_NULL;

  // A phase that is made of messages: all members post theirs at its start, so that those between
  // two of them are in order.
  static constexpr int kPhaseTag = 1;  ///< they are ordered, so one tag will do
  static constexpr int kMoreTag = 2;   ///< a piece, and not the last
  void send(const void* base, std::uint64_t count, MPI_Datatype type, int to, int tag = kPhaseTag);
  void send(std::span<const std::byte> bytes, int to) {
    send(bytes.data(), bytes.size(), MPI_BYTE, to);
  }
  void receive(void* base, std::uint64_t count, MPI_Datatype type, int from, int tag = kPhaseTag);
  void receive(std::span<std::byte> room, int from) {
    receive(room.data(), room.size(), MPI_BYTE, from);
  }
  std::vector<MPI_Request> messages;

  /// Of the one message of a broadcast's receiver: `asked` bytes are awaited, and `piece`, if there
  /// is one, is told what has come.
  void expect(std::uint64_t bytes, collectives::Piece* told) {
    asked = bytes;
    piece = told;
  }
  std::uint64_t asked = 0;
  collectives::Piece* piece = nullptr;

  collectives::TypedRoom room;
  std::function<void()> finish;  ///< what is left to do when they are over

  std::unique_ptr<MemberTeam> members;
  std::optional<collectives::Task> task;  ///< of `members`

 private:
  int test_message(int& complete);
  bool too_little_ = false;
  NativeGroup& group_;
};

}  // namespace impishim::shim
