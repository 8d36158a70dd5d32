// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/remote_start.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

constexpr std::string_view kMagic = "impishim-start 1 ";
constexpr std::size_t kLongest = std::size_t{1} << 20;
constexpr std::size_t kLongestFirstLine = 64;

/// Variables that speak of one machine, or that name files there.
constexpr std::array<std::string_view, 18> kOfThisMachine = {
    "IMPISHIM_HOST_ADDRESS", "IMPISHIM_LISTEN_ADDRESS", "IMPISHIM_PORT",
    "IMPISHIM_LIBRARY",      "IMPISHIM_MPIEXEC",        "IMPISHIM_IMPIRUN",
    "IMPISHIM_SECRET_FILE",  "IMPISHIM_CERTIFICATE",    "IMPISHIM_PRIVATE_KEY",
    "IMPISHIM_AUTHORITY",    "IMPISHIM_SERVER_NAME",    "IMPISHIM_SERVER",
    "IMPISHIM_CLIENT",       "IMPISHIM_GATEWAY",        "IMPISHIM_GATEWAY_ADDRESS",
    "IMPISHIM_RANK_PIPE",    "IMPISHIM_PARENT",         "IMPISHIM_SPAWN_MPI"};

Error damaged(std::string_view why) {
  return Error{ErrorKind::kProtocol,
               fmt::format("-remote-start is for impirun's own use, by -file: {}", why)};
}

std::vector<std::string> split_records(std::string_view bytes) {
  std::vector<std::string> records;
  while (!bytes.empty()) {
    const auto end = bytes.find('\0');
    records.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  return records;
}

/// Appends an option and its value if the value is not empty.
void add(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (!value.empty()) words.insert(words.end(), {option, value});
}

void add_section(std::vector<std::string>& words, const Section& section) {
  for (const Variable& variable : section.environment) {
    if (variable.value) {
      words.insert(words.end(), {"-env", variable.name, *variable.value});
    } else {
      words.insert(words.end(), {"-x", variable.name});
    }
  }
  add(words, "-wdir", section.directory);
  add(words, "-mpi", section.mpi);
  add(words, "-gateway", section.gateways);
  add(words, "-hosts", section.placement.hosts);
  add(words, "-hostfile", section.placement.host_file);
  if (section.placement.per_node != 0)
    add(words, "-ppn", std::to_string(section.placement.per_node));
  add(words, "-bind-to", section.placement.bind_to);
  add(words, "-map-by", section.placement.map_by);
  if (!section.launcher_arguments.empty()) {
    words.emplace_back("-mpiexec-args");
    words.insert(words.end(), section.launcher_arguments.begin(), section.launcher_arguments.end());
    words.emplace_back("--");
  }
  add(words, "-np", std::to_string(section.procs));
  words.insert(words.end(), section.command.begin(), section.command.end());
}

}  // namespace

std::string RemoteStart::encode() const {
  std::string body = std::to_string(first_rank) + '\0' + std::to_string(variables.size()) + '\0';
  for (const auto* records : {&variables, &words}) {
    for (const std::string& record : *records) body += record + '\0';
  }
  return fmt::format("{}{}\n", kMagic, body.size()) + body;
}

Result<RemoteStart> RemoteStart::read_from(int descriptor) {
  std::string line;
  for (char each = 0; each != '\n'; line += each) {
    if (line.size() > kLongestFirstLine || !read_exactly(descriptor, &each, 1))
      return damaged("standard input does not begin with a description of the start");
  }
  line.pop_back();
  const auto size = line.rfind(kMagic, 0) == 0
                        ? parse_number<std::size_t>(line.c_str() + kMagic.size())
                        : std::nullopt;
  if (!size)
    return damaged(
        "the description has another form; is impirun of the same version on both machines?");
  if (*size > kLongest) return damaged("the description is too long");
  std::string body(*size, '\0');
  if (!read_exactly(descriptor, body.data(), body.size())) return damaged("the description is cut");
  const auto records = split_records(body);
  if (records.size() < 2) return damaged("the description cannot be read");
  const auto first_rank = parse_number<int>(records[0].c_str());
  const auto count = parse_number<std::size_t>(records[1].c_str());
  if (!first_rank || *first_rank < kRankUnknown || !count || *count > records.size() - 2)
    return damaged("the description cannot be read");
  const auto first = records.begin() + 2;
  const auto middle = first + static_cast<std::ptrdiff_t>(*count);
  return RemoteStart{{first, middle}, {middle, records.end()}, *first_rank};
}

RemoteStart make_remote_start(const CommandLine& line, const JobSystem& system, int client,
                              int first_rank, const std::string& server) {
  RemoteStart start;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name != "IMPI_AUTH_KEY" && name != "IMPI_AUTH_NONE" && name.rfind("IMPISHIM_", 0) != 0)
      continue;
    if (std::find(kOfThisMachine.begin(), kOfThisMachine.end(), name) == kOfThisMachine.end())
      start.variables.emplace_back(variable);
  }
  for (const Variable& variable : system.section.environment) {
    const char* own = variable.value ? nullptr : secure_getenv(variable.name.c_str());
    if (own != nullptr) start.variables.push_back(fmt::format("{}={}", variable.name, own));
  }
  if (!system.section.launcher.empty())
    start.variables.push_back("IMPISHIM_MPIEXEC=" + system.section.launcher);
  start.first_rank = first_rank;
  start.words = {"-client", std::to_string(client), server};
  if (line.label) start.words.emplace_back("-label");
  add(start.words, "-outfile-pattern", line.out_pattern);
  add(start.words, "-errfile-pattern", line.error_pattern);
  if (!line.host_procs.empty() && system.section.gateways.empty())
    add(start.words, "-host-procs", line.host_procs);
  add_section(start.words, system.section);
  return start;
}

std::vector<std::string> remote_command(const JobSystem& system, int tunnel_port) {
  std::vector<std::string> words = system.ssh;
  if (std::filesystem::path(words.front()).filename() == "ssh") {
    // Without a terminal there is no one to answer a question.
    words.insert(words.end(), {"-T", "-o", "BatchMode=yes"});
    if (tunnel_port != 0)
      words.insert(words.end(),
                   {"-o", "ExitOnForwardFailure=yes", "-R",
                    fmt::format("127.0.0.1:{}:127.0.0.1:{}", tunnel_port, tunnel_port)});
    words.emplace_back("--");
  }
  words.push_back(system.host);
  // A shell reads the command there. Only ~/ keeps its meaning.
  const std::string& path = system.impirun;
  const bool home = path.rfind("~/", 0) == 0;
  words.push_back(fmt::format("{}{} {}", home ? "~/" : "", shell_word(home ? path.substr(2) : path),
                              kRemoteOption));
  return words;
}

}  // namespace impishim::launch
