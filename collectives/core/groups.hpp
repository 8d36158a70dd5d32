// SPDX-License-Identifier: Apache-2.0
/// The members of a collective operation, and the two ways in which they communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {

/// The members of a communicator, grouped by client. The spans belong to the communicator.
struct Membership {
  std::int32_t rank = 0;                      ///< this process
  std::span<const std::int32_t> masters;      ///< lowest rank of each client, ascending (IMPI 4.1)
  std::span<const std::int32_t> master_of;    ///< rank -> index in `masters`
  std::span<const std::int32_t> local_ranks;  ///< rank -> rank in this process's client, or -1
  std::span<const std::int32_t> spanning_ranks;  ///< rank in this process's client -> rank

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(master_of.size()); }
  [[nodiscard]] std::int32_t client_count() const {
    return static_cast<std::int32_t>(masters.size());
  }
  [[nodiscard]] std::int32_t client_of(std::int32_t member) const {
    return master_of[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] std::int32_t my_client() const { return client_of(rank); }
  [[nodiscard]] bool is_local(std::int32_t member) const { return local_rank(member) >= 0; }
  [[nodiscard]] std::int32_t local_rank(std::int32_t member) const {
    return local_ranks[static_cast<std::size_t>(member)];
  }

  /// Returns the rank that represents `client` in an operation with a root: the root in its own
  /// client, the master in all others.
  [[nodiscard]] std::int32_t speaker(std::int32_t client, std::int32_t root) const {
    return client_of(root) == client ? root : masters[static_cast<std::size_t>(client)];
  }
};

/// What an arrived message turned out to be, where the members may disagree on its length. Set when
/// the message has been awaited.
struct Arrival {
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;  ///< received, in this machine's representation
};
/// Stands for the next message from a member, whatever its tag.
inline constexpr std::int32_t kAnyTag = -1;

/// One of the pieces in which data is broadcast inside a client.
struct Piece {
  std::uint64_t bytes = 0;
  bool last = true;
};

/// The members of this process's client. Each function starts a nonblocking phase; all members
/// start the phases in the same order.
///
/// Every function returns its own Pending. Several phases may be in progress at the same time, and
/// each must be awaited before the task ends. Buffers and counts stay in place until then. Roots
/// are ranks in the client.
class LocalGroup {
 public:
  LocalGroup() = default;
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  virtual Pending& barrier() = 0;
  virtual Pending& broadcast(const Data& data, std::int32_t root) = 0;
  virtual Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) = 0;
  /// Broadcasts a piece of data whose length the members may disagree on. The root's `piece`
  /// describes it. The others' `piece` holds what they ask for, and when the phase has been
  /// awaited, what the root sent, as far as the group can tell. No other message may go from the
  /// root to them between two pieces.
  virtual Pending& broadcast_piece(const Data& data, std::int32_t root, Piece& /*piece*/) {
    return broadcast(data, root);
  }
  virtual Pending& broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                   Piece& /*piece*/) {
    return broadcast(bytes, root);
  }

  /// Reduces to `root`. `result` is significant at the root only. If the root's contribution lies
  /// in the same memory as `result`, it is read from there. This also applies to the results of all
  /// reductions below.
  virtual Pending& reduce(const ConstData& contribution, const Data& result,
                          const Reduction& operation, std::int32_t root) = 0;
  virtual Pending& allreduce(const ConstData& contribution, const Data& result,
                             const Reduction& operation) = 0;
  /// Reduces all contributions and gives member i the elements [counts[0] + ... + counts[i - 1],
  /// that + counts[i]). `result` is this member's part, and must not overlap its contribution.
  virtual Pending& reduce_scatter(const ConstData& contribution, const Data& result,
                                  std::span<const std::uint64_t> counts,
                                  const Reduction& operation) = 0;
  /// Scan in the order of ranks in the client. In an exclusive scan the first member's `result` is
  /// not changed.
  virtual Pending& scan(const ConstData& contribution, const Data& result,
                        const Reduction& operation) = 0;
  virtual Pending& exscan(const ConstData& contribution, const Data& result,
                          const Reduction& operation) = 0;

  /// Gathers blocks of equal size, in rank order, to `all` at the root. The root's own block may
  /// already be in its place.
  virtual Pending& gather(std::span<const std::byte> block, std::span<std::byte> all,
                          std::int32_t root) = 0;
  /// Gathers blocks of any size, one after another in rank order. sizes[i] is the size of member
  /// i's block; `sizes` is significant at the root only.
  virtual Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                           std::span<const std::uint64_t> sizes, std::int32_t root) = 0;
  /// Scatters blocks from the root to the members; the reverse of gatherv(). `block` has the size
  /// of this member's part.
  virtual Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                            std::span<std::byte> block, std::int32_t root) = 0;
  /// Gathers the blocks of all members to all members. `block` may already be in its place.
  virtual Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                              std::span<const std::uint64_t> sizes) = 0;

 protected:
  ~LocalGroup() = default;
};

/// Messages between members, addressed by rank in the communicator. Messages to other clients use
/// the wire and its collective context; messages inside the own client use the vendor's MPI. In one
/// task, messages between two members with one tag arrive in the order in which they were posted.
class MemberTransport {
 public:
  MemberTransport() = default;
  MemberTransport(const MemberTransport&) = delete;
  MemberTransport& operator=(const MemberTransport&) = delete;

  /// These start a message; its buffer stays in place until the message is awaited. The functions
  /// with a wire buffer are for data without gaps to members of other clients, and for plain bytes
  /// to any member.
  virtual Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) = 0;
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag,
                                const wire::MutableBuffer& room) = 0;
  virtual Pending& post_send(std::int32_t to, std::int32_t tag, const ConstData& data) = 0;
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag, const Data& room) = 0;
  /// Posts a receive of any data from a member of another client; `tag` may be kAnyTag. Stores what
  /// arrived in `arrival`.
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag,
                                const wire::MutableBuffer& room, Arrival& arrival) = 0;
  /// Returns a Pending that is done when all posted messages are done, except those that are
  /// awaited individually.
  virtual Pending& all_posted() = 0;

 protected:
  ~MemberTransport() = default;
};

/// The arguments that every collective operation receives.
struct Team {
  const Membership& membership;
  const Limits& limits;
  LocalGroup& local;
  MemberTransport& leaders;
};

/// The arguments that a collective operation between the two groups of an intercommunicator
/// receives.
struct InterTeam {
  const Team& local;  ///< this process's own group
  const Team& both;   ///< both groups, one after the other, in the same order on all processes
  std::int32_t first_local;   ///< rank in `both` of the own group's first member
  std::int32_t first_remote;  ///< rank in `both` of the other group's first member

  [[nodiscard]] std::int32_t local_size() const { return local.membership.size(); }
  [[nodiscard]] std::int32_t remote_size() const {
    return both.membership.size() - local.membership.size();
  }
};

}  // namespace impishim::collectives
