#include "wire/launch/launch_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "wire/launch/program.hpp"

namespace impishim::launch {
namespace {

/// env(1) and the variables that make a program join.
Result<std::vector<std::string>> environment_words(const Section& section, const std::string& mpi, int host_procs,
                                                   const std::string& server, int client) {
  auto library = shim_library(mpi);
  if (!library) return library.error();
  const char* before = secure_getenv("LD_PRELOAD");
  std::string preload = "LD_PRELOAD=" + *library;
  if (before != nullptr && *before != '\0') preload = fmt::format("LD_PRELOAD={}:{}", before, *library);
  std::vector<std::string> words = {"env", preload, "IMPISHIM_SERVER=" + server, fmt::format("IMPISHIM_CLIENT={}", client)};
  if (host_procs > 0) words.push_back(fmt::format("IMPISHIM_HOST_PROCS={}", host_procs));
  if (!section.gateways.empty()) words.push_back("IMPISHIM_GATEWAY=" + section.gateways);
  for (const char* name : {"IMPI_AUTH_KEY", "IMPI_AUTH_NONE"}) {
    // Some launchers do not pass the whole environment on.
    if (const char* value = secure_getenv(name); value != nullptr) words.push_back(fmt::format("{}={}", name, value));
  }
  return words;
}

Result<std::string> choose_mpi(const std::string& forced, const std::string& program) {
  if (!forced.empty()) return forced;
  auto mpi = mpi_of_program(program);
  if (!mpi) return mpi.error();
  if (*mpi) return **mpi;
  return Error{
      ErrorKind::kConfiguration,
      fmt::format(
          "{} is not an MPI program: it needs neither libmpich nor libmpi (for a script or an interpreter that loads MPI "
          "later, say which with -mpi mpich or -mpi openmpi)",
          program)};
}

/// `-- CMD...`: the first word that is an MPI program gets env in front of it.
Result<std::vector<std::string>> plan_own_launcher(const Section& section, const std::string& forced, int host_procs,
                                                   const std::string& server, int client) {
  auto launcher = find_program(section.command.front());
  if (!launcher) return launcher.error();
  std::optional<std::size_t> program;
  std::string mpi;
  for (std::size_t i = 0; i < section.command.size(); ++i) {
    auto path = find_program(section.command[i]);
    if (!path) continue;
    auto its_mpi = mpi_of_program(*path);
    if (!its_mpi || !*its_mpi) continue;
    program = i;
    mpi = **its_mpi;
    if (i > 0) break;  // the first word may be a launcher that is linked with its own MPI library
  }
  if (!forced.empty()) mpi = forced;
  if (!program && section.command.size() == 1) program = 0;
  if (!program || mpi.empty()) {
    return Error{ErrorKind::kConfiguration, fmt::format("no word of \"{} ...\" is an MPI program: give its path, or put `env "
                                                        "LD_PRELOAD=<libimpishim.so> IMPISHIM_SERVER={} "
                                                        "IMPISHIM_CLIENT={}` in front of the program yourself",
                                                        section.command.front(), server, client)};
  }
  auto environment = environment_words(section, mpi, host_procs, server, client);
  if (!environment) return environment.error();
  std::vector<std::string> words = section.command;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(*program), environment->begin(), environment->end());
  return words;
}

}  // namespace

void share_processors(int procs) {
  constexpr int kKeepTheUsers = 0;
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", kKeepTheUsers);
  const auto processors = std::thread::hardware_concurrency();
  if (processors != 0 && static_cast<unsigned>(procs) > processors) setenv("OMPI_MCA_mpi_yield_when_idle", "1", kKeepTheUsers);
}

Result<std::vector<std::string>> plan_launch(const Section& section, bool own_launcher, const std::string& mpi, int host_procs,
                                             const std::string& server, int client, ScratchFolder* scratch) {
  if (own_launcher) return plan_own_launcher(section, mpi, host_procs, server, client);
  auto program = find_program(section.command.front());
  if (!program) return program.error();
  auto chosen = choose_mpi(mpi, *program);
  if (!chosen) return chosen.error();
  auto environment = environment_words(section, *chosen, host_procs, server, client);
  if (!environment) return environment.error();
  auto launcher = launcher_of(*chosen);
  if (!launcher) return launcher.error();
  std::vector<std::string> words = {*launcher};
  if (*chosen == "openmpi") {
    if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
    words.emplace_back("--oversubscribe");
    // All launchers of a user share one folder, and whichever ends last removes it: another that starts just then fails.
    if (scratch != nullptr && secure_getenv("OMPI_MCA_orte_tmpdir_base") == nullptr) {
      auto folder = scratch->path();
      if (!folder) return folder.error();
      words.insert(words.end(), {"--mca", "orte_tmpdir_base", *folder / std::to_string(client)});
    }
  }
  words.emplace_back("-n");
  words.push_back(std::to_string(section.procs));
  words.insert(words.end(), environment->begin(), environment->end());
  words.push_back(*program);
  words.insert(words.end(), section.command.begin() + 1, section.command.end());
  return words;
}

}  // namespace impishim::launch
