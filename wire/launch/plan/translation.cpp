// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/translation.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/plan/host_list.hpp"
#include "wire/launch/plan/launcher.hpp"

namespace impishim::launch {
namespace {

using Words = std::vector<std::string>;

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

std::string_view name_of(LauncherKind kind) {
  switch (kind) {
    case LauncherKind::kHydra:
      return "Hydra";
    case LauncherKind::kOpenMpi:
      return "Open MPI's launcher";
    case LauncherKind::kSlurm:
      return "srun";
    case LauncherKind::kOther:
      break;
  }
  return "this launcher, which impirun does not know,";
}

/// Returns the error for an option that a launcher cannot obey.
Error cannot(LauncherKind kind, std::string_view option) {
  return configuration(
      fmt::format("{}: {} has no such option; put the launcher's own words after -mpiexec-args, up "
                  "to --",
                  option, name_of(kind)));
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// Returns the words for a list of hosts. Slurm knows no number of processes for each host.
Result<Words> host_words(LauncherKind kind, const std::vector<HostEntry>& hosts) {
  const bool counts = std::any_of(hosts.begin(), hosts.end(),
                                  [](const HostEntry& host) { return host.processes != 0; });
  switch (kind) {
    case LauncherKind::kHydra:
      return Words{"-hosts", host_list_text(hosts)};
    case LauncherKind::kOpenMpi:
      return Words{"--host", host_list_text(hosts)};
    case LauncherKind::kSlurm:
      if (counts)
        return configuration(
            "-hosts: srun takes no number of processes for a host; use -ppn N, the same for all");
      return Words{"--nodelist=" + host_list_text(hosts)};
    case LauncherKind::kOther:
      break;
  }
  return cannot(kind, "-hosts");
}

/// Writes a file of hosts in the launcher's form, and returns the words that name it.
Result<Words> host_file_words(LauncherKind kind, const std::string& given,
                              const HostFilePlace& place) {
  auto hosts = read_host_file(given);
  if (!hosts) return hosts.error();
  if (kind == LauncherKind::kSlurm) return host_words(kind, *hosts);
  if (kind == LauncherKind::kOther) return cannot(kind, "-hostfile");
  auto path = place();
  if (!path) return path.error();
  std::ofstream file(*path);
  for (const HostEntry& host : *hosts) {
    file << host.name;
    if (host.processes != 0)
      file << (kind == LauncherKind::kHydra ? ":" : " slots=") << host.processes;
    file << '\n';
  }
  file.close();
  if (!file) return Error{ErrorKind::kSystem, fmt::format("cannot write {}", path->string())};
  return Words{kind == LauncherKind::kHydra ? "-f" : "--hostfile", path->string()};
}

Result<Words> bind_words(LauncherKind kind, const std::string& to) {
  static const std::map<std::string, std::string, std::less<>> slurm = {{"none", "none"},
                                                                        {"hwthread", "threads"},
                                                                        {"core", "cores"},
                                                                        {"numa", "ldoms"},
                                                                        {"socket", "sockets"}};
  if (kind == LauncherKind::kHydra) return Words{"-bind-to", to};
  if (kind == LauncherKind::kOpenMpi) return Words{"--bind-to", to};
  const auto found = slurm.find(to);
  if (kind == LauncherKind::kSlurm && found != slurm.end())
    return Words{"--cpu-bind=" + found->second};
  return cannot(kind, "-bind-to " + to);
}

/// Returns the words for -map-by and -ppn, which some launchers have in one option.
Result<Words> mapping_words(LauncherKind kind, const Placement& placement) {
  const std::string& by = placement.map_by;
  const std::string count = std::to_string(placement.per_node);
  if (by == "node" && placement.per_node != 0)
    return configuration(
        "-ppn and -map-by node exclude each other: each says how nodes are filled");
  Words words;
  if (kind == LauncherKind::kHydra) {
    if (by == "node") return Words{"-ppn", "1"};
    if (placement.per_node != 0) append(words, {"-ppn", count});
    if (!by.empty() && by != "slot") append(words, {"-map-by", by});
    return words;
  }
  if (kind == LauncherKind::kOpenMpi) {
    if (placement.per_node == 0) return by.empty() ? words : Words{"--map-by", by};
    if (by.empty() || by == "slot") return Words{"--map-by", fmt::format("ppr:{}:node", count)};
    return configuration(fmt::format(
        "-ppn and -map-by {} exclude each other with Open MPI's launcher: leave one out, "
        "or write -mpiexec-args --map-by ppr:... --",
        by));
  }
  if (kind == LauncherKind::kOther) return cannot(kind, by.empty() ? "-ppn" : "-map-by " + by);
  static const std::map<std::string, std::string, std::less<>> slurm = {
      {"slot", "block"}, {"node", "cyclic"}, {"socket", "block:cyclic"}, {"core", "block:block"}};
  if (placement.per_node != 0) words.push_back("--ntasks-per-node=" + count);
  if (by.empty()) return words;
  const auto found = slurm.find(by);
  if (found == slurm.end()) return cannot(kind, "-map-by " + by);
  words.push_back("--distribution=" + found->second);
  return words;
}

/// Returns the words for the working directory. env(1) changes to it if the launcher is unknown.
Words directory_words(LauncherKind kind, const std::string& directory) {
  switch (kind) {
    case LauncherKind::kHydra:
      return {"-wdir", directory};
    case LauncherKind::kOpenMpi:
      return {"--wdir", directory};
    case LauncherKind::kSlurm:
      return {"--chdir=" + directory};
    case LauncherKind::kOther:
      break;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> placement_words(LauncherKind kind, const Section& section,
                                                 const HostFilePlace& host_file) {
  Words words;
  const Placement& placement = section.placement;
  const auto add = [&words](const Result<Words>& more) -> Result<void> {
    if (!more) return more.error();
    append(words, *more);
    return {};
  };
  Result<void> added;
  if (!placement.hosts.empty()) {
    auto hosts = parse_host_list(placement.hosts);
    if (!hosts) return hosts.error();
    added = add(host_words(kind, *hosts));
  }
  if (added && !placement.host_file.empty())
    added = add(host_file_words(kind, placement.host_file, host_file));
  if (added && !placement.bind_to.empty()) added = add(bind_words(kind, placement.bind_to));
  if (added && (placement.per_node != 0 || !placement.map_by.empty()))
    added = add(mapping_words(kind, placement));
  if (!added) return added.error();
  if (!section.directory.empty()) append(words, directory_words(kind, section.directory));
  append(words, section.launcher_arguments);
  return words;
}

std::vector<std::string> pass_on_words(LauncherKind kind, const Section& section) {
  Words words;
  for (const Variable& variable : section.environment) {
    // Hydra and srun pass on the whole environment.
    if (!variable.value && kind == LauncherKind::kOpenMpi &&
        secure_getenv(variable.name.c_str()) != nullptr)
      append(words, {"-x", variable.name});
  }
  return words;
}

std::vector<std::string> variable_words(LauncherKind kind, const Section& section, bool by_env) {
  Words words;
  if (by_env && !section.directory.empty()) append(words, {"-C", section.directory});
  for (const Variable& variable : section.environment) {
    if (variable.name == "LD_PRELOAD") continue;  // joined with the library's own
    if (variable.value) {
      words.push_back(variable.name + "=" + *variable.value);
    } else if (const char* own = secure_getenv(variable.name.c_str());
               own != nullptr && kind == LauncherKind::kOther && !is_secret(variable.name)) {
      words.push_back(variable.name + "=" + own);
    }
  }
  return words;
}

}  // namespace impishim::launch
