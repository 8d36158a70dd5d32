// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include "wire/base/result.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {
namespace {

/// Returns all options with the number of words that follow each.
const std::map<std::string, int>& option_words() {
  static const std::map<std::string, int> words = {
      {"server", 1},  {"port", 1},    {"auth", 1},       {"timeout", 1}, {"client", 2},
      {"np", 1},      {"n", 1},       {"systems", 1},    {"mpi", 1},     {"host-procs", 1},
      {"gateway", 1}, {"new-key", 0}, {"new-secret", 0}, {"relay", 0},   {"name-server", 0},
      {"v", 0},       {"help", 0},    {"version", 0},    {"h", 0}};
  return words;
}

/// Returns the name of the option in `word` without its dashes, or nothing if it is not an option.
/// IMPI's command line uses one dash (IMPI 2.2), other programs use two.
std::optional<std::string> option_name(const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word == "--") return std::nullopt;
  return word.substr(word[1] == '-' ? 2 : 1);
}

/// Appends the words before the program's name to `options`, in the form that CLI11 expects.
/// Returns the position of the program's name.
Result<std::size_t> collect_options(const std::vector<std::string>& words, std::size_t begin,
                                    std::vector<std::string>& options) {
  std::size_t at = begin;
  while (at < words.size()) {
    const auto name = option_name(words[at]);
    if (!name) return at;
    const auto known = option_words().find(*name);
    if (known == option_words().end()) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("unknown option {}; see impirun -help", words[at])};
    }
    options.push_back(name->size() == 1 ? "-" + *name : "--" + *name);
    for (int i = 0; i < known->second; ++i) {
      if (++at >= words.size())
        return Error{ErrorKind::kConfiguration,
                     fmt::format("-{} needs {} argument(s)", *name, known->second)};
      options.push_back(words[at]);
    }
    ++at;
  }
  return at;
}

/// The values of the options of one section, parsed and checked by CLI11.
struct Options {
  std::vector<std::string> client;
  int server = 0;
  int port = 0;
  std::optional<std::string> auth;
  int timeout = 0;
  int procs = 0;
  int systems = 0;
  std::string mpi;
  std::string host_procs;
  std::string gateways;
  bool verbose = false;
  bool relay = false;
  bool new_key = false;
  bool new_secret = false;
  bool name_server = false;
  bool version = false;
  std::string help;
};

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
          fmt::format("{}..{}", low, high)};
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

Result<Options> parse_options(std::vector<std::string> words) {
  Options options;
  CLI::App app{
      "Starts and joins MPI jobs of several systems: one MPI_COMM_WORLD over all of them.\n\n"
      "  impirun -server N [-port P] [-relay] [-auth list] [-timeout S]\n"
      "  impirun -client I address:port -np N program args...\n"
      "  impirun -client I address:port -- launcher args... program args...\n"
      "  impirun -check address:port -client I    (finds out if a job can run; -check -help)\n"
      "  impirun -np 2 ./a : -np 2 ./b          (all on this machine, a system each)\n"
      "  impirun -systems K -n N program args...  (N processes, split over K systems on this "
      "machine)\n"
      "  impirun -new-key                         (prints a random authentication key)\n"
      "  impirun -new-secret                      (prints a random secret for "
      "IMPISHIM_SECRET_FILE)\n"
      "  impirun -name-server [-port P]           (keeps names for MPI_Publish_name)\n\n"
      "Authentication: IMPI_AUTH_KEY=<decimal number>, IMPI_AUTH_KEY_FILE=<file that holds it>, or "
      "IMPI_AUTH_NONE in the\n"
      "environment of server and clients. Encryption as well: IMPISHIM_SECRET=<text> or "
      "IMPISHIM_SECRET_FILE=<file\n"
      "that holds it>, or IMPISHIM_CERTIFICATE, IMPISHIM_PRIVATE_KEY and IMPISHIM_AUTHORITY=<PEM "
      "file>.",
      "impirun"};
  app.add_option("--server", options.server, "be the rendezvous server of N clients")
      ->check(number(1, 32));
  app.add_option("--port", options.port, "server, name server: listen on this port")
      ->check(number(1, 65535));
  app.add_option("--auth", options.auth,
                 "server: authentication methods in order of preference, e.g. 1,0 or 3,1-0");
  app.add_option("--timeout", options.timeout,
                 "server: give up if the clients have not joined after S seconds")
      ->check(number(1, 1 << 20));
  app.add_option("--client", options.client,
                 "join as client I (0 ... N-1) the server at address:port")
      ->expected(2);
  app.add_option("--np,-n,--n", options.procs, "number of processes")->check(number(1, 1 << 20));
  app.add_option("--systems", options.systems, "split the processes over K systems on this machine")
      ->check(number(1, 32));
  app.add_option("--mpi", options.mpi,
                 "MPI library of the program: mpich, openmpi, or abi for the standard ABI (for "
                 "scripts and interpreters)")
      ->check(known_mpi);
  app.add_option("--host-procs", options.host_procs,
                 "processes per IMPI host: auto, node or a number (IMPISHIM_HOST_PROCS)")
      ->check(host_procs);
  app.add_option("--gateway", options.gateways,
                 "ranks of this system that alone hold connections to others, e.g. 0 or 0,8,16 "
                 "(IMPISHIM_GATEWAY)")
      ->check(
          [](const std::string& text) { return text.empty() ? "a list of ranks is needed" : ""; });
  app.add_flag("-v", options.verbose,
               "tell at once who has joined (otherwise only if joining takes more than 2 s)");
  app.add_flag("--relay", options.relay,
               "server: pass on the traffic of hosts that cannot connect to each other");
  app.add_flag("--new-key", options.new_key, "print a random 64-bit key for IMPI_AUTH_KEY");
  app.add_flag("--new-secret", options.new_secret,
               "print a random secret for IMPISHIM_SECRET_FILE, which encrypts the job");
  app.add_flag("--name-server", options.name_server,
               "keep names that jobs publish (MPI_Publish_name) until SIGTERM; prints the "
               "IMPISHIM_NAME_SERVER that they need");
  app.add_flag("--version", options.version, "print the version");
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (text.rfind("--", 0) == 0)
      text.erase(0, 1);  // all texts for users show options with one dash
    return Error{ErrorKind::kConfiguration, fmt::format("{}; see impirun -help", text)};
  }
  return options;
}

Error usage(const char* what) {
  return Error{ErrorKind::kConfiguration, fmt::format("{}; see impirun -help", what)};
}

/// Rejects options that would have no effect, because they show a misunderstanding.
Result<void> check_form(const Options& options) {
  const bool server = options.server != 0;
  const bool client = !options.client.empty();
  if (server && client) return usage("-server and -client exclude each other");
  if (!server && options.relay) return usage("-relay belongs to -server");
  if (!server && (options.auth || options.timeout != 0))
    return usage("-auth and -timeout belong to -server");
  if (!server && !options.name_server && options.port != 0)
    return usage("-port belongs to -server and -name-server");
  if (server && (options.procs != 0 || !options.mpi.empty() || !options.host_procs.empty() ||
                 !options.gateways.empty())) {
    return usage("-np, -mpi, -host-procs and -gateway do not belong to -server");
  }
  if (!options.host_procs.empty() && !options.gateways.empty()) {
    return usage("-host-procs and -gateway exclude each other: each gateway has a host of its own");
  }
  if (client && options.verbose)
    return usage("-v belongs to -server and to the forms that start all systems");
  if ((server || client) && options.systems != 0)
    return usage("-systems belongs to neither -server nor -client");
  return {};
}

/// Divides N processes over K systems; the first systems get the remainder.
Result<std::vector<Section>> split_over_systems(const Options& options,
                                                const std::vector<std::string>& command) {
  if (options.procs < options.systems) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("{} processes cannot be split over {} systems: give -n a larger number",
                    options.procs, options.systems)};
  }
  std::vector<Section> sections;
  for (int system = 0; system < options.systems; ++system) {
    const int procs =
        options.procs / options.systems + (system < options.procs % options.systems ? 1 : 0);
    sections.push_back({procs, command, options.gateways});
  }
  return sections;
}

Result<void> fill_client(CommandLine& line, const Options& options,
                         const std::vector<std::string>& words, std::size_t program) {
  line.mode = CommandLine::Mode::kClient;
  int client = -1;
  const auto& text = options.client[0];
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), client);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || client < 0 ||
      client > 31) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("-client {}: a client's number from 0 to 31 is needed", text)};
  }
  line.client = client;
  line.server = options.client[1];
  line.own_launcher = program < words.size() && words[program] == "--";
  const std::size_t first = program + (line.own_launcher ? 1 : 0);
  if (first >= words.size()) return usage("-client needs a program to run");
  if (!line.own_launcher && options.procs == 0)
    return usage("-client needs -np N, or -- and a launcher's command");
  line.sections.push_back({options.procs,
                           {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()},
                           options.gateways});
  return {};
}

/// Rejects a section's colon that is not separated from the next option. The program would get
/// everything after it as arguments.
Result<void> check_colons(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const auto option = word.rfind(":-", 0) == 0 ? option_name(word.substr(1)) : std::nullopt;
    if (!option || option_words().count(*option) == 0) continue;
    return Error{ErrorKind::kConfiguration,
                 fmt::format("\"{}\": a space is needed between : and {}", word, word.substr(1))};
  }
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& words) {
  CommandLine line;
  std::size_t begin = 0;
  for (bool first = true;; first = false) {
    std::vector<std::string> option_list;
    auto program = collect_options(words, begin, option_list);
    if (!program) return program.error();
    auto options = parse_options(std::move(option_list));
    if (!options) return options.error();
    if (first) {
      line.mpi = options->mpi;
      line.host_procs = options->host_procs;
      line.verbose = options->verbose;
    }
    if (words.empty())
      return usage("nothing to do: neither -server, nor -client, nor -np N program");
    if (!options->help.empty()) {
      line.mode = CommandLine::Mode::kHelp;
      line.help = options->help;
      return line;
    }
    if (options->version) {
      line.mode = CommandLine::Mode::kVersion;
      return line;
    }
    if (options->new_key) {
      if (words.size() > 1) return usage("-new-key stands alone");
      line.mode = CommandLine::Mode::kNewKey;
      return line;
    }
    if (options->new_secret) {
      if (words.size() > 1) return usage("-new-secret stands alone");
      line.mode = CommandLine::Mode::kNewSecret;
      return line;
    }
    auto form = check_form(*options);
    if (!form) return form.error();
    if (options->name_server) {
      if (*program < words.size() || options->server != 0 || options->procs != 0)
        return usage("-name-server goes with -port alone");
      line.mode = CommandLine::Mode::kNameServer;
      line.port = options->port;
      return line;
    }
    if (options->server != 0) {
      if (*program < words.size()) return usage("-server takes no program: the clients start it");
      line.mode = CommandLine::Mode::kServer;
      line.clients = options->server;
      line.port = options->port;
      line.preference = options->auth;
      line.relay = options->relay;
      line.timeout_s = options->timeout;
      return line;
    }
    if (!options->client.empty()) {
      auto filled = fill_client(line, *options, words, *program);
      if (!filled) return filled.error();
      return line;
    }
    if (options->procs == 0) return usage("-np N is missing");
    const auto end =
        std::find(words.begin() + static_cast<std::ptrdiff_t>(*program), words.end(), ":");
    std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(*program), end);
    if (command.empty()) return usage("a program is missing");
    auto colons = check_colons(command);
    if (!colons) return colons.error();
    if (options->systems != 0) {
      if (end != words.end() || !first)
        return usage("-systems and sections with : exclude each other");
      auto sections = split_over_systems(*options, command);
      if (!sections) return sections.error();
      line.sections = std::move(*sections);
      return line;
    }
    line.sections.push_back({options->procs, std::move(command), options->gateways});
    if (line.sections.size() > 32)
      return usage("more than 32 systems cannot be joined (IMPI's client mask has 32 bits)");
    if (end == words.end()) return line;
    begin = static_cast<std::size_t>(end - words.begin()) + 1;
  }
}

}  // namespace impishim::launch
