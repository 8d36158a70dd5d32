// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/option_definitions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {
namespace {

constexpr int kMostProcesses = 1 << 20;
constexpr int kLongestTimeout = 1 << 20;  ///< seconds, 12 days

/// Returns a check for numbers. CLI11's own text for a number out of range does not name the
/// allowed range.
CLI::Validator number(int low, int high) {
  return {[low, high](std::string& text) -> std::string {
            int value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec == std::errc() && parsed.ptr == end && value >= low && value <= high)
              return {};
            return fmt::format("\"{}\" is not a number from {} to {}", text, low, high);
          },
          ""};
}

CLI::Validator one_of(std::vector<std::string_view> words, const char* cure) {
  return {[words = std::move(words), cure](std::string& text) -> std::string {
            if (std::find(words.begin(), words.end(), text) != words.end()) return {};
            return fmt::format("\"{}\" is none of {}{}", text, fmt::join(words, ", "), cure);
          },
          ""};
}

CLI::Validator not_empty(const char* needed) {
  return {[needed](std::string& text) -> std::string {
            return text.empty() ? fmt::format("{} is needed", needed) : "";
          },
          ""};
}

std::string known_mpi(const std::string& text) {
  return text == "mpich" || text == "openmpi" || text == "abi"
             ? ""
             : fmt::format("\"{}\" is not mpich, openmpi or abi", text);
}

std::string host_procs(const std::string& text) {
  return wire::parse_host_procs(text)
             ? ""
             : fmt::format("\"{}\" is not auto, node or a number of at least 1", text);
}

constexpr const char* kOwnWords =
    "; words that only your launcher knows stand after -mpiexec-args, up to --";

/// Adds options to one group.
class Group {
 public:
  Group(CLI::App& app, const char* name) : app_(app), name_(name) {}

  template <class T>
  CLI::Option* option(const char* names, const char* type, T& value, const char* text) {
    return app_.add_option(names, value, text)->type_name(type)->group(name_);
  }
  /// Adds an option that takes words and whose values the parser keeps itself.
  CLI::Option* kept(const char* names, const char* type, const char* text) {
    const CLI::callback_t nothing = [](const CLI::results_t&) { return true; };
    return app_.add_option(names, nothing, text)->type_name(type)->group(name_);
  }
  CLI::Option* flag(const char* names, bool& value, const char* text) {
    return app_.add_flag(names, value, text)->group(name_);
  }

 private:
  CLI::App& app_;
  const char* name_;
};

void define_forms(CLI::App& app, OptionValues& values) {
  Group group(app, kFormGroup);
  group.option("--file", "FILE", values.job_file,
               "start the systems that a job file (TOML) describes, here and on other machines");
  group.option("--configfile", "FILE", values.configuration_file,
               "read the sections from a file: each line is one, # begins a comment");
  group
      .option("--systems", "K", values.systems,
              "split the processes over K systems on this machine")
      ->check(number(1, kMostSystems));
  group
      .option("--client", "I ADDRESS:PORT", values.client,
              "start system I (0 ... N-1) of the job whose server is at that address")
      ->expected(2);
  group.option("--server", "N", values.server, "be the rendezvous server of N systems")
      ->check(number(1, kMostSystems));
  group.flag("--name-server", values.name_server,
             "keep names that jobs publish (MPI_Publish_name) until SIGTERM; prints the "
             "IMPISHIM_NAME_SERVER that they need");
}

void define_processes(CLI::App& app, OptionValues& values) {
  Group group(app, kProcessGroup);
  group.option("--np,-n,--n", "N", values.procs, "number of processes")
      ->check(number(1, kMostProcesses));
  group.kept("--env", "NAME VALUE", "set a variable of the environment; may be repeated");
  group.kept("-x", "NAME[=VALUE]",
             "the same; without a value, pass on the variable as impirun has it");
  group
      .option("--wdir,--wd", "DIR", values.directory,
              "working directory; a relative program path is looked for there first")
      ->check(not_empty("a directory"))
      ->default_str("impirun's own");
  group
      .option("--mpi", "NAME", values.mpi,
              "MPI library of the program: mpich, openmpi, or abi for the standard ABI (for "
              "scripts and interpreters)")
      ->check(known_mpi)
      ->default_str("what the program needs");
  group
      .option("--gateway", "LIST", values.gateways,
              "ranks of this system that alone hold connections to others, e.g. 0 or 0,8,16 "
              "(IMPISHIM_GATEWAY)")
      ->check(not_empty("a list of ranks"))
      ->default_str("all ranks connect");
  group.kept("--mpiexec-args", "WORDS... --",
             "give the words up to -- to the launcher as they are");
}

void define_placement(CLI::App& app, OptionValues& values) {
  Group group(app, kPlacementGroup);
  Placement& placement = values.placement;
  group
      .option("--hosts,--host,-H", "LIST", placement.hosts,
              "hosts, between commas; NAME:N for N processes there")
      ->check(not_empty("a list of hosts"))
      ->default_str("the launcher's choice");
  group
      .option("--hostfile,-f,--machinefile", "FILE", placement.host_file,
              "file of hosts, one on a line: NAME, NAME:N or NAME slots=N")
      ->check(not_empty("a file"));
  group.option("--ppn,--perhost,--npernode", "N", placement.per_node, "processes on each node")
      ->check(number(1, kMostProcesses))
      ->default_str("the launcher's choice");
  group
      .option("--bind-to", "WORD", placement.bind_to,
              "bind each process: none, hwthread, core, l1cache, l2cache, l3cache, numa, socket")
      ->check(
          one_of({"none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket"},
                 kOwnWords))
      ->default_str("none in the local form, else the launcher's choice");
  group
      .option("--map-by", "WORD", placement.map_by,
              "place neighbouring ranks by: slot, node, hwthread, core, l1cache, l2cache, l3cache, "
              "numa, socket")
      ->check(one_of(
          {"slot", "node", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket"},
          kOwnWords))
      ->default_str("the launcher's choice");
}

void define_job(CLI::App& app, OptionValues& values) {
  Group job(app, kJobGroup);
  job.kept("--genv", "NAME VALUE", "set a variable of the environment in all systems");
  job.option("--timeout", "S", values.timeout,
             "end the job after S seconds, with status 124; -server: give up if the systems have "
             "not joined by then")
      ->check(number(1, kLongestTimeout))
      ->default_str("no limit");
  job.option("--host-procs", "K", values.host_procs,
             "processes per IMPI host: auto, node or a number (IMPISHIM_HOST_PROCS)")
      ->check(host_procs)
      ->default_str("auto");
  job.flag("--dry-run", values.dry_run, "print the commands that would start the systems");

  Group output(app, kOutputGroup);
  output.flag("--label,-l,--prepend-rank,--tag-output", values.label,
              "begin each line of output with [SYSTEM:RANK], the rank in the joined job");
  output
      .option("--outfile-pattern", "FILE", values.out_pattern,
              "write each process's standard output to a file: %r is its rank in the joined job, "
              "%s its system, %n its rank there, %h its host")
      ->check(not_empty("a file name"));
  output.option("--errfile-pattern", "FILE", values.error_pattern, "the same for standard error")
      ->check(not_empty("a file name"));
  output.flag("--v,-v,--verbose", values.verbose,
              "tell at once who has joined (otherwise only if joining takes more than 2 s), and "
              "the commands that start the systems");
  output.flag("--q,-q,--quiet", values.quiet, "tell errors only");
}

void define_server(CLI::App& app, OptionValues& values) {
  Group group(app, kServerGroup);
  group.option("--port", "P", values.port, "server, name server: listen on this port")
      ->check(number(1, 65535))
      ->default_str("the kernel's choice");
  group.flag("--relay", values.relay,
             "pass on the traffic of hosts that cannot connect to each other");
  group
      .option("--auth", "LIST", values.auth,
              "authentication methods in order of preference, e.g. 1,0 or 3,1-0")
      ->default_str("1,0");
}

void define_watch(CLI::App& app, OptionValues& values) {
  Group group(app, kWatchGroup);
  constexpr const char* kServer = "ADDRESS:PORT";
  group.option("--check", "JOB", values.check,
               "find out if the systems of a job file, or those that meet at ADDRESS:PORT with "
               "-client I, can be joined, and how fast they are connected; comes first, see -check "
               "-help");
  group.option("--why", kServer, values.why, "what the ranks of a job wait for")
      ->check(not_empty("a server's address:port"));
  group.option("--top", kServer, values.top, "its rates, queues and waits, until q or Ctrl-C")
      ->check(not_empty("a server's address:port"));
  group.flag("--once", values.once, "-top: print the rates of one second, and end");
  group.flag("--json", values.json, "-check, -why, -top -once: print JSON");
  group
      .option("--metrics", kServer, values.metrics,
              "serve its numbers to Prometheus at IMPISHIM_METRICS=PORT")
      ->check(not_empty("a server's address:port"));
}

void define_others(CLI::App& app, OptionValues& values) {
  Group group(app, kOtherGroup);
  group.flag("--new-key", values.new_key, "print a random 64-bit key for IMPI_AUTH_KEY");
  group.flag("--new-secret", values.new_secret,
             "print a random secret for IMPISHIM_SECRET_FILE, which encrypts the job");
  group.flag("--help,-h", values.help, "print this text");
  group.flag("--version", values.version, "print the version");
}

}  // namespace

void define_options(CLI::App& app, OptionValues& values) {
  app.set_help_flag();  // -help is an option like the others
  define_forms(app, values);
  define_processes(app, values);
  define_placement(app, values);
  define_job(app, values);
  define_server(app, values);
  define_watch(app, values);
  define_others(app, values);
}

}  // namespace impishim::launch
