// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::check {
namespace {

/// Descriptors that an MPI library, the program and this library use besides connections.
constexpr std::int64_t kOtherDescriptors = 64;
/// Each end of a connection keeps so much until the other one has acknowledged it.
constexpr std::int64_t kKeptBytes = std::int64_t{64} << 20;
/// Two rings between two processes of a host (wire/channel/shared_memory_channel.hpp).
constexpr std::int64_t kRingBytes = 2 * (std::int64_t{256} << 10);

class Diagnosis {
 public:
  explicit Diagnosis(const Report& report) : report_(report) {}

  std::vector<Finding> run() {
    missing_systems();
    versions();
    for (const SystemReport& each : report_.systems) {
      libraries(each);
      names(each);
      ports(each);
      limits(each);
    }
    security();
    for (const Road& each : report_.roads) {
      road(each);
      window(each);
    }
    pairs();
    put_breaks_first(findings_);
    return std::move(findings_);
  }

 private:
  void breaks(std::vector<std::int64_t> systems, std::string cause, std::string cure) {
    std::ranges::sort(systems);
    findings_.push_back({true, std::move(systems), std::move(cause), std::move(cure)});
  }
  void warns(std::vector<std::int64_t> systems, std::string cause, std::string cure) {
    std::ranges::sort(systems);
    findings_.push_back({false, std::move(systems), std::move(cause), std::move(cure)});
  }
  [[nodiscard]] const SystemReport* find(std::int64_t system) const {
    const auto found = std::ranges::find(report_.systems, system, &SystemReport::system);
    return found == report_.systems.end() ? nullptr : &*found;
  }

  void missing_systems() {
    // The step that has failed was before the others' reports came.
    if (report_.systems.size() <= 1 && !report_.findings.empty()) return;
    for (std::int64_t system = 0; system < report_.systems_wanted; ++system)
      if (find(system) == nullptr)
        breaks({system}, fmt::format("system {} has joined, but is no impirun -check", system),
               fmt::format("start impirun -check with -client {} there, of this version of "
                           "impishim, and no program",
                           system));
  }

  void versions() {
    std::map<std::int64_t, std::vector<std::int64_t>> by_protocol;
    for (const SystemReport& each : report_.systems)
      by_protocol[each.protocol].push_back(each.system);
    if (by_protocol.size() <= 1) return;
    std::string who;
    std::vector<std::int64_t> all;
    for (const auto& [protocol, systems] : by_protocol) {
      for (const std::int64_t system : systems) {
        who += fmt::format("{}system {} has impishim {} (protocol {})", who.empty() ? "" : ", ",
                           system, find(system)->version, protocol);
        all.push_back(system);
      }
    }
    breaks(all, who + ", and these do not understand each other",
           "install the same version of impishim in every system");
  }

  void libraries(const SystemReport& it) {
    if (it.libraries.empty())
      breaks({it.system},
             fmt::format("no libimpishim.so is beside impirun in system {}", it.system),
             "install impishim with the library for the program's MPI, or set IMPISHIM_LIBRARY");
    // Few machines have a library of the standard ABI, for which each build has a libimpishim.so.
    const bool any_opens = std::ranges::any_of(
        it.libraries, [](const MpiLibrary& each) { return each.error.empty(); });
    for (const MpiLibrary& each : it.libraries)
      if (!each.error.empty() && !(any_opens && each.name == "abi"))
        warns({it.system},
              fmt::format("the MPI library {} of system {} cannot be opened: {}", each.name,
                          it.system, each.error),
              fmt::format("load its module or set LD_LIBRARY_PATH there, if programs for {} are to "
                          "run",
                          each.name));
  }

  void names(const SystemReport& it) {
    for (const HostName& each : it.names)
      if (each.address.empty())
        warns({it.system},
              fmt::format("system {} cannot resolve the name {}", it.system, each.name),
              "add it to DNS or to /etc/hosts: launchers may need it; or use addresses");
  }

  void ports(const SystemReport& it) {
    const Settings& settings = it.settings;
    if (settings.ports_all == 0) return;
    if (settings.ports_free == 0)
      breaks({it.system},
             fmt::format("no port of IMPISHIM_PORT={} is free in system {}", settings.ports,
                         it.system),
             "end what listens there, or set IMPISHIM_PORT to a range of free ports that the "
             "firewall lets in");
    else if (settings.ports_free < std::min(settings.processes, settings.ports_all))
      warns({it.system},
            fmt::format("{} of {} ports of IMPISHIM_PORT={} are free in system {}, and its {} "
                        "processes may be as many hosts",
                        settings.ports_free, settings.ports_all, settings.ports, it.system,
                        settings.processes),
            "set a wider range, or IMPISHIM_HOST_PROCS=node in all systems");
  }

  void limits(const SystemReport& it) {
    const Limits& limits = it.limits;
    const std::int64_t descriptors = descriptors_needed(it, report_);
    if (limits.descriptors > 0 && limits.descriptors < descriptors)
      breaks({it.system},
             fmt::format("system {} allows {} file descriptors, and a process may need {}",
                         it.system, limits.descriptors, descriptors),
             fmt::format("raise it there with ulimit -n {} (the hard limit is {}), or lower "
                         "IMPISHIM_MAX_CHANNELS in all systems",
                         descriptors, limits.descriptors_hard));
    const std::int64_t shared = shared_memory_needed(it);
    if (limits.shared_memory > 0 && limits.shared_memory_free < shared)
      breaks({it.system},
             fmt::format("/dev/shm of system {} has {} MiB free, and {} processes of a node may "
                         "need {}",
                         it.system, limits.shared_memory_free >> 20, it.settings.processes,
                         (shared >> 20) + 1),
             "remove old files there or mount it larger (mount -o remount,size=...); containers: "
             "--shm-size");
    const std::int64_t memory = memory_needed(it, report_);
    if (limits.memory > 0 && limits.memory_available < memory)
      warns({it.system},
            fmt::format("system {} has {} MiB of memory available, and a process may keep {} to "
                        "send them again after a loss",
                        it.system, limits.memory_available >> 20, memory >> 20),
            "free memory there, or lower IMPISHIM_MAX_CHANNELS in all systems");
  }

  void security() {
    std::set<std::string> nodes;  // by their addresses
    std::vector<std::int64_t> clear;
    std::vector<std::int64_t> open;
    for (const SystemReport& each : report_.systems) {
      nodes.insert(each.from.empty() ? each.node : each.from.front());
      if (each.settings.encryption == "none") clear.push_back(each.system);
      if (each.settings.encryption == "none" && each.settings.authentication == "none")
        open.push_back(each.system);
    }
    if (!open.empty() && nodes.size() > 1)
      warns(open,
            "everyone who reaches the server can join, since there is no key (IMPI_AUTH_NONE)",
            "make a secret with impirun -new-secret, and set IMPISHIM_SECRET_FILE in all systems "
            "and for the server");
    if (!clear.empty() && nodes.size() > 1)
      warns(clear, "what the systems send to each other crosses the network in clear",
            "set IMPISHIM_SECRET_FILE in all systems and for the server, unless the network is "
            "trusted");
  }

  void road(const Road& it) {
    if (!it.trouble.empty()) {
      const bool stuck = it.round_trip_us > 0 && it.rate == 0;
      breaks({it.from, it.to},
             fmt::format("the connection of systems {} and {} failed {}: {}", it.from, it.to,
                         stuck ? "under long messages, although short ones pass" : "when measured",
                         it.trouble),
             stuck ? "packets of full size may be dropped on the way: give both ends the smallest "
                     "MTU of the path, or let ICMP (packet too big) through"
                   : "see if the network, or a firewall, cuts connections; try again");
      return;
    }
    // A packet of IPv4 has no more bytes than that, whatever the interface takes.
    constexpr std::int64_t kMostPacket = 65535;
    if (it.mtu > 0 && it.path_mtu > 0 && it.path_mtu < std::min(it.mtu, kMostPacket))
      warns({it.from, it.to},
            fmt::format("packets of {} bytes leave interface {} of system {}, and the path to "
                        "system {} takes {}",
                        it.mtu, it.interface, it.from, it.to, it.path_mtu),
            fmt::format("none is needed as long as ICMP (packet too big) comes back; MTU {} at {} "
                        "avoids the question",
                        it.path_mtu, it.interface));
    if (std::abs(it.clock_ahead_us) > it.clock_error_us + kClocksDiffer && it.from < it.to)
      warns({it.from, it.to},
            fmt::format("the clock of system {} is {:.1f} s {} that of system {}", it.to,
                        std::abs(it.clock_ahead_us) / 1e6,
                        it.clock_ahead_us > 0 ? "ahead of" : "behind", it.from),
            "synchronize the clocks (NTP): certificates have dates, and logs are hard to compare");
  }

  /// Warns where the kernel's windows bound what a long road could carry.
  void window(const Road& it) {
    constexpr double kLongRoad = 5000;  // microseconds
    constexpr double kWanted = 125e6;   // bytes/s: 1 Gbit/s
    const SystemReport* from = find(it.from);
    const SystemReport* to = find(it.to);
    if (from == nullptr || to == nullptr || it.round_trip_us < kLongRoad) return;
    constexpr double kLongestRoad = 60e6;  // another system may tell anything
    const double round_trip_us = std::min(it.round_trip_us, kLongestRoad);
    // The kernel uses about half of a receive buffer for its own purposes.
    const std::int64_t bytes = std::min(from->limits.send_window, to->limits.receive_window / 2);
    const double rate = static_cast<double>(bytes) / round_trip_us * 1e6;
    if (bytes <= 0 || rate >= kWanted) return;
    warns(
        {it.from, it.to},
        fmt::format("windows of {} KiB allow {:.0f} Mbit/s from system {} to system {} over one "
                    "connection, at a round trip of {:.1f} ms",
                    bytes >> 10, rate * 8 / 1e6, it.from, it.to, round_trip_us / 1e3),
        fmt::format("raise the last number of net.ipv4.tcp_wmem in system {} and of "
                    "net.ipv4.tcp_rmem in system {} to {}, or set IMPISHIM_STREAMS=4 in all "
                    "systems",
                    it.from, it.to, 2 * static_cast<std::int64_t>(kWanted * round_trip_us / 1e6)));
  }

  /// Looks at both directions between two systems together.
  void pairs() {
    for (const Road& there : report_.roads) {
      const Road* back = find_road(report_, there.to, there.from);
      if (back != nullptr && there.from > there.to) continue;
      mtus(there, back);
      connections(there, back);
    }
  }

  void mtus(const Road& there, const Road* back) {
    if (back == nullptr || there.mtu <= 0 || back->mtu <= 0 || there.mtu == back->mtu) return;
    warns({there.from, there.to},
          fmt::format("interface {} of system {} has MTU {}, and {} of system {} has {}",
                      there.interface, there.from, there.mtu, back->interface, there.to, back->mtu),
          "give both the same MTU, or see that ICMP (packet too big) passes");
  }

  void connections(const Road& there, const Road* back) {
    const auto [low, high] = std::minmax(there.from, there.to);
    const std::vector<std::int64_t> both{low, high};
    if (!there.joined) {
      const std::string& why = there.why_not;
      breaks(both,
             fmt::format("systems {} and {} cannot connect to each other in either direction{}{}",
                         low, high, why.empty() ? "" : ": ", why),
             "open a port at one of the two sites and name it there with IMPISHIM_PORT, or start "
             "the server with -relay");
      return;
    }
    if (there.relayed)
      warns(both,
            fmt::format("systems {} and {} reach each other only through the relay of the "
                        "rendezvous server, which costs bandwidth",
                        low, high),
            "open a port at one of the two sites, and name it there with IMPISHIM_PORT");
    else if (back != nullptr && !there.connects && !back->connects && there.trouble.empty())
      warns(both,
            fmt::format("systems {} and {} have connected once, and then in neither direction: {}",
                        low, high, there.why_not),
            "a lost connection could not be made again: see if a firewall limits connections");
  }

  static constexpr double kClocksDiffer = 1e6;  // microseconds

  const Report& report_;
  std::vector<Finding> findings_;
};

/// Returns how many channels a process of `own` has at most.
std::int64_t channels_of(const SystemReport& own, const Report& report) {
  constexpr std::int64_t kMostProcesses = std::int64_t{1} << 20;
  std::int64_t others = 0;
  for (const SystemReport& each : report.systems)
    if (each.system != own.system)
      others += std::clamp<std::int64_t>(each.settings.processes, 1, kMostProcesses);
  const std::int64_t most = own.settings.max_channels > 0
                                ? std::min(own.settings.max_channels, kMostProcesses)
                                : std::int64_t{wire::kDefaultMaxChannels};
  return std::min(others, most);
}

std::int64_t streams_of(const SystemReport& own) {
  if (own.settings.streams == wire::kStreamsAuto) return wire::kMostAutoStreams;
  return std::clamp<std::int64_t>(own.settings.streams, 1, wire::kMostStreams);
}

/// Returns the cure where the server cannot be reached, or turns this system away. What the server
/// says is a text alone, without a kind.
std::string cure_at_server(const Error& error) {
  const auto says = [&](const char* words) { return error.text.find(words) != std::string::npos; };
  if (error.kind == ErrorKind::kAuthentication || error.kind == ErrorKind::kProtocol ||
      says("authentication"))
    return "give the server and all systems the same secret, certificates of one authority, or the "
           "same key, and the same IMPISHIM_TLS";
  if (error.kind == ErrorKind::kConfiguration)
    return "use the address:port that impirun -server has printed";
  if (says("server: system "))
    return "give each system a number of its own with -client, from 0 on, and end what has this "
           "one";
  return "see that impirun -server runs at this address, that its machine can be reached from "
         "here, "
         "that its port is open, and that it has the same secret or key";
}

/// Returns the cure for a variable, a file or an argument that is refused. Texts of errors name the
/// cure where it depends on the case.
std::string cure_of(Step step, const Error& error) {
  switch (step) {
    case Step::kSettings:
      if (error.kind == ErrorKind::kAuthentication)
        return "give this system the secret or key of the job (IMPISHIM_SECRET_FILE, certificates, "
               "IMPI_AUTH_KEY_FILE), in a file that only its owner can read";
      return "correct what the cause names; docs/configuration.md has what is allowed";
    case Step::kServer:
      return cure_at_server(error);
    case Step::kAgreement:
      break;
  }
  return "give all systems the same settings, as the cause says, and use the same impishim";
}

}  // namespace

Finding finding_of(Step step, std::int64_t system, const Error& error) {
  return {true, {system}, error.text, cure_of(step, error)};
}

std::vector<Finding> diagnose(const Report& report) { return Diagnosis(report).run(); }

std::int64_t descriptors_needed(const SystemReport& own, const Report& report) {
  return kOtherDescriptors + channels_of(own, report) * streams_of(own);
}

std::int64_t shared_memory_needed(const SystemReport& own) {
  // Each process has a ring with each other one of its host, which is a node at most.
  constexpr std::int64_t kMostOnNode = 4096;
  const std::int64_t count = std::clamp<std::int64_t>(own.settings.processes, 1, kMostOnNode);
  return count * (count - 1) / 2 * kRingBytes;
}

std::int64_t memory_needed(const SystemReport& own, const Report& report) {
  return channels_of(own, report) * kKeptBytes;
}

}  // namespace impishim::check
