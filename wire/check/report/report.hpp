// SPDX-License-Identifier: Apache-2.0
/// What `impirun -check` finds out: about each system, about the road between two of them, and the
/// problems that follow. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace impishim::check {

/// A libimpishim.so beside impirun, and the MPI library that it is for.
struct MpiLibrary {
  std::string name;     ///< "mpich", "openmpi" or "abi"
  std::string file;     ///< the MPI library's name for the loader
  std::string version;  ///< as MPI_Get_library_version says, first line
  std::string error;    ///< reason why it cannot be loaded; empty if it can
};

/// An address of a network interface that is up.
struct Interface {
  std::string name;
  std::string address;
  std::int64_t mtu = 0;  ///< bytes; 0: unknown
};

/// A host name that the system uses.
struct HostName {
  std::string name;
  std::string address;  ///< empty: it cannot be resolved
};

/// What the kernel allows. 0 stands for unknown.
struct Limits {
  std::int64_t descriptors = 0;       ///< RLIMIT_NOFILE, the soft limit
  std::int64_t descriptors_hard = 0;  ///< the hard limit
  std::int64_t shared_memory = 0;     ///< bytes of /dev/shm
  std::int64_t shared_memory_free = 0;
  std::int64_t memory = 0;            ///< bytes
  std::int64_t memory_available = 0;  ///< bytes
  std::int64_t receive_buffer = 0;    ///< net.core.rmem_max, bytes
  std::int64_t send_buffer = 0;       ///< net.core.wmem_max, bytes
  std::int64_t receive_window = 0;    ///< largest of net.ipv4.tcp_rmem, bytes
  std::int64_t send_window = 0;       ///< largest of net.ipv4.tcp_wmem, bytes
  std::string congestion;             ///< congestion control of new connections
};

/// The settings of a system that decide how it takes part.
struct Settings {
  std::string encryption;      ///< "secret", "certificates" or "none"
  bool clear_allowed = false;  ///< IMPISHIM_TLS=off
  std::string authentication;  ///< "key" or "none"
  std::string ports;           ///< IMPISHIM_PORT; empty: the kernel chooses
  std::int64_t ports_free = 0;
  std::int64_t ports_all = 0;     ///< 0: the kernel chooses
  std::int64_t streams = 1;       ///< IMPISHIM_STREAMS; 0: auto
  std::int64_t max_channels = 0;  ///< IMPISHIM_MAX_CHANNELS
  std::int64_t processes = 1;     ///< -np: processes that this system is to have
};

/// One system, as it describes itself.
struct SystemReport {
  std::int64_t system = 0;
  std::string version;        ///< of impirun
  std::int64_t protocol = 0;  ///< version of impishim's own protocol
  std::string node;
  std::string kernel;
  std::string server;             ///< address of the rendezvous server, as this system calls it
  std::vector<std::string> from;  ///< addresses that it announces
  std::vector<MpiLibrary> libraries;
  std::vector<Interface> interfaces;
  std::vector<HostName> names;
  Limits limits;
  Settings settings;
};

/// The measured road from one system to another one. Each system reports those that begin at it.
struct Road {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool joined = false;    ///< the two were connected as in a job, in whatever way
  bool relayed = false;   ///< ... through the relay of the rendezvous server
  bool connects = false;  ///< `from` can connect to `to`
  std::string why_not;    ///< reason if it cannot
  bool encrypted = false;
  std::string local;            ///< address:port of the connection at `from`
  std::string remote;           ///< ... at its other end
  std::string interface;        ///< of `local`
  std::int64_t mtu = 0;         ///< of that interface, bytes; 0: unknown
  std::int64_t path_mtu = 0;    ///< as the kernel knows it, bytes; 0: unknown
  std::string congestion;       ///< congestion control of the connection
  double round_trip_us = 0;     ///< median
  double round_trip_99_us = 0;  ///< 99 of 100 are not longer
  double clock_ahead_us = 0;    ///< how far the clock of `to` is ahead
  double clock_error_us = 0;    ///< the largest error of clock_ahead_us
  double rate = 0;              ///< bytes/s over one connection
  double rate_streams = 0;      ///< bytes/s over `streams` connections; 0: not measured
  std::int64_t streams = 0;
  std::string trouble;  ///< why measuring ended early; empty if it did not
};

/// A problem.
struct Finding {
  bool breaks = false;                ///< true: a job cannot run; false: a warning
  std::vector<std::int64_t> systems;  ///< those that it concerns
  std::string cause;
  std::string cure;
};

struct Report {
  std::int64_t here = 0;            ///< the system that made this report
  std::int64_t systems_wanted = 0;  ///< systems of the job, as the server says; 0: unknown
  std::vector<SystemReport> systems;
  std::vector<Road> roads;
  std::vector<Finding> findings;
};

/// Returns true if a job can run.
[[nodiscard]] bool passes(const Report& report);

/// Returns the road from one system to another one; null if it was not measured.
[[nodiscard]] const Road* find_road(const Report& report, std::int64_t from, std::int64_t to);

/// Moves the findings that break a job before the others; otherwise they keep their order.
void put_breaks_first(std::vector<Finding>& findings);

}  // namespace impishim::check
