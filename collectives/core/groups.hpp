/// Who takes part in a collective operation, and the two ways in which they reach each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {

/// A communicator's members by client. The spans belong to the communicator.
struct Shape {
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

  /// Who speaks for a client in an operation with a root: the root in its own client, elsewhere the
  /// master.
  [[nodiscard]] std::int32_t speaker(std::int32_t client, std::int32_t root) const {
    return client_of(root) == client ? root : masters[static_cast<std::size_t>(client)];
  }
};

/// What a message turned out to be, where the members may disagree on its length. Set when it has
/// been awaited.
struct Arrival {
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;  ///< received, in this machine's representation
};
inline constexpr std::int32_t kAnyTag =
    -1;  ///< the next message from that member, whatever its tag

/// One of the pieces in which data is spread.
struct Piece {
  std::uint64_t bytes = 0;
  bool last = true;
};

/// The members of this process's client: nonblocking phases that all of them start in the same
/// order.
///
/// Every function returns its own Pending; several phases may be under way at once, and every one
/// must be awaited before the task ends. Buffers and counts stay in place until then. Roots are
/// ranks in the client.
class LocalGroup {
 public:
  LocalGroup() = default;
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  virtual Pending& barrier() = 0;
  virtual Pending& broadcast(const Data& data, std::int32_t root) = 0;
  virtual Pending& broadcast(std::span<std::byte> bytes, std::int32_t root) = 0;
  /// A piece of data whose length the members may disagree on. The root's `piece` says what it is;
  /// the others' says what they ask for, and once the phase has been awaited what the root has
  /// sent, as far as the group can tell. While such pieces come, nothing else goes from the root to
  /// them.
  virtual Pending& broadcast_piece(const Data& data, std::int32_t root, Piece& /*piece*/) {
    return broadcast(data, root);
  }
  virtual Pending& broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                   Piece& /*piece*/) {
    return broadcast(bytes, root);
  }

  /// `result` counts at the root only; there, a contribution in the same memory is taken from it.
  /// So it is with the results of all reductions below.
  virtual Pending& reduce(const ConstData& contribution, const Data& result,
                          const Reduction& operation, std::int32_t root) = 0;
  virtual Pending& allreduce(const ConstData& contribution, const Data& result,
                             const Reduction& operation) = 0;
  /// Member i gets elements [counts[0] + ... + counts[i - 1], that + counts[i]) of the reduction of
  /// all contributions. `result` is its own part, and lies elsewhere than its contribution.
  virtual Pending& reduce_scatter(const ConstData& contribution, const Data& result,
                                  std::span<const std::uint64_t> counts,
                                  const Reduction& operation) = 0;
  /// In the order of ranks in the client. Of an exclusive scan the first member's `result` stays as
  /// it is.
  virtual Pending& scan(const ConstData& contribution, const Data& result,
                        const Reduction& operation) = 0;
  virtual Pending& exscan(const ConstData& contribution, const Data& result,
                          const Reduction& operation) = 0;

  /// Blocks of equal size, in rank order, to `all` at the root; the root's own may be in its place
  /// already.
  virtual Pending& gather(std::span<const std::byte> block, std::span<std::byte> all,
                          std::int32_t root) = 0;
  /// Blocks of any size, one after another in rank order; sizes[i] is member i's, and counts at the
  /// root only.
  virtual Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                           std::span<const std::uint64_t> sizes, std::int32_t root) = 0;
  /// The same from the root to the members; `block` is as large as this member's part.
  virtual Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                            std::span<std::byte> block, std::int32_t root) = 0;
  /// The same from everybody to everybody; `block` may be in its place already.
  virtual Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                              std::span<const std::uint64_t> sizes) = 0;

 protected:
  ~LocalGroup() = default;
};

/// Messages between members, by rank in the communicator: over the wire, on its collective context,
/// to other clients; over the vendor inside one's own. In one task, messages between two members
/// with one tag arrive in the order in which they were posted.
class LeaderGroup {
 public:
  LeaderGroup() = default;
  LeaderGroup(const LeaderGroup&) = delete;
  LeaderGroup& operator=(const LeaderGroup&) = delete;

  /// Start a message; its buffer stays in place until it is awaited. Those with a wire buffer are
  /// for data without gaps to members of other clients, and for plain bytes to anybody.
  virtual Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) = 0;
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag,
                                const wire::MutableBuffer& room) = 0;
  virtual Pending& post_send(std::int32_t to, std::int32_t tag, const ConstData& data) = 0;
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag, const Data& room) = 0;
  /// Of a member of another client, any data; `tag` may be kAnyTag. What has come is told in
  /// `arrival`.
  virtual Pending& post_receive(std::int32_t from, std::int32_t tag,
                                const wire::MutableBuffer& room, Arrival& arrival) = 0;
  /// Done when everything is that was posted and not awaited by itself.
  virtual Pending& all_posted() = 0;

 protected:
  ~LeaderGroup() = default;
};

/// What every collective operation is given.
struct Team {
  const Shape& shape;
  const Limits& limits;
  LocalGroup& local;
  LeaderGroup& leaders;
};

/// What a collective operation between the two groups of an intercommunicator is given.
struct InterTeam {
  const Team& local;          ///< this process's own group
  const Team& both;           ///< both groups, one after the other, in the same order for everybody
  std::int32_t first_local;   ///< rank in `both` of the own group's first
  std::int32_t first_remote;  ///< and of the other group's

  [[nodiscard]] std::int32_t local_size() const { return local.shape.size(); }
  [[nodiscard]] std::int32_t remote_size() const { return both.shape.size() - local.shape.size(); }
};

}  // namespace impishim::collectives
