// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/check/facts.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {
namespace {

namespace fs = std::filesystem;

/// The names of each MPI library for the loader, as the shim needs them.
struct Kind {
  const char* name;
  std::array<const char*, 2> files;
};
constexpr std::array<Kind, 3> kKinds = {{{"mpich", {"libmpich.so.12", "libmpi.so.12"}},
                                         {"openmpi", {"libmpi.so.40", nullptr}},
                                         {"abi", {"libmpi_abi.so.0", nullptr}}}};

/// MPI_MAX_LIBRARY_VERSION_STRING of all libraries is at most this.
constexpr std::size_t kMostVersion = 8192;

/// Keeps what a library prints out of the report, and ends the child with its parent.
void separate_child(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) _exit(1);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
}

/// Writes to `out` in the child: "+" and the version, or "-" and the reason.
void tell_version(const char* file, int out) {
  using GetVersion = int (*)(char*, int*);
  std::string answer;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, "MPI_Get_library_version");
  if (function == nullptr) {
    const char* reason = dlerror();
    answer = fmt::format("-{}", reason == nullptr ? "it cannot be loaded" : reason);
  } else {
    std::vector<char> text(kMostVersion + 1, '\0');
    int length = 0;
    reinterpret_cast<GetVersion>(function)(text.data(), &length);
    answer = fmt::format("+{}", text.data());
  }
  // The reader takes a shorter answer as it is.
  [[maybe_unused]] const auto written = write(out, answer.data(), answer.size());
}

/// Reads until the end, for a few seconds at most.
std::string read_answer(int in) {
  using Clock = std::chrono::steady_clock;
  std::string answer;
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (answer.size() <= kMostVersion) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd polled{in, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&polled, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "-it has not answered within 20 s";
    std::array<char, 4096> part{};
    const auto count = read(in, part.data(), part.size());
    if (count <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(count));
  }
  return answer;
}

/// Asks a library for its version, in a child: libraries of two MPIs do not fit into one process,
/// and their start may do anything.
std::string ask_library(const char* file) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "-no pipe can be made";
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return "-no process can be made";
  if (child == 0) {
    separate_child(parent);
    tell_version(file, out.get());
    _exit(0);
  }
  out.reset();
  std::string answer = read_answer(in.get());
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return answer.empty() ? "-it has ended the process that opened it" : answer;
}

/// Returns the first line behind the first character, with one space between words.
std::string first_line(const std::string& answer) {
  std::istringstream words(answer.substr(1, answer.find('\n', 1) - 1));
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return printable(line, 200);
}

MpiLibrary inspect(const Kind& kind) {
  MpiLibrary library;
  library.name = kind.name;
  for (const char* file : kind.files) {
    if (file == nullptr) break;
    const std::string answer = ask_library(file);
    const std::string text = first_line(answer);
    library.file = file;
    const bool found = answer.front() == '+';
    (found ? library.version : library.error) = text;
    if (!found) continue;
    library.error.clear();
    break;
  }
  return library;
}

/// Describes the library that a user has chosen. The name of its folder says which MPI it is for.
MpiLibrary inspect_chosen(const fs::path& chosen) {
  const std::string name = chosen.parent_path().filename();
  const auto* kind = std::ranges::find(kKinds, name, &Kind::name);
  MpiLibrary library{name, chosen, "not known, because of IMPISHIM_LIBRARY", ""};
  if (kind != kKinds.end()) library = inspect(*kind);
  if (access(chosen.c_str(), R_OK) != 0)
    library.error = fmt::format("IMPISHIM_LIBRARY={} cannot be read", chosen.string());
  return library;
}

}  // namespace

std::vector<MpiLibrary> find_mpi_libraries() {
  if (const char* chosen = secure_getenv("IMPISHIM_LIBRARY"); chosen != nullptr)
    return {inspect_chosen(chosen)};
  std::vector<MpiLibrary> libraries;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = own.parent_path().parent_path() / "lib" / "impishim";
  for (const Kind& kind : kKinds)
    if (fs::exists(folder / kind.name / "libimpishim.so", error))
      libraries.push_back(inspect(kind));
  return libraries;
}

}  // namespace impishim::check
