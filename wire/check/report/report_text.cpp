// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/report_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "wire/check/report/diagnosis.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {
namespace {

class Text {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  /// Adds a line of a system or a road, with its subject in front.
  template <class... Args>
  void item(const char* subject, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), "  {:<11} ", subject);
    line(format, std::forward<Args>(args)...);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string size_text(std::int64_t bytes) {
  if (bytes <= 0) return "unknown";
  if (bytes >= std::int64_t{10} << 30) return fmt::format("{} GiB", bytes >> 30);
  if (bytes >= std::int64_t{10} << 20) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

/// Returns a time in microseconds with a fitting unit.
std::string time_text(double us) {
  return us < 1000
             ? fmt::format("{:.0f} us", us)
             : fmt::format("{:.1f} {}", us < 1e6 ? us / 1e3 : us / 1e6, us < 1e6 ? "ms" : "s");
}

std::string rate_text(double bytes) {
  const double bits = bytes * 8;
  return bits < 1e9 ? fmt::format("{:.1f} Mbit/s", bits / 1e6)
                    : fmt::format("{:.1f} Gbit/s", bits / 1e9);
}

void add_system(const SystemReport& it, const Report& report, Text& out) {
  out.line("system {}: {}{}", it.system, it.node, it.system == report.here ? " (here)" : "");
  out.item("impishim", "{}, protocol {}; {}", it.version, it.protocol, it.kernel);
  for (const MpiLibrary& each : it.libraries)
    out.item("MPI", "{} ({}): {}", each.name, each.file,
             each.error.empty() ? each.version : each.error);
  for (const HostName& each : it.names)
    out.item("name", "{} is {}", each.name, each.address.empty() ? "unknown" : each.address);
  out.item("address", "{} announced to the others", fmt::join(it.from, ", "));
  for (const Interface& each : it.interfaces)
    out.item("interface", "{} {}, MTU {}", each.name, each.address, each.mtu);
  const Settings& settings = it.settings;
  if (settings.ports_all > 0)
    out.item("ports", "IMPISHIM_PORT={}: {} of {} free", settings.ports, settings.ports_free,
             settings.ports_all);
  else
    out.item("ports", "chosen by the kernel");
  out.item("security", "encryption: {}; authentication: {}", settings.encryption,
           settings.authentication);
  const Limits& limits = it.limits;
  out.item("limits", "{} descriptors (a process may need {}), /dev/shm {} of {} free (may need {})",
           limits.descriptors, descriptors_needed(it, report), size_text(limits.shared_memory_free),
           size_text(limits.shared_memory),
           shared_memory_needed(it) == 0 ? "none" : size_text(shared_memory_needed(it)));
  out.item("memory", "{} of {} available", size_text(limits.memory_available),
           size_text(limits.memory));
  out.item("buffers", "rmem_max {}, wmem_max {}, tcp_rmem {}, tcp_wmem {}; {}",
           size_text(limits.receive_buffer), size_text(limits.send_buffer),
           size_text(limits.receive_window), size_text(limits.send_window), limits.congestion);
}

/// Returns which of two systems can connect.
std::string direction_text(const Road& there, const Road* back) {
  const std::string out = fmt::format("{} -> {}", there.from, there.to);
  const std::string in = fmt::format("{} -> {}", there.to, there.from);
  const bool in_works = back != nullptr && back->connects;
  if (!there.joined) return "neither";
  std::string text = "neither";
  if (there.connects && in_works) text = fmt::format("both, {} and {}", out, in);
  if (there.connects != in_works) text = fmt::format("{} alone", there.connects ? out : in);
  if (back == nullptr) text = there.connects ? out : fmt::format("not {}", out);
  return there.relayed ? text + "; through the relay" : text;
}

/// Adds what was measured in one direction.
void add_direction(const Road& it, Text& out) {
  out.line("  {} -> {}", it.from, it.to);
  if (!it.local.empty())
    out.item("  route", "{} to {}, interface {}, MTU {}, path MTU {}; {}", it.local, it.remote,
             it.interface.empty() ? "unknown" : it.interface, it.mtu, it.path_mtu, it.congestion);
  if (it.round_trip_us > 0) {
    out.item("  round trip", "{} median, {} for 99 of 100", time_text(it.round_trip_us),
             time_text(it.round_trip_99_us));
    out.item("  clock", "that of system {} is {} {}, within {}", it.to,
             time_text(it.clock_ahead_us < 0 ? -it.clock_ahead_us : it.clock_ahead_us),
             it.clock_ahead_us < 0 ? "behind" : "ahead", time_text(it.clock_error_us));
  }
  if (it.rate > 0) out.item("  bandwidth", "{} over one connection", rate_text(it.rate));
  if (it.rate_streams > 0)
    out.item("  bandwidth", "{} over {} connections", rate_text(it.rate_streams), it.streams);
  if (!it.connects && !it.why_not.empty()) out.item("  connecting", "{}", it.why_not);
  if (!it.trouble.empty()) out.item("  trouble", "{}", it.trouble);
}

void add_roads(const Report& report, Text& out) {
  for (const Road& there : report.roads) {
    const Road* back = find_road(report, there.to, there.from);
    if (back != nullptr && there.from > there.to) continue;
    out.line("systems {} and {}", there.from, there.to);
    out.item("connects", "{}", direction_text(there, back));
    out.item("encrypted", "{}", there.encrypted ? "yes" : "no");
    add_direction(there, out);
    if (back != nullptr) add_direction(*back, out);
  }
}

void add_findings(const Report& report, Text& out) {
  for (const Finding& each : report.findings) {
    out.line("{}: {}", each.breaks ? "PROBLEM" : "warning", each.cause);
    out.line("  cure: {}", each.cure);
  }
  const auto problems = std::ranges::count_if(report.findings, &Finding::breaks);
  const auto warnings = static_cast<std::ptrdiff_t>(report.findings.size()) - problems;
  out.line("{}: {} problem(s), {} warning(s)",
           passes(report) ? "a job can run" : "a job cannot run", problems, warnings);
}

}  // namespace

std::string report_text(const Report& report) {
  Text out;
  for (const SystemReport& each : report.systems) add_system(each, report, out);
  add_roads(report, out);
  add_findings(report, out);
  return out.take();
}

}  // namespace impishim::check
