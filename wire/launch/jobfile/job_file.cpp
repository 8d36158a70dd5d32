// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/jobfile/job_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/jobfile/toml_table.hpp"
#include "wire/launch/options/other_nodes.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {
namespace {

constexpr int kMostProcesses = 1 << 20;
constexpr int kLongestTimeout = 1 << 20;
/// A longer file is none that a person has written.
constexpr std::size_t kLongestFile = std::size_t{1} << 20;

/// Takes the variables of a table. Secrets have a place of their own.
void read_environment(TomlTable& table, std::vector<Variable>& environment) {
  for (auto& [name, value] : table.variables("environment")) {
    if (is_secret(name))
      table.fail("environment",
                 fmt::format("{} would be on a command line, which every user can read; impirun "
                             "makes a secret for each job, or set {} in its environment",
                             name, name));
    environment.push_back({name, std::move(value)});
  }
}

void read_placement(TomlTable& table, Placement& placement) {
  placement.hosts = fmt::format("{}", fmt::join(table.texts("hosts"), ","));
  placement.host_file = table.text("hostfile").value_or("");
  placement.per_node = table.number("ppn", 1, kMostProcesses).value_or(0);
  placement.bind_to = table
                          .word("bind-to", {"none", "hwthread", "core", "l1cache", "l2cache",
                                            "l3cache", "numa", "socket"})
                          .value_or("");
  placement.map_by = table
                         .word("map-by", {"slot", "node", "hwthread", "core", "l1cache", "l2cache",
                                          "l3cache", "numa", "socket"})
                         .value_or("");
  if (!placement.hosts.empty() && !placement.host_file.empty())
    table.fail("hostfile", "hosts and hostfile exclude each other: put all hosts into the file");
}

/// Reads how a system is reached and started.
void read_launcher(TomlTable& table, JobSystem& system) {
  system.host = table.text("host").value_or("");
  if (!system.host.empty() && system.host[0] == '-')
    table.fail("host", "host is a name that ssh knows; options of ssh stand in ssh = \"ssh ...\"");
  const std::string ssh = table.text("ssh").value_or("ssh");
  auto words = split_words(ssh);
  if (!words || words->empty()) {
    table.fail("ssh", fmt::format("ssh = \"{}\" is not a command: {}", printable(ssh),
                                  words ? "it is empty" : words.error().text));
  } else {
    system.ssh = std::move(*words);
  }
  system.impirun = table.text("impirun").value_or("impirun");
  system.tunnel = table.truth("tunnel").value_or(false);
  if (system.host.empty() && system.tunnel)
    table.fail("tunnel", "tunnel leads through ssh: name the machine with host = \"...\"");
  const std::string launcher = table.text("launcher").value_or("mpiexec");
  auto arguments = table.texts("launcher-args");
  if (launcher == "ssh")
    table.fail("launcher",
               "ssh reaches a machine and starts no processes there: write host = \"...\", and the "
               "launcher of that machine");
  if (launcher != "mpiexec") system.section.launcher = launcher;
  system.section.launcher_arguments = std::move(arguments);
}

/// Reads what a system runs.
void read_program(TomlTable& table, Section& section) {
  const auto procs = table.number("np", 1, kMostProcesses);
  if (!procs) table.fail("np", "np = N is missing: the number of processes");
  section.procs = procs.value_or(1);
  const auto program = table.text("program");
  if (!program) table.fail("program", "program = \"...\" is missing");
  section.command = {program.value_or("")};
  for (std::string& word : table.texts("args")) section.command.push_back(std::move(word));
  section.directory = table.text("directory").value_or("");
  section.mpi = table.word("mpi", {"mpich", "openmpi", "abi"}).value_or("");
  section.gateways = fmt::format("{}", fmt::join(table.texts_or_numbers("gateways"), ","));
}

Result<JobSystem> read_system(const toml::table& source, const std::string& file, std::size_t index,
                              const std::vector<Variable>& job_environment) {
  TomlTable table(source, file, "[[system]]");
  JobSystem system;
  system.name = table.text("name").value_or(std::to_string(index));
  read_launcher(table, system);
  read_program(table, system.section);
  system.section.environment = job_environment;
  read_environment(table, system.section.environment);
  read_placement(table, system.section.placement);
  auto finished = table.finish();
  if (!finished) return finished.error();
  return system;
}

/// Returns the table of that name, or an empty one. Fails if it is something else.
Result<const toml::table*> find_table(const toml::table& all, std::string_view name,
                                      const std::string& file) {
  static const toml::table none;
  const toml::node* node = all.get(name);
  if (node == nullptr) return &none;
  if (const toml::table* table = node->as_table(); table != nullptr) return table;
  return toml_error(file, node->source(),
                    fmt::format("{} is a table: write [{}] on a line of its own", name, name));
}

Result<std::vector<Variable>> read_job(const toml::table& all, const std::string& file,
                                       JobFile& job) {
  auto source = find_table(all, "job", file);
  if (!source) return source.error();
  TomlTable table(**source, file, "[job]");
  job.timeout_s = table.number("timeout", 1, kLongestTimeout).value_or(0);
  job.label = table.truth("label").value_or(false);
  job.out_pattern = table.text("outfile-pattern").value_or("");
  job.error_pattern = table.text("errfile-pattern").value_or("");
  job.host_procs = table.text("host-procs").value_or("");
  if (!job.host_procs.empty() && !wire::parse_host_procs(job.host_procs))
    table.fail("host-procs",
               "host-procs is \"auto\", \"node\" or a number of at least 1 in quotes");
  std::vector<Variable> environment;
  read_environment(table, environment);
  auto finished = table.finish();
  if (!finished) return finished.error();
  return environment;
}

Result<void> read_server(const toml::table& all, const std::string& file, JobFile& job) {
  auto source = find_table(all, "server", file);
  if (!source) return source.error();
  TomlTable table(**source, file, "[server]");
  job.server_address = table.text("address").value_or("");
  job.server_port = table.number("port", 1, 65535).value_or(0);
  job.relay = table.truth("relay").value_or(false);
  return table.finish();
}

Result<void> read_systems(const toml::table& all, const std::string& file,
                          const std::vector<Variable>& environment, JobFile& job) {
  const toml::node* node = all.get("system");
  const toml::array* systems = node == nullptr ? nullptr : node->as_array();
  if (systems == nullptr || systems->empty())
    return toml_error(file, node == nullptr ? all.source() : node->source(),
                      "no system is described: begin each one with the line [[system]]");
  if (systems->size() > kMostSystems)
    return toml_error(file, node->source(),
                      "more than 32 systems cannot be joined (IMPI's client mask has 32 bits)");
  for (const toml::node& each : *systems) {
    const toml::table* table = each.as_table();
    if (table == nullptr)
      return toml_error(file, each.source(),
                        "a system is a table: write [[system]] before its keys");
    auto system = read_system(*table, file, job.systems.size(), environment);
    if (!system) return system.error();
    const auto same = [&](const JobSystem& other) { return other.name == system->name; };
    if (std::any_of(job.systems.begin(), job.systems.end(), same))
      return toml_error(
          file, table->source(),
          fmt::format("two systems have the name \"{}\": messages could not tell them "
                      "apart",
                      printable(system->name)));
    job.systems.push_back(std::move(*system));
  }
  return {};
}

/// Rejects what contradicts itself across tables.
Result<void> check(const JobFile& job, const std::string& file) {
  const auto fail = [&](const std::string& text) {
    return Error{ErrorKind::kConfiguration, fmt::format("{}: {}", file, text)};
  };
  for (const JobSystem& system : job.systems) {
    if (!system.section.gateways.empty() && !job.host_procs.empty())
      return fail(
          fmt::format("host-procs of [job] and gateways of system {} exclude each other: each "
                      "gateway has a host of its own",
                      system.name));
    if (system.tunnel && job.server_port == 0)
      return fail(
          fmt::format("system {} has a tunnel, which needs a known port: write port = P into "
                      "[server]",
                      system.name));
    if (system.tunnel && !job.relay)
      return fail(
          fmt::format("system {} has a tunnel, which reaches the server alone: write relay = "
                      "true into [server]",
                      system.name));
  }
  return {};
}

}  // namespace

bool JobFile::leaves_this_machine() const {
  return may_reach_other_nodes() ||
         std::any_of(systems.begin(), systems.end(), [](const JobSystem& system) {
           return !system.host.empty() || !system.section.launcher.empty() ||
                  !system.section.placement.hosts.empty() ||
                  !system.section.placement.host_file.empty();
         });
}

Result<JobFile> parse_job_file(std::string_view text, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed)
    return toml_error(name, parsed.error().source(),
                      fmt::format("this is not TOML: {}", printable(parsed.error().description())));
  const toml::table& all = parsed.table();
  for (const auto& [key, value] : all) {
    constexpr std::array<std::string_view, 3> kTables = {"job", "server", "system"};
    if (std::find(kTables.begin(), kTables.end(), key.str()) == kTables.end())
      return toml_error(name, key.source(),
                        fmt::format("a job file has no \"{}\"; it may have [job], [server] and "
                                    "[[system]]",
                                    printable(key.str())));
  }
  JobFile job;
  auto environment = read_job(all, name, job);
  if (!environment) return environment.error();
  auto read = read_server(all, name, job);
  if (read) read = read_systems(all, name, *environment, job);
  if (read) read = check(job, name);
  if (!read) return read.error();
  return job;
}

Result<JobFile> read_job_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  text.resize(kLongestFile + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (!file.eof() && text.empty()))
    return Error{ErrorKind::kConfiguration,
                 fmt::format("-file {}: {}", path, std::strerror(errno == 0 ? EIO : errno))};
  if (text.size() > kLongestFile)
    return Error{ErrorKind::kConfiguration,
                 fmt::format("-file {}: it is longer than {} bytes", path, kLongestFile)};
  return parse_job_file(text, path);
}

}  // namespace impishim::launch
