// SPDX-License-Identifier: Apache-2.0
#include "wire/port/spawned_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

/// Beginnings of the variables by which launchers tell a process who it is. Another launcher that
/// finds them takes itself for that process.
constexpr std::array<std::string_view, 18> kOfLaunchers = {"PMI_",
                                                           "PMI2_",
                                                           "PMIX_",
                                                           "HYDI_",
                                                           "MPI_LOCALNRANKS",
                                                           "MPI_LOCALRANKID",
                                                           "OMPI_COMM_WORLD_",
                                                           "OMPI_UNIVERSE_SIZE",
                                                           "OMPI_APP_CTX",
                                                           "OMPI_NUM_APP_CTX",
                                                           "OMPI_FIRST_RANKS",
                                                           "OMPI_FILE_LOCATION",
                                                           "OMPI_ARGV",
                                                           "OMPI_COMMAND",
                                                           "OMPI_MCA_orte_",
                                                           "OMPI_MCA_ess",
                                                           "OMPI_MCA_pmix",
                                                           "OMPI_MCA_initial_wdir"};

/// Variables of this process's own job.
constexpr std::array<std::string_view, 8> kOfThisJob = {
    "IMPISHIM_LISTEN_ADDRESS=", "IMPISHIM_SERVER=",   "IMPISHIM_CLIENT=",
    "IMPISHIM_HOST_ADDRESS=",   "IMPISHIM_GATEWAY=",  "IMPISHIM_GATEWAY_ADDRESS=",
    "IMPISHIM_PARENT=",         "IMPISHIM_SPAWN_MPI="};

bool begins_as_one(std::string_view entry, auto& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return entry.starts_with(each); });
}

/// Returns LD_PRELOAD without this library: the launcher puts it in front of the program itself.
std::string without_this_library(std::string_view entry) {
  constexpr std::string_view kName = "LD_PRELOAD=";
  std::string kept;
  std::string_view rest = entry.substr(kName.size());
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string_view one = rest.substr(0, end);
    if (!one.empty() && one.find("libimpishim") == std::string_view::npos)
      kept.append(kept.empty() ? kName : ":").append(one);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& each : texts) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

/// What the launcher does before it runs: it reads nothing, and keeps no descriptor of this process
/// but its outputs.
class FileActions {
 public:
  explicit FileActions(const std::string& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> launcher_words(const SpawnPlan& plan) {
  std::vector<std::string> words{plan.impirun};
  for (const SpawnedProgram& program : plan.programs) {
    if (words.size() > 1) words.emplace_back(":");
    words.insert(words.end(), {"-np", std::to_string(program.procs)});
    words.insert(words.end(), program.words.begin(), program.words.end());
  }
  return words;
}

std::vector<std::string> launcher_environment(const SpawnPlan& plan,
                                              const std::vector<std::string>& before) {
  std::vector<std::string> kept;
  for (const std::string& entry : before) {
    if (begins_as_one(entry, kOfLaunchers) || begins_as_one(entry, kOfThisJob)) continue;
    const std::string wanted =
        entry.starts_with("LD_PRELOAD=") ? without_this_library(entry) : entry;
    if (!wanted.empty()) kept.push_back(wanted);
  }
  kept.push_back(fmt::format("{}={}", kParentVariable, plan.port));
  kept.push_back("IMPISHIM_HOST_ADDRESS=" + plan.address);
  kept.push_back("IMPISHIM_SPAWN_MPI=" + plan.mpi);
  return kept;
}

Result<SpawnedJob> SpawnedJob::start(const SpawnPlan& plan) {
  std::vector<std::string> words = launcher_words(plan);
  std::vector<std::string> environment = launcher_environment(plan, own_environment());
  const FileActions actions(plan.folder);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, plan.impirun.c_str(), actions.get(), nullptr,
                                pointers_to(words).data(), pointers_to(environment).data());
  if (error != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot run {}: {}", plan.impirun, std::strerror(error))};
  }
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) {
    return Error{ErrorKind::kSystem, fmt::format("pidfd_open failed: {}", std::strerror(errno))};
  }
  return SpawnedJob(pid, std::move(process));
}

std::string SpawnedJob::how_it_ended() const {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) return "impirun has ended before the new processes had connected";
  }
  const std::string how = WIFEXITED(status) ? fmt::format("status {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status));
  return fmt::format(
      "impirun has ended with {} before the new processes had connected: its messages name the "
      "cause",
      how);
}

Result<std::string> find_launcher(const std::string& library) {
  if (const char* named = secure_getenv("IMPISHIM_IMPIRUN"); named != nullptr) {
    if (is_program(named)) return std::string(named);
    return Error{ErrorKind::kConfiguration,
                 fmt::format("IMPISHIM_IMPIRUN={} is not a program", named)};
  }
  // PREFIX/lib/impishim/<mpi>/libimpishim.so, and PREFIX/bin/impirun.
  std::error_code error;
  for (auto folder = std::filesystem::weakly_canonical(library, error).parent_path();
       folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_program(folder / "bin" / "impirun")) return (folder / "bin" / "impirun").string();
  }
  std::string_view rest = secure_getenv("PATH") == nullptr ? "" : secure_getenv("PATH");
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::filesystem::path path = std::filesystem::path(rest.substr(0, end)) / "impirun";
    if (is_program(path)) return path.string();
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return Error{ErrorKind::kConfiguration,
               "impirun, which starts the new processes, is not found: set IMPISHIM_IMPIRUN to its "
               "path"};
}

}  // namespace impishim::wire
