// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const char* text) {
  std::vector<std::string> parts;
  std::istringstream stream(text == nullptr ? "" : text);
  for (std::string part; std::getline(stream, part, ':');)
    parts.push_back(part.empty() ? "." : part);
  return parts;
}

bool executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// The libraries that an ELF file needs, and the directories where it requests to search for them.
struct Dependencies {
  std::vector<std::string> needed;
  std::vector<std::string> directories;
};

Dependencies read_dependencies(const fs::path& path) {
  Dependencies found;
  elf_version(EV_CURRENT);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(file.get(), ELF_C_READ, nullptr),
                                                     elf_end);
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return found;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC ||
        header.sh_entsize == 0)
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (std::size_t i = 0; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) break;
      const char* text = elf_strptr(elf.get(), header.sh_link, entry.d_un.d_val);
      if (text == nullptr) continue;
      if (entry.d_tag == DT_NEEDED) found.needed.emplace_back(text);
      if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
      for (std::string directory : split(text)) {
        if (const auto at = directory.find("$ORIGIN"); at != std::string::npos)
          directory.replace(at, 7, path.parent_path().string());
        found.directories.push_back(directory);
      }
    }
  }
  return found;
}

/// Returns the MPI that a library with this soname belongs to. All members of the MPICH ABI family
/// use libmpi.so.12, and all libraries of the standard ABI (MPI 5.0, chapter 20) libmpi_abi.so.0.
std::optional<std::string> mpi_of_soname(const std::string& soname) {
  if (soname.rfind("libmpich.so", 0) == 0 || soname == "libmpi.so.12") return "mpich";
  if (soname == "libmpi.so.40") return "openmpi";
  if (soname.rfind("libmpi_abi.so", 0) == 0) return "abi";
  return std::nullopt;
}

std::vector<std::string> library_directories() {
  std::vector<std::string> directories = split(secure_getenv("LD_LIBRARY_PATH"));
  for (const char* standard : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                               "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
                               "/usr/lib64", "/usr/local/lib", "/lib", "/usr/lib"}) {
    directories.emplace_back(standard);
  }
  return directories;
}

std::optional<std::string> search(const fs::path& path, std::set<std::string>& seen) {
  const Dependencies dependencies = read_dependencies(path);
  for (const std::string& soname : dependencies.needed) {
    if (auto mpi = mpi_of_soname(soname)) return mpi;
  }
  std::vector<std::string> directories = dependencies.directories;
  for (std::string& directory : library_directories()) directories.push_back(std::move(directory));
  for (const std::string& soname : dependencies.needed) {
    if (!seen.insert(soname).second) continue;
    for (const std::string& directory : directories) {
      std::error_code error;
      const fs::path candidate = fs::path(directory) / soname;
      if (!fs::is_regular_file(candidate, error)) continue;
      if (auto mpi = search(candidate, seen)) return mpi;
      break;
    }
  }
  return std::nullopt;
}

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

/// Returns the words of a user's launcher. `told` names its source in messages.
Result<std::vector<std::string>> launcher_command(std::string_view text, const std::string& told) {
  auto words = split_words(text);
  if (!words) return configuration(fmt::format("{}: {}", told, words.error().text));
  if (words->empty()) return configuration(fmt::format("{}: a launcher's command is needed", told));
  auto found = find_program(words->front());
  if (!found) return configuration(fmt::format("{}: {}", told, found.error().text));
  words->front() = *found;
  return words;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    if (!fs::exists(name, error)) return configuration(fmt::format("program not found: {}", name));
    if (!executable(name)) return configuration(fmt::format("{} is not an executable file", name));
    return name;
  }
  for (const std::string& directory : split(secure_getenv("PATH"))) {
    if (const fs::path candidate = fs::path(directory) / name; executable(candidate))
      return candidate.string();
  }
  return configuration(
      fmt::format("program not found: {} (it is not in PATH; a program of this directory is ./{})",
                  name, name));
}

Result<std::string> find_program(const std::string& name, const std::string& directory) {
  if (directory.empty()) return find_program(name);
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return configuration(fmt::format("-wdir {}: there is no such directory here", directory));
  if (name.find('/') == std::string::npos || name[0] == '/') return find_program(name);
  auto found = find_program(fs::path(directory) / name);
  if (!found) found = find_program(name);
  return found ? Result<std::string>(fs::absolute(*found, error).lexically_normal().string())
               : found;
}

Result<std::optional<std::string>> mpi_of_program(const std::string& path) {
  std::set<std::string> seen;
  return search(path, seen);
}

Result<std::string> shim_library(const std::string& mpi) {
  if (const char* chosen = secure_getenv("IMPISHIM_LIBRARY"); chosen != nullptr) {
    if (access(chosen, R_OK) != 0)
      return configuration(fmt::format("IMPISHIM_LIBRARY={} cannot be read", chosen));
    return std::string(chosen);
  }
  std::error_code error;
  auto own = own_program();
  if (!own) return own;
  const fs::path library =
      fs::path(*own).parent_path().parent_path() / "lib" / "impishim" / mpi / "libimpishim.so";
  if (!fs::exists(library, error)) {
    return configuration(
        fmt::format("the program uses {}, but no libimpishim.so is built for it: {} is missing "
                    "(install that MPI's development "
                    "files and build again)",
                    mpi, library.string()));
  }
  return library.string();
}

Result<std::vector<std::string>> launcher_of(const std::string& mpi, const std::string& chosen) {
  const char* variable = secure_getenv("IMPISHIM_MPIEXEC");
  if (!chosen.empty()) return launcher_command(chosen, chosen);
  if (variable != nullptr)
    return launcher_command(variable, fmt::format("IMPISHIM_MPIEXEC={}", variable));
  std::vector<std::string> names = {"mpiexec." + mpi, "mpiexec"};
  if (mpi == "mpich") names.insert(names.begin() + 1, "mpiexec.hydra");
  for (const std::string& name : names) {
    if (auto found = find_program(name)) return std::vector<std::string>{*found};
  }
  return configuration(
      fmt::format("no mpiexec of {} is in PATH; name it with IMPISHIM_MPIEXEC", mpi));
}

}  // namespace impishim::launch
