// SPDX-License-Identifier: Apache-2.0
/// The map of the job: its clients, hosts and procs, as startup negotiated them. An immutable
/// value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Rank in the joined MPI_COMM_WORLD. Procs are in host order, hosts in client order (IMPI 2.3.5).
using WorldRank = std::int32_t;

/// What a system's processes have announced about themselves.
struct ClientTraits {
  bool concurrent = false;  ///< some process of it calls MPI from several threads at the same time
                            ///< (MPI_THREAD_MULTIPLE)
  bool traces = false;      ///< all processes of it write a trace

  bool operator==(const ClientTraits&) const = default;
};

/// One native MPI job ("system"). The hosts and procs of a client of another job (JobMap::extended)
/// need not be consecutive: `first_host` and `first_proc` are then those that came first.
struct Client {
  std::int32_t first_host = 0;
  std::int32_t host_count = 0;
  WorldRank first_proc = 0;
  std::int32_t proc_count = 0;
  bool impishim =
      false;  ///< true if it announced our label; false for a foreign IMPI 0.0 implementation
  // The fields below are set for an impishim client only.
  std::uint64_t representation = 0;  ///< representation_fingerprint()
  std::uint64_t collectives =
      0;  ///< fingerprint of the user's choice of collective algorithms, the same in all clients
  ClientTraits traits;
  std::vector<std::string>
      fabrics;  ///< libfabric providers that all its hosts have and may use, in order of preference
  bool fabric_required =
      false;  ///< the user named the providers, so a socket is not an acceptable replacement
};

/// An IMPI agent and the consecutive procs that it serves.
struct Host {
  std::int32_t client = 0;
  HostId address{};
  std::uint16_t port = 0;
  WorldRank first_proc = 0;
  std::int32_t proc_count = 0;
  /// Index, among the host's procs, of the only proc that can reach other hosts and owns all
  /// channels. -1: the procs take turns.
  std::int32_t gateway = -1;
  /// True for a host of another job: its only proc has a channel of its own to each process here
  /// that it is connected with.
  bool direct = false;
  /// The address at which the hosts of its own system reach it. It differs from `address` behind an
  /// address translator, and only that system's processes know it. Zeros: `address`.
  HostId inner_address{};
  /// Further addresses at which it listens, at the same port; tried in turn with `address`.
  std::vector<HostId> more_addresses{};
};

/// Returns true if the host has announced this address.
[[nodiscard]] bool has_address(const Host& host, const HostId& address);

/// A process of the job.
struct Proc {
  std::int32_t client = 0;
  std::int32_t host = 0;
  ProcId id;
};

/// The values that startup negotiates for the whole job (IMPI 2.3.5, 3.9).
struct NegotiatedValues {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::uint32_t datalen = 65536;  ///< IMPI_Pk_maxdatalen: largest payload of a packet in bytes
  std::int32_t tag_ub = 2147483647;
  std::uint32_t ackmark = 10;      ///< packets received between two PROTOACKs
  std::uint32_t hiwater = 20;      ///< packets without PROTOACK at which a source stops sending
  std::int32_t coll_xsize = 1024;  ///< bytes from which collectives use their long form
  std::int32_t coll_maxlinear =
      4;  ///< largest number of masters for which collectives use their linear form
  std::int32_t lanes = 1;  ///< most channels between two hosts of this library (route.hpp)
  /// Our own: seconds for which a lost connection between hosts is to be taken up again; 0: not at
  /// all; kReconnectAuto (host_size.hpp).
  std::int32_t reconnect = 0;
  /// Our own: connections of each channel at once; kStreamsAuto (host_size.hpp).
  std::int32_t streams = 1;
  bool encrypted = false;   ///< our own: the connections between hosts are encrypted
  bool compressed = false;  ///< our own: the connections between hosts are compressed
};

/// Returns the libfabric provider between two clients, or inside one client: the first provider of
/// `a` that `b` also has. `a` must be the client with the lower number. The result is empty if
/// there is none.
[[nodiscard]] std::string common_fabric(const Client& a, const Client& b);

/// A process of another job, and the address of its host.
struct AddedProc {
  std::int32_t client = 0;  ///< its number in the extended map
  HostId address{};
  ProcId id;
  std::string node_name{};
};

/// The job map, and the index from process ids to world ranks.
class JobMap {
 public:
  JobMap() = default;
  /// Fails with kProtocol if counts do not add up, if a gateway is outside its host, or if two
  /// procs have the same address and pid.
  [[nodiscard]] static Result<JobMap> create(std::vector<Client> clients, std::vector<Host> hosts,
                                             std::vector<ProcId> procs, NegotiatedValues values);

  /// Returns this map with `clients` behind its clients, and with `procs` behind its procs, each on
  /// a host of its own that every process reaches directly (Host::direct). For processes of other
  /// jobs, whose numbers in their own job are others.
  [[nodiscard]] JobMap extended(const std::vector<Client>& clients,
                                std::span<const AddedProc> procs) const;

  [[nodiscard]] const std::vector<Client>& clients() const { return clients_; }
  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
  [[nodiscard]] const std::vector<Proc>& procs() const { return procs_; }
  /// Returns one of them by its number: system, host, or world rank. It must exist.
  [[nodiscard]] const Client& client(std::int32_t number) const {
    return clients_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Host& host(std::int32_t number) const {
    return hosts_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Proc& proc(WorldRank rank) const {
    return procs_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const NegotiatedValues& values() const { return values_; }
  /// Returns the node name of a host, for messages. It is empty if the host's client has not sent
  /// one.
  [[nodiscard]] const std::string& node_name(std::int32_t host) const {
    static const std::string kUnknown;
    return node_names_.empty() ? kUnknown : node_names_[static_cast<std::size_t>(host)];
  }
  [[nodiscard]] const std::vector<std::string>& node_names() const { return node_names_; }
  /// Sets the node names: printable, and one for each host or none at all.
  void set_node_names(std::vector<std::string> names) { node_names_ = std::move(names); }
  /// Sets the number of channels between two hosts, at least 1. All impishim clients have agreed on
  /// it (host_size.hpp).
  void set_lanes(std::int32_t lanes) { values_.lanes = lanes; }
  /// Sets that the connections between hosts are encrypted. All impishim clients have agreed on it.
  void set_encrypted(bool encrypted) { values_.encrypted = encrypted; }
  /// Sets NegotiatedValues::reconnect. All impishim clients have agreed on it.
  void set_reconnect(std::int32_t seconds) { values_.reconnect = seconds; }
  /// Sets NegotiatedValues::streams. All impishim clients have agreed on it.
  void set_streams(std::int32_t streams) { values_.streams = streams; }
  /// Sets that the connections between hosts are compressed. All impishim clients have agreed on
  /// it.
  void set_compressed(bool compressed) { values_.compressed = compressed; }
  void set_inner_address(std::int32_t host, const HostId& address) {
    hosts_[static_cast<std::size_t>(host)].inner_address = address;
  }
  void set_more_addresses(std::int32_t host, std::vector<HostId> addresses) {
    hosts_[static_cast<std::size_t>(host)].more_addresses = std::move(addresses);
  }
  /// Returns the addresses at which the hosts of `client` may reach `host`, in the order in which
  /// they are to be tried; at least one.
  [[nodiscard]] std::vector<HostId> addresses_from(std::int32_t client, std::int32_t host) const;
  [[nodiscard]] WorldRank size() const { return static_cast<WorldRank>(procs_.size()); }

  /// Returns the world rank of the process `id`, or -1 if it is not in this job. The index does not
  /// have processes of other jobs: only the channel from one of them tells which it is.
  [[nodiscard]] WorldRank rank_of(const ProcId& id) const;
  /// Returns the world rank of a process of this job or of another one: of one that was added
  /// several times, the latest. Returns -1 if there is none.
  [[nodiscard]] WorldRank latest_rank_of(const ProcId& id) const;

 private:
  [[nodiscard]] std::size_t slot_of(const ProcId& id) const;
  std::vector<Client> clients_;
  std::vector<Host> hosts_;
  std::vector<Proc> procs_;
  NegotiatedValues values_;
  std::vector<std::string> node_names_;  ///< one for each host; empty if no client has sent names
  std::vector<WorldRank> by_id_;  ///< open addressing, -1 for an empty slot; four bytes per slot,
                                  ///< because jobs can be large
};

}  // namespace impishim::wire
