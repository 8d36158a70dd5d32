/// Who takes part in a collective operation, and the two ways in which they reach each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/data.hpp"
#include "collectives/select.hpp"
#include "collectives/task.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {

/// A communicator's members by client. The spans belong to the communicator.
struct Shape {
  std::int32_t rank = 0;                         ///< this process
  std::span<const std::int32_t> masters;         ///< lowest rank of each client, ascending (IMPI 4.1)
  std::span<const std::int32_t> master_of;       ///< rank -> index in `masters`
  std::span<const std::int32_t> local_ranks;     ///< rank -> rank in this process's client, or -1
  std::span<const std::int32_t> spanning_ranks;  ///< rank in this process's client -> rank

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(master_of.size()); }
  [[nodiscard]] std::int32_t client_count() const { return static_cast<std::int32_t>(masters.size()); }
  [[nodiscard]] std::int32_t client_of(std::int32_t member) const { return master_of[static_cast<std::size_t>(member)]; }
  [[nodiscard]] std::int32_t my_client() const { return client_of(rank); }
  [[nodiscard]] bool is_local(std::int32_t member) const { return local_rank(member) >= 0; }
  [[nodiscard]] std::int32_t local_rank(std::int32_t member) const { return local_ranks[static_cast<std::size_t>(member)]; }

  /// Who speaks for a client in an operation with a root: the root in its own client, elsewhere the master.
  [[nodiscard]] std::int32_t speaker(std::int32_t client, std::int32_t root) const {
    return client_of(root) == client ? root : masters[static_cast<std::size_t>(client)];
  }
};

/// The members of this process's client: nonblocking phases that all of them enter in the same order.
/// A group has one phase under way at a time, which the functions return; buffers stay in place until it is done. Roots are
/// ranks in the client.
class LocalGroup {
 public:
  LocalGroup() = default;
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  virtual Pending& barrier() = 0;
  virtual Pending& broadcast(const Data& data, std::int32_t root) = 0;
  /// `result` counts at the root only; there, a contribution in the same memory is taken from it.
  virtual Pending& reduce(const ConstData& contribution, const Data& result, const Reduction& operation, std::int32_t root) = 0;
  /// Blocks of equal size, in rank order, to `all` at the root; the root's own may be in its place already.
  virtual Pending& gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root) = 0;

 protected:
  ~LocalGroup() = default;
};

/// Members of other clients, by rank in the communicator, on its collective context.
class LeaderGroup {
 public:
  LeaderGroup() = default;
  LeaderGroup(const LeaderGroup&) = delete;
  LeaderGroup& operator=(const LeaderGroup&) = delete;

  /// Starts a message; buffers stay in place until all_posted() is done.
  virtual void post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) = 0;
  virtual void post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) = 0;
  /// Done when everything posted is.
  virtual Pending& all_posted() = 0;

  Pending& send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) {
    post_send(to, tag, data);
    return all_posted();
  }
  Pending& receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) {
    post_receive(from, tag, room);
    return all_posted();
  }

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

}  // namespace impishim::collectives
