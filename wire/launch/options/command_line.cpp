// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/launch/options/configuration_file.hpp"
#include "wire/launch/options/option_definitions.hpp"
#include "wire/launch/options/option_text.hpp"
#include "wire/launch/options/option_words.hpp"
#include "wire/launch/options/section.hpp"

namespace impishim::launch {
namespace {

Error usage(std::string_view what) {
  return Error{ErrorKind::kConfiguration, fmt::format("{}; see impirun -help", what)};
}

bool has(const ParsedOptions& options, std::string_view name) {
  return std::find(options.given.begin(), options.given.end(), name) != options.given.end();
}

/// Returns the first option that has been given and is none of `allowed`, or an empty text.
std::string first_other(const ParsedOptions& options,
                        const std::vector<std::string_view>& allowed) {
  for (const std::string& name : options.given) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) return name;
  }
  return {};
}

/// Rejects options that would have no effect, because they show a misunderstanding.
Result<void> check_form(const ParsedOptions& options) {
  const OptionValues& values = options.values;
  const bool server = values.server != 0;
  const bool client = !values.client.empty();
  if (server && client) return usage("-server and -client exclude each other");
  if (!server && values.relay) return usage("-relay belongs to -server");
  if (!server && values.auth) return usage("-auth belongs to -server");
  if (!server && !values.name_server && values.port != 0)
    return usage("-port belongs to -server and -name-server");
  if (server) {
    const auto other =
        first_other(options, {"server", "port", "relay", "auth", "timeout", "v", "q"});
    if (!other.empty())
      return usage(fmt::format(
          "-{} does not belong to -server: give it where the systems are started", other));
  }
  if (values.verbose && values.quiet) return usage("-v and -q exclude each other");
  if (!values.host_procs.empty() && !values.gateways.empty()) {
    return usage("-host-procs and -gateway exclude each other: each gateway has a host of its own");
  }
  if (client && values.systems != 0)
    return usage("-systems belongs to neither -server nor -client");
  if (!values.placement.hosts.empty() && !values.placement.host_file.empty())
    return usage("-hosts and -hostfile exclude each other: put all hosts into the file");
  return {};
}

/// Rejects an option of the whole job in a later section: it would look as if it were the
/// section's.
Result<void> check_later_section(const ParsedOptions& options) {
  for (const std::string& name : options.given) {
    const std::string group = group_of(name);
    if (group != kProcessGroup && group != kPlacementGroup)
      return usage(
          fmt::format("-{} is an option of the whole job: put it before the first program", name));
  }
  return {};
}

/// Returns the section that options and a command describe.
Section make_section(const OptionValues& values, int procs, std::vector<std::string> command) {
  Section section;
  section.procs = procs;
  section.command = std::move(command);
  section.gateways = values.gateways;
  section.mpi = values.mpi;
  section.environment = values.environment;
  section.directory = values.directory;
  section.placement = values.placement;
  section.launcher_arguments = values.launcher_arguments;
  return section;
}

/// Divides N processes over K systems; the first systems get the remainder.
Result<std::vector<Section>> split_over_systems(const OptionValues& values,
                                                const std::vector<std::string>& command) {
  if (values.procs < values.systems) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("{} processes cannot be split over {} systems: give -n a larger number",
                    values.procs, values.systems)};
  }
  std::vector<Section> sections;
  for (int system = 0; system < values.systems; ++system) {
    const int procs =
        values.procs / values.systems + (system < values.procs % values.systems ? 1 : 0);
    sections.push_back(make_section(values, procs, command));
  }
  return sections;
}

/// Rejects options that only a launcher can obey that impirun itself starts.
Result<void> check_own_launcher(const ParsedOptions& options) {
  constexpr std::array<std::string_view, 7> kLaunchers = {
      "np", "hosts", "hostfile", "ppn", "bind-to", "map-by", kLauncherArguments};
  for (const std::string_view name : kLaunchers) {
    if (has(options, name))
      return usage(fmt::format(
          "-{} has no effect on a launcher's command behind --: say it there, in its own words",
          name));
  }
  return {};
}

Result<void> fill_client(CommandLine& line, const ParsedOptions& options,
                         const std::vector<std::string>& words) {
  line.mode = CommandLine::Mode::kClient;
  const auto& text = options.values.client[0];
  const auto client = parse_number<int>(text.c_str());
  if (!client || *client < 0 || *client >= kMostSystems) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("-client {}: a client's number from 0 to 31 is needed", text)};
  }
  line.client = *client;
  line.server = options.values.client[1];
  line.own_launcher = options.program < words.size() && words[options.program] == "--";
  const std::size_t first = options.program + (line.own_launcher ? 1 : 0);
  if (first >= words.size()) return usage("-client needs a program to run");
  if (!line.own_launcher && options.values.procs == 0)
    return usage("-client needs -np N, or -- and a launcher's command");
  if (line.own_launcher) {
    auto fits = check_own_launcher(options);
    if (!fits) return fits;
  }
  line.sections.push_back(
      make_section(options.values, options.values.procs,
                   {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()}));
  return {};
}

/// Rejects a section's colon that is not separated from the next option. The program would get
/// everything after it as arguments.
Result<void> check_colons(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const auto option = word.rfind(":-", 0) == 0 ? option_name(word.substr(1)) : std::nullopt;
    if (!option || !is_option(*option)) continue;
    return Error{ErrorKind::kConfiguration,
                 fmt::format("\"{}\": a space is needed between : and {}", word, word.substr(1))};
  }
  return {};
}

/// Replaces `-configfile FILE` by the sections of the file.
Result<std::vector<std::string>> with_configuration_file(const std::vector<std::string>& words) {
  auto options = parse_options(words, 0);
  if (!options) return options.error();
  const std::string& file = options->values.configuration_file;
  if (file.empty()) return words;
  if (options->program != words.size())
    return usage("-configfile stands instead of programs: put this program into the file");
  auto sections = read_configuration_file(file);
  if (!sections) return sections.error();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (option_name(words[i]) == "configfile") {
      ++i;
      continue;
    }
    all.push_back(words[i]);
  }
  all.insert(all.end(), sections->begin(), sections->end());
  return all;
}

/// Takes the options of the whole job, which stand in the first section.
void fill_job(CommandLine& line, const OptionValues& values) {
  line.host_procs = values.host_procs;
  line.verbose = values.verbose;
  line.quiet = values.quiet;
  line.dry_run = values.dry_run;
  line.label = values.label;
  line.out_pattern = values.out_pattern;
  line.error_pattern = values.error_pattern;
  line.timeout_s = values.timeout;
  line.port = values.port;
}

/// Fills in a form that looks into a running job. Returns false if the options ask for another
/// form.
Result<bool> fill_watch(CommandLine& line, const ParsedOptions& options, bool program) {
  const OptionValues& values = options.values;
  struct Form {
    CommandLine::Mode mode;
    const char* name;
    const std::string& server;
    std::vector<std::string_view> allowed;
  };
  const std::array<Form, 3> forms = {{
      {CommandLine::Mode::kWhy, "why", values.why, {"why", "json"}},
      {CommandLine::Mode::kTop, "top", values.top, {"top", "once", "json"}},
      {CommandLine::Mode::kMetrics, "metrics", values.metrics, {"metrics"}},
  }};
  const auto form =
      std::ranges::find_if(forms, [](const Form& each) { return !each.server.empty(); });
  if (form == forms.end()) {
    if (values.once) return usage("-once belongs to -top");
    if (values.json) return usage("-json belongs to -check, -why and -top -once");
    return false;
  }
  const auto other = first_other(options, form->allowed);
  if (!other.empty()) return usage(fmt::format("-{} does not go with -{}", other, form->name));
  if (program) return usage(fmt::format("-{} takes no program", form->name));
  if (form->mode == CommandLine::Mode::kTop && values.json && !values.once)
    return usage("-json needs -once");
  line.mode = form->mode;
  line.server = form->server;
  line.once = values.once;
  line.json = values.json;
  return true;
}

/// Fills in a form that starts no program. Returns false if the options ask for another form.
Result<bool> fill_alone(CommandLine& line, const ParsedOptions& options,
                        const std::vector<std::string>& words) {
  const OptionValues& values = options.values;
  if (values.help) {
    line.mode = CommandLine::Mode::kHelp;
    line.help = help_text();
    return true;
  }
  if (values.version) {
    line.mode = CommandLine::Mode::kVersion;
    return true;
  }
  if (values.new_key || values.new_secret) {
    line.mode = values.new_key ? CommandLine::Mode::kNewKey : CommandLine::Mode::kNewSecret;
    if (words.size() > 1)
      return usage(values.new_key ? "-new-key stands alone" : "-new-secret stands alone");
    return true;
  }
  if (!values.check.empty())
    return usage("-check comes first: impirun -check job.toml, or impirun -check ADDRESS:PORT");
  const bool program = options.program < words.size();
  auto watch = fill_watch(line, options, program);
  if (!watch || *watch) return watch;
  auto form = check_form(options);
  if (!form) return form.error();
  if (values.name_server) {
    line.mode = CommandLine::Mode::kNameServer;
    if (program || !first_other(options, {"name-server", "port"}).empty())
      return usage("-name-server goes with -port alone");
    return true;
  }
  if (!values.job_file.empty()) {
    line.mode = CommandLine::Mode::kJobFile;
    line.job_file = values.job_file;
    if (program) return usage("-file takes no program: the job file names the programs");
    const auto other = first_other(options, {"file", "timeout", "dry-run", "label",
                                             "outfile-pattern", "errfile-pattern", "v", "q"});
    if (!other.empty())
      return usage(fmt::format("-{} does not go with -file: write it into the job file", other));
    return true;
  }
  if (values.server == 0) return false;
  line.mode = CommandLine::Mode::kServer;
  if (program) return usage("-server takes no program: the systems start it");
  line.clients = values.server;
  line.preference = values.auth;
  line.relay = values.relay;
  return true;
}

/// Gives each section what the first one says for all: variables, and the MPI library unless the
/// section names its own.
void share_with_sections(CommandLine& line, const OptionValues& first) {
  for (Section& section : line.sections) {
    section.environment.insert(section.environment.begin(), first.job_environment.begin(),
                               first.job_environment.end());
    if (section.mpi.empty()) section.mpi = first.mpi;
  }
}

/// Fills in the sections of a local form, whose first one has been parsed.
Result<void> fill_sections(CommandLine& line, const ParsedOptions& first,
                           const std::vector<std::string>& words) {
  ParsedOptions options = first;
  for (bool later = false;; later = true) {
    if (later) {
      auto fits = check_form(options);
      if (fits) fits = check_later_section(options);
      if (!fits) return fits;
    }
    if (options.values.procs == 0) return usage("-np N is missing");
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(options.program);
    const auto end = std::find(begin, words.end(), ":");
    std::vector<std::string> command(begin, end);
    if (command.empty()) return usage("a program is missing");
    auto colons = check_colons(command);
    if (!colons) return colons;
    if (options.values.systems != 0) {
      if (end != words.end()) return usage("-systems and sections with : exclude each other");
      auto sections = split_over_systems(options.values, command);
      if (!sections) return sections.error();
      line.sections = std::move(*sections);
      return {};
    }
    line.sections.push_back(make_section(options.values, options.values.procs, std::move(command)));
    if (line.sections.size() > kMostSystems)
      return usage("more than 32 systems cannot be joined (IMPI's client mask has 32 bits)");
    if (end == words.end()) return {};
    auto next = parse_options(words, static_cast<std::size_t>(end - words.begin()) + 1);
    if (!next) return next.error();
    options = std::move(*next);
  }
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& given_words) {
  if (given_words.empty())
    return usage("nothing to do: neither -server, nor -client, nor -np N program");
  auto words = with_configuration_file(given_words);
  if (!words) return words.error();
  auto options = parse_options(*words, 0);
  if (!options) return options.error();
  CommandLine line;
  auto alone = fill_alone(line, *options, *words);
  if (!alone) return alone.error();
  fill_job(line, options->values);
  if (*alone) return line;
  auto filled = options->values.client.empty() ? fill_sections(line, *options, *words)
                                               : fill_client(line, *options, *words);
  if (!filled) return filled.error();
  share_with_sections(line, options->values);
  return line;
}

}  // namespace impishim::launch
