// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/option_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/launch/options/option_definitions.hpp"
#include "wire/launch/options/shell_words.hpp"

namespace impishim::launch {
namespace {

constexpr std::string_view kSummary =
    "Starts and joins MPI jobs of several systems: one MPI_COMM_WORLD over all of them.";

constexpr std::array<std::string_view, 14> kForms = {
    "impirun -np N program args... : -np N program args...",
    "impirun -systems K -n N program args...",
    "impirun -file job.toml",
    "impirun -server N [-port P] [-relay] [-auth LIST] [-timeout S]",
    "impirun -client I ADDRESS:PORT -np N program args...",
    "impirun -client I ADDRESS:PORT -- launcher args... program args...",
    "impirun -check job.toml [-json]",
    "impirun -check ADDRESS:PORT -client I [-np N] [-json]",
    "impirun -why ADDRESS:PORT [-json]",
    "impirun -top ADDRESS:PORT [-once [-json]]",
    "impirun -metrics ADDRESS:PORT",
    "impirun -name-server [-port P]",
    "impirun -new-key",
    "impirun -new-secret",
};

struct Example {
  std::string_view command;
  std::string_view meaning;
};

constexpr std::array<Example, 7> kExamples = {{
    {"impirun -np 2 ./a : -np 2 ./b", "two systems on this machine, joined"},
    {"impirun -label -genv OMP_NUM_THREADS 4 -np 2 ./a : -np 2 -wdir run ./b",
     "the same, with threads, a working directory, and the rank before each line"},
    {"impirun -timeout 60 -systems 2 -n 4 ./a", "four processes in two systems, for 60 s at most"},
    {"impirun -file job.toml -dry-run", "shows what a job file would start"},
    {"impirun -server 2", "the rendezvous; prints ADDRESS:PORT"},
    {"impirun -client 0 192.0.2.17:41223 -hosts n1,n2 -ppn 32 -np 64 ./a", "a system on two nodes"},
    {"impirun -client 1 192.0.2.17:41223 -- srun -n 64 ./a", "a system by another launcher"},
}};

constexpr std::string_view kEnvironment =
    "Authentication: IMPI_AUTH_KEY=<decimal number>, IMPI_AUTH_KEY_FILE=<file that holds it>, or "
    "IMPI_AUTH_NONE in the environment of server and systems. Encryption as well: "
    "IMPISHIM_SECRET_FILE=<file with a secret, mode 0600 (-new-secret)>, or IMPISHIM_CERTIFICATE, "
    "IMPISHIM_PRIVATE_KEY and IMPISHIM_AUTHORITY=<PEM file>. The launcher: "
    "IMPISHIM_MPIEXEC=<command, with options>.";

constexpr std::size_t kColumns = 100;
constexpr std::size_t kTextColumn = 32;

/// Returns `text` in lines of at most kColumns that begin at column `indent`, the first one
/// excepted.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::vector<std::string> groups_of(const std::vector<OptionText>& options) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  }
  return groups;
}

std::string with_default(const OptionText& option) {
  return option.default_text.empty()
             ? option.text
             : fmt::format("{} (default: {})", option.text, option.default_text);
}

/// Returns `text` for man(7): roff reads backslashes, and dashes as hyphens.
std::string roff(std::string_view text) {
  std::string result;
  for (const char each : text) {
    if (each == '\\') {
      result += "\\e";
    } else if (each == '-') {
      result += "\\-";
    } else {
      result += each;
    }
  }
  // A line that begins with a dot or a quote would be a request.
  return result.empty() || (result[0] != '.' && result[0] != '\'') ? result : "\\&" + result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::toupper(each)); });
  return text;
}

/// What a shell proposes behind an option.
std::string completed_by(const OptionText& option) {
  if (option.values == "FILE") return "file";
  if (option.values == "DIR") return "directory";
  if (option.name == "mpi") return "mpich openmpi abi";
  if (option.name == "host-procs") return "auto node";
  if (option.name == "bind-to") return "none hwthread core l1cache l2cache l3cache numa socket";
  if (option.name == "map-by") return "slot node hwthread core l1cache l2cache l3cache numa socket";
  return option.values.empty() ? "" : "none";
}

std::vector<std::string> spellings(const OptionText& option) {
  std::vector<std::string> names = {"-" + option.name};
  for (const std::string& alias : option.aliases) names.push_back("-" + alias);
  return names;
}

}  // namespace

std::string main_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_snames().front() : option.get_lnames().front();
}

std::size_t value_count(const CLI::Option& option) {
  std::istringstream words(option.get_type_name());
  std::size_t count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

std::vector<OptionText> option_texts() {
  CLI::App app;
  OptionValues values;
  define_options(app, values);
  std::vector<OptionText> texts;
  for (const CLI::Option* option : app.get_options()) {
    OptionText text{main_name(*option),        {},
                    option->get_type_name(),   option->get_default_str(),
                    option->get_description(), option->get_group()};
    for (const auto* names : {&option->get_lnames(), &option->get_snames()}) {
      for (const std::string& name : *names) {
        if (name != text.name &&
            std::find(text.aliases.begin(), text.aliases.end(), name) == text.aliases.end())
          text.aliases.push_back(name);
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string help_text() {
  std::string text = fmt::format("{}\n\n", kSummary);
  for (const std::string_view form : kForms) text += fmt::format("  {}\n", form);
  const auto options = option_texts();
  for (const std::string& group : groups_of(options)) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionText& option : options) {
      if (option.group != group) continue;
      const std::string head = fmt::format("  -{} {}", option.name, option.values);
      const std::string gap = head.size() + 1 < kTextColumn
                                  ? std::string(kTextColumn - head.size(), ' ')
                                  : "\n" + std::string(kTextColumn, ' ');
      text += head + gap + wrapped(with_default(option), kTextColumn) + "\n";
    }
  }
  text += "\nExamples:\n";
  for (const Example& example : kExamples)
    text += fmt::format("  {}\n      {}\n", example.command, example.meaning);
  return text + "\n" + wrapped(kEnvironment, 0) + "\n" +
         "The manual page impirun(1) lists further spellings of options.\n";
}

std::string manual_page(const std::string& version) {
  std::string text = fmt::format(
      ".TH IMPIRUN 1 \"\" \"impishim {}\" \"User Commands\"\n.SH NAME\n"
      "impirun \\- start and join MPI jobs of several systems\n.SH SYNOPSIS\n.nf\n",
      version);
  for (const std::string_view form : kForms) text += roff(form) + "\n";
  text += fmt::format(
      ".fi\n.SH DESCRIPTION\n{}\nOptions end at the program's name. One dash or two mean the "
      "same.\n",
      roff(kSummary));
  const auto options = option_texts();
  for (const std::string& group : groups_of(options)) {
    text += fmt::format(".SH {}\n", upper(group));
    for (const OptionText& option : options) {
      if (option.group != group) continue;
      text += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n", roff("-" + option.name), roff(option.values),
                          roff(with_default(option)));
      if (!option.aliases.empty())
        text += fmt::format(".br\nAlso: {}\n",
                            roff(fmt::format("-{}", fmt::join(option.aliases, ", -"))));
    }
  }
  text += ".SH EXAMPLES\n";
  for (const Example& example : kExamples)
    text += fmt::format(".TP\n.B {}\n{}\n", roff(example.command), roff(example.meaning));
  text += fmt::format(".SH ENVIRONMENT\n{}\n", roff(kEnvironment));
  return text +
         ".SH EXIT STATUS\nThat of the program; 128 + n if signal n ended a process; 124 if "
         "\\-timeout ended the job; 1 if the job failed; 2 if what was asked cannot be done; 3 if "
         "\\-why has found ranks that cannot go on. \\-check: 1 if a job cannot run.\n";
}

std::string bash_completion() {
  std::string cases;
  std::vector<std::string> names;
  for (const OptionText& option : option_texts()) {
    const auto all = spellings(option);
    names.insert(names.end(), all.begin(), all.end());
    const std::string by = completed_by(option);
    if (by.empty()) continue;
    std::string action = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", by);
    if (by == "none") action = "COMPREPLY=()";
    if (by == "file") action = "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")";
    if (by == "directory") action = "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")";
    cases +=
        fmt::format("    {})\n      {}\n      return\n      ;;\n", fmt::join(all, " | "), action);
  }
  return fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# Completion of impirun for bash.\n"
      "_impirun() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}}\n"
      "  case ${{COMP_WORDS[COMP_CWORD - 1]}} in\n{}  esac\n"
      "  case $word in\n"
      "    -*)\n"
      "      mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")\n"
      "      ;;\n"
      "    *)\n"
      "      mapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
      "      ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _impirun impirun\n",
      cases, fmt::join(names, " "));
}

std::string zsh_completion() {
  std::string lines;
  for (const OptionText& option : option_texts()) {
    std::string text = option.text;
    // Characters that _arguments reads itself.
    for (const char special : {'[', ']', ':'}) {
      for (auto at = text.find(special); at != std::string::npos; at = text.find(special, at + 2))
        text.insert(at, 1, '\\');
    }
    const std::string by = completed_by(option);
    std::string action = by == "none" ? " " : fmt::format("({})", by);
    if (by == "file") action = "_files";
    if (by == "directory") action = "_files -/";
    std::string values;
    std::istringstream words(option.values);
    for (std::string word; words >> word;) {
      std::erase_if(word, [](char each) { return each == ':' || each == '[' || each == ']'; });
      values += fmt::format(":{}:{}", word, action);
    }
    for (const std::string& name : spellings(option))
      lines += fmt::format("  {} \\\n", shell_word(fmt::format("*{}[{}]{}", name, text, values)));
  }
  return "#compdef impirun\n"
         "# SPDX-License-Identifier: Apache-2.0\n"
         "_arguments \\\n" +
         lines + "  '*::program:_normal'\n";
}

}  // namespace impishim::launch
