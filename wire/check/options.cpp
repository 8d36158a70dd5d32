// SPDX-License-Identifier: Apache-2.0
#include "wire/check/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"

namespace impishim::check {
namespace {

Error usage(const std::string& what) {
  return {ErrorKind::kConfiguration, fmt::format("{}; see impirun -check -help", what)};
}

/// The values as CLI11 stores them.
struct Words {
  CheckOptions options;
  std::optional<std::int32_t> client;
  std::optional<std::int32_t> processes;
};

void define(CLI::App& app, Words& words) {
  app.set_help_flag();
  app.add_option("server", words.options.server);
  app.add_option("--client", words.client)->check(CLI::Range(0, 31));
  app.add_option("--np,-n,--n", words.processes)->check(CLI::Range(1, 1 << 20));
  app.add_flag("--json", words.options.json);
  app.add_flag("--part", words.options.part);  // for impirun's own use
  app.add_flag("--help,-h", words.options.help);
}

/// Returns the words in the order and form that CLI11 takes: the last one first, and two dashes
/// before names.
std::vector<std::string> for_cli(std::vector<std::string> words) {
  for (std::string& word : words)
    if (word.size() > 2 && word[0] == '-' && word[1] != '-') word.insert(0, 1, '-');
  std::ranges::reverse(words);
  return words;
}

}  // namespace

Result<CheckOptions> parse_check_options(const std::vector<std::string>& words) {
  CLI::App app;
  Words parsed;
  define(app, parsed);
  try {
    app.parse(for_cli(words));
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (text.starts_with("--")) text.erase(0, 1);  // all texts for users show one dash
    return usage(text);
  }
  if (parsed.options.help) return parsed.options;
  if (parsed.options.server.empty())
    return usage(
        "-check needs the address:port that impirun -server has printed, or a job file (*.toml)");
  if (parsed.options.server.ends_with(".toml")) {
    if (parsed.client || parsed.processes || parsed.options.part)
      return usage("-check of a job file takes the numbers of systems and processes from it");
    std::swap(parsed.options.server, parsed.options.job_file);
    return parsed.options;
  }
  if (!parsed.client) return usage("-check needs -client I, the number of this system");
  auto parts = wire::split_address_and_port(parsed.options.server);
  if (!parts) return parts.error();
  parsed.options.client = *parsed.client;
  parsed.options.processes = parsed.processes.value_or(1);
  return parsed.options;
}

std::vector<std::string> check_words(const CheckOptions& options) {
  std::vector<std::string> words{"-check",  options.server,
                                 "-client", std::to_string(options.client),
                                 "-np",     std::to_string(options.processes)};
  if (options.json) words.emplace_back("-json");
  if (options.part) words.emplace_back("-part");
  return words;
}

std::string check_help() {
  return "Finds out if the systems of a job can be joined, and how fast they are connected.\n\n"
         "  impirun -check job.toml [-json]                      (all systems of a job file), or:\n"
         "  impirun -server N                                    (on one machine, as for a job)\n"
         "  impirun -check address:port -client I [-np P] [-json]  (in each of the N systems)\n\n"
         "  -client I   number of this system, 0 ... N-1\n"
         "  -np P       processes that it is to have, for the limits (default: 1)\n"
         "  -json       print the report as JSON\n\n"
         "Run it on a machine where processes would run, with the variables of the job.\n"
         "Exit status: 0, a job can run; 1, it cannot; 2, the command is wrong.\n";
}

}  // namespace impishim::check
