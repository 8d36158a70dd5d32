/// The local phases of collectives: the vendor's collectives on a spanning communicator's own handle.
///
/// Always the nonblocking forms: blocking and nonblocking collectives do not match each other (MPI-3.1 5.12), and whether a
/// process may block in the vendor's MPI is its own affair, unknown to the others (DESIGN.md 4b).
///
/// Reductions that the vendor's cannot be trusted with are made of messages between the members instead (MemberTeam).
#pragma once

#include <mpi.h>

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/groups.hpp"

namespace impishim::shim {

class MemberTeam;

class NativeGroup final : public collectives::LocalGroup {
 public:
  /// `handle`: the vendor's communicator of the local members; `companion`: another one of the same, for messages between them.
  NativeGroup(MPI_Comm handle, MPI_Comm companion, int rank, int size)
      : handle_(handle), companion_(companion), rank_(rank), size_(size) {}

  collectives::Pending& barrier() override;
  collectives::Pending& broadcast(const collectives::Data& data, std::int32_t root) override;
  collectives::Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) override;
  collectives::Pending& reduce(const collectives::ConstData& contribution, const collectives::Data& result,
                               const collectives::Reduction& operation, std::int32_t root) override;
  collectives::Pending& allreduce(const collectives::ConstData& contribution, const collectives::Data& result,
                                  const collectives::Reduction& operation) override;
  collectives::Pending& reduce_scatter(const collectives::ConstData& contribution, const collectives::Data& result,
                                       std::span<const std::uint64_t> counts, const collectives::Reduction& operation) override;
  collectives::Pending& scan(const collectives::ConstData& contribution, const collectives::Data& result,
                             const collectives::Reduction& operation) override;
  collectives::Pending& exscan(const collectives::ConstData& contribution, const collectives::Data& result,
                               const collectives::Reduction& operation) override;
  collectives::Pending& gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root) override;
  collectives::Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                std::span<const std::uint64_t> sizes, std::int32_t root) override;
  collectives::Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                                 std::span<std::byte> block, std::int32_t root) override;
  collectives::Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                   std::span<const std::uint64_t> sizes) override;

  /// Moves all phases on that the vendor does not move on by itself, whichever of them is awaited.
  void progress();

  /// The first error code that the vendor returned (its error handler has been called already), or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  /// One phase under way; it leaves the list when it has been awaited.
  class Phase;
  Phase& begin();
  collectives::Pending& over();  ///< with one local member there is nobody to talk to: the vendor is not called
  /// A phase that is a whole operation among the members: `make_task` gets their team.
  template <class MakeTask>
  collectives::Pending& by_messages(const MakeTask& make_task);

  MPI_Comm handle_;
  MPI_Comm companion_;
  int rank_;
  int size_;
  std::list<Phase> phases_;
  std::int32_t next_tags_ = 0;  ///< number of the next phase by messages: they are told apart by their tags
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
  std::vector<MPI_Request> messages;  ///< a phase of more bytes than the vendor's collectives can count is made of messages
  std::unique_ptr<MemberTeam> members;
  std::optional<collectives::Task> task;  ///< of `members`

 private:
  NativeGroup& group_;
};

}  // namespace impishim::shim
