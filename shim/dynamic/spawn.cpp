// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_spawn, MPI_Comm_spawn_multiple (MPI-3.1 10.3). The new processes are a job of their own,
// started by impirun on the machine of one process of the communicator, which connect back over a
// port.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "shim/dynamic/group_connection.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/handle/hints.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/mpi_library.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/spawned_job.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// What the root's arguments ask for.
struct SpawnRequest {
  std::vector<wire::SpawnedProgram> programs;
  std::string folder;
  std::int32_t system = -1;  ///< in which the processes are to start; -1: in that of the root
};

/// The arguments of either function, which count at the root alone.
struct SpawnArguments {
  int count;
  const char* const* commands;
  char*** argvs;  ///< null: no program has arguments
  const int* procs;
  const MPI_Info* infos;
};

Error wrong(std::string text) { return {ErrorKind::kConfiguration, std::move(text)}; }

/// Reads the system that the hint asks for.
Result<std::int32_t> wished_system(const Job& job, MPI_Info info) {
  const std::optional<std::string> text = hint(info, "impishim_system");
  if (!text) return -1;
  const char* const end = text->data() + text->size();
  std::int32_t number = -1;
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0 &&
      static_cast<std::size_t>(number) < job.map.at_start().clients().size())
    return number;
  return wrong(
      fmt::format("the hint impishim_system is \"{}\": name a system by its number, 0 to {}", *text,
                  job.map.at_start().clients().size() - 1));
}

Result<SpawnRequest> read_arguments(const Job& job, const SpawnArguments& arguments) {
  SpawnRequest request;
  for (int i = 0; i < arguments.count; ++i) {
    wire::SpawnedProgram& program = request.programs.emplace_back();
    program.procs = arguments.procs[i];
    if (program.procs < 1)
      return wrong(fmt::format("{} processes of \"{}\" are asked for", program.procs,
                               arguments.commands[i]));
    program.words.emplace_back(arguments.commands[i]);
    char** const argv = arguments.argvs == nullptr ? nullptr : arguments.argvs[i];
    for (char** each = argv; each != nullptr && *each != nullptr; ++each)
      program.words.emplace_back(*each);
    const std::string folder = hint(arguments.infos[i], "wdir").value_or("");
    if (i > 0 && folder != request.folder)
      return wrong("the programs of one MPI_Comm_spawn_multiple need the same hint wdir");
    request.folder = folder;
    auto system = wished_system(job, arguments.infos[i]);
    if (!system) return system.error();
    if (i > 0 && *system != request.system)
      return wrong(
          "the programs of one MPI_Comm_spawn_multiple need the same hint impishim_system");
    request.system = *system;
  }
  return request;
}

/// Writes a list of texts that contain no null byte.
std::string pack(const SpawnRequest& request) {
  std::string packed = request.folder + '\0';
  for (const wire::SpawnedProgram& program : request.programs) {
    packed += fmt::format("{} {}", program.procs, program.words.size()) + '\0';
    for (const std::string& word : program.words) packed += word + '\0';
  }
  return packed;
}

SpawnRequest unpack(const std::string& packed) {
  SpawnRequest request;
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = packed.find('\0', at);
    std::string text = packed.substr(at, end - at);
    at = end + 1;
    return text;
  };
  request.folder = next();
  while (at < packed.size()) {
    wire::SpawnedProgram& program = request.programs.emplace_back();
    const std::string numbers = next();
    const std::size_t blank = numbers.find(' ');
    program.procs = std::stoi(numbers);
    for (int words = std::stoi(numbers.substr(blank + 1)); words > 0; --words)
      program.words.push_back(next());
  }
  return request;
}

/// Returns the path of libimpishim.so, beside which impirun is installed.
std::string path_of_this_library() {
  Dl_info info{};
  const auto* const here = reinterpret_cast<const void*>(&path_of_this_library);
  return dladdr(here, &info) == 0 || info.dli_fname == nullptr ? std::string() : info.dli_fname;
}

/// One call of either function.
class Spawn {
 public:
  Spawn(Job& job, const char* function, MPI_Comm comm, int root)
      : job_(job), function_(function), comm_(comm), root_(root) {}

  int run(const SpawnArguments& arguments, MPI_Comm* intercomm, int* codes) {
    *intercomm = MPI_COMM_NULL;
    int inter = 0;
    int code = calls::Comm_test_inter(job_, comm_, &inter);
    if (code == MPI_SUCCESS && inter != 0)
      return raise(comm_, MPI_ERR_COMM, function_, "not for intercommunicators");
    if (code == MPI_SUCCESS) code = calls::Comm_rank(job_, comm_, &rank_);
    if (code != MPI_SUCCESS) return code;
    if (rank_ == root_) read(arguments);
    code = share_request();
    if (code == MPI_SUCCESS) {
      code = connect_groups(
          job_, {function_, comm_, starter_, MPI_ERR_SPAWN, [&] { return start(); }}, intercomm);
    }
    const int each = code == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_SPAWN;
    if (codes != MPI_ERRCODES_IGNORE) std::fill_n(codes, procs_, each);
    return code;
  }

 private:
  void read(const SpawnArguments& arguments) {
    auto request = read_arguments(job_, arguments);
    if (!request) {
      error_ = request.error().text;
      return;
    }
    system_ = request->system;
    for (const wire::SpawnedProgram& each : request->programs) procs_ += each.procs;
    packed_ = pack(*request);
  }

  /// Tells all members what is to be started, and by which of them.
  int share_request() {
    std::array<std::int64_t, 4> numbers{static_cast<std::int64_t>(packed_.size()),
                                        static_cast<std::int64_t>(error_.size()), system_, procs_};
    int code = calls::Bcast(job_, numbers.data(), numbers.size(), MPI_INT64_T, root_, comm_);
    if (code != MPI_SUCCESS) return code;
    packed_.resize(static_cast<std::size_t>(numbers[0]));
    error_.resize(static_cast<std::size_t>(numbers[1]));
    procs_ = static_cast<int>(numbers[3]);
    code = calls::Bcast(job_, packed_.data(), static_cast<int>(packed_.size()), MPI_CHAR, root_,
                        comm_);
    if (code == MPI_SUCCESS)
      code = calls::Bcast(job_, error_.data(), static_cast<int>(error_.size()), MPI_CHAR, root_,
                          comm_);
    if (code != MPI_SUCCESS) return code;
    if (!error_.empty()) return raise(comm_, MPI_ERR_ARG, function_, error_);
    return find_starter(static_cast<std::int32_t>(numbers[2]));
  }

  /// Finds the member that starts the new processes: the root, or the first of the system that the
  /// hint names.
  int find_starter(std::int32_t system) {
    starter_ = root_;
    if (system < 0) return MPI_SUCCESS;
    RankList members;
    if (const Communicator* communicator = spanning(&job_, comm_); communicator != nullptr) {
      members = communicator->members;
    } else {
      const int code = members_of_native(job_, comm_, false, members);
      if (code != MPI_SUCCESS) return code;
    }
    const auto found = std::ranges::find_if(members, [&](wire::WorldRank rank) {
      return rank != kNoMember && job_.map.proc(rank).client == system;
    });
    if (found == members.end()) {
      return raise(
          comm_, MPI_ERR_SPAWN, function_,
          fmt::format("the hint impishim_system is {}, and no process of the communicator is "
                      "in that system",
                      system));
    }
    starter_ = static_cast<int>(found - members.begin());
    return MPI_SUCCESS;
  }

  /// Starts the new job, and waits until it connects. Runs in a thread of its own.
  Result<wire::PortConnection> start() {
    auto launcher = wire::find_launcher(path_of_this_library());
    if (!launcher) return launcher.error();
    auto port = wire::OpenPort::open(job_.map.proc(job_.here).id.host, job_.ports);
    if (!port) return port.error();
    SpawnRequest request = unpack(packed_);
    wire::SpawnPlan plan;
    plan.impirun = *launcher;
    plan.mpi = std::string(mpi_of_library(IMPISHIM_VENDOR_SONAME));
    plan.address = wire::address_text((*port)->name().address);
    plan.port = (*port)->name().text();
    plan.folder = request.folder;
    plan.programs = std::move(request.programs);
    auto started = wire::SpawnedJob::start(plan);
    if (!started) return started.error();
    auto accepted = (*port)->accept(started->descriptor());
    if (!accepted) return accepted.error();
    if (!accepted->has_value()) return Error{ErrorKind::kSystem, started->how_it_ended()};
    return std::move(**accepted);
  }

  Job& job_;
  const char* function_;
  MPI_Comm comm_;
  int root_;
  int rank_ = 0;
  int starter_ = 0;
  int procs_ = 0;
  std::int32_t system_ = -1;
  std::string packed_;
  std::string error_;
};

}  // namespace

namespace calls {

int Comm_spawn(Job& job, const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
               MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
  return Spawn(job, "MPI_Comm_spawn", comm, root)
      .run({1, &command, &argv, &maxprocs, &info}, intercomm, array_of_errcodes);
}

int Comm_spawn_multiple(Job& job, int count, char* array_of_commands[], char** array_of_argv[],
                        const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                        MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
  return Spawn(job, "MPI_Comm_spawn_multiple", comm, root)
      .run({count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info}, intercomm,
           array_of_errcodes);
}

}  // namespace calls
}  // namespace impishim::shim
