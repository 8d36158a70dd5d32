/// Who is where: clients, hosts and procs of the whole job, as startup negotiated it. An immutable
/// value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Rank in the joined MPI_COMM_WORLD: procs in host order, hosts in client order (IMPI 2.3.5).
using WorldRank = std::int32_t;

/// One native MPI job ("system").
struct Client {
  std::int32_t first_host = 0;
  std::int32_t host_count = 0;
  WorldRank first_proc = 0;
  std::int32_t proc_count = 0;
  bool impishim = false;  ///< announced our own label; false: a foreign IMPI 0.0 implementation
  // Of an impishim client:
  std::uint64_t representation = 0;  ///< representation_fingerprint()
  std::uint64_t collectives =
      0;  ///< fingerprint of the user's choice of collective algorithms, the same in all
  bool concurrent =
      false;  ///< some process of it has threads that call MPI at once (MPI_THREAD_MULTIPLE)
  std::vector<std::string> fabrics;  ///< libfabric's providers that all its hosts have and may use,
                                     ///< the preferred one first
  bool fabric_required = false;      ///< the user has named them: a socket will not do instead
};

/// One IMPI agent and the consecutive procs it serves.
struct Host {
  std::int32_t client = 0;
  HostId address{};
  std::uint16_t port = 0;
  WorldRank first_proc = 0;
  std::int32_t proc_count = 0;
  /// Index, among its procs, of the only one that has a way to other hosts and owns all channels;
  /// -1: they take turns.
  std::int32_t gateway = -1;
};

struct Proc {
  std::int32_t client = 0;
  std::int32_t host = 0;
  ProcId id;
};

/// Values that startup negotiates for everybody (IMPI 2.3.5, 3.9).
struct NegotiatedValues {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::uint32_t datalen = 65536;  ///< IMPI_Pk_maxdatalen: most payload bytes in a packet
  std::int32_t tag_ub = 2147483647;
  std::uint32_t ackmark = 10;       ///< packets received between two PROTOACKs
  std::uint32_t hiwater = 20;       ///< packets sent without PROTOACK at which a source stops
  std::int32_t coll_xsize = 1024;   ///< bytes from which collectives take their long form
  std::int32_t coll_maxlinear = 4;  ///< masters up to which collectives take their linear form
};

/// The provider of libfabric between two clients, or of one, `a` with the lower number: its first
/// that both have. Empty: none.
[[nodiscard]] std::string common_fabric(const Client& a, const Client& b);

class JobMap {
 public:
  JobMap() = default;
  /// kProtocol: counts that do not add up, a gateway outside its host, or two procs with the same
  /// address and pid.
  [[nodiscard]] static Result<JobMap> create(std::vector<Client> clients, std::vector<Host> hosts,
                                             std::vector<ProcId> procs, NegotiatedValues values);

  [[nodiscard]] const std::vector<Client>& clients() const { return clients_; }
  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
  [[nodiscard]] const std::vector<Proc>& procs() const { return procs_; }
  [[nodiscard]] const NegotiatedValues& values() const { return values_; }
  /// What the node of a host calls itself, for messages; empty if its client has not told.
  [[nodiscard]] const std::string& node_name(std::int32_t host) const {
    static const std::string unknown;
    return node_names_.empty() ? unknown : node_names_[static_cast<std::size_t>(host)];
  }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return node_names_; }
  /// `names`: printable; one for each host, or none.
  void set_node_names(std::vector<std::string> names) { node_names_ = std::move(names); }
  [[nodiscard]] WorldRank size() const { return static_cast<WorldRank>(procs_.size()); }

  /// World rank of a packet's process, or -1 for nobody in this job.
  [[nodiscard]] WorldRank rank_of(const ProcId& id) const;

 private:
  [[nodiscard]] std::size_t slot_of(const ProcId& id) const;
  std::vector<Client> clients_;
  std::vector<Host> hosts_;
  std::vector<Proc> procs_;
  NegotiatedValues values_;
  std::vector<std::string> node_names_;  ///< of the hosts; none where no client has told
  std::vector<WorldRank>
      by_id_;  ///< open hashing, -1 where empty: four bytes a slot, which counts in large jobs
};

}  // namespace impishim::wire
