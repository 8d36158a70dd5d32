// SPDX-License-Identifier: Apache-2.0
// impirun: the rendezvous server, a client, or a whole job on this machine (IMPI 2.2).
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/address.hpp"
#include "wire/check/check.hpp"
#include "wire/launch/command_line.hpp"
#include "wire/launch/key_file.hpp"
#include "wire/launch/launch_plan.hpp"
#include "wire/launch/name_server.hpp"
#include "wire/launch/rank_output.hpp"
#include "wire/launch/scratch_folder.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/port/name_service.hpp"
#include "wire/port/open_port.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/rendezvous.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_server.hpp"
#include "wire/tls/shared_secret.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {
namespace {

int complain(const Error& error, int status) {
  std::fprintf(stderr, "impirun: %s\n", error.text.c_str());
  return status;
}

/// Prints to standard output. A write may fail, for example if a disk is full.
int print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return complain(
      {ErrorKind::kSystem, fmt::format("cannot write standard output: {}", std::strerror(errno))},
      kFailureStatus);
}

int run_server(const CommandLine& line) {
  wire::RendezvousOptions options;
  options.verbose = line.verbose;
  options.clients = line.clients;
  options.relays = line.relay;
  options.port = static_cast<std::uint16_t>(line.port);
  options.timeout_ms = line.timeout_s == 0 ? -1 : line.timeout_s * 1000;
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  options.methods = *methods;
  if (const char* address = secure_getenv("IMPISHIM_HOST_ADDRESS"); address != nullptr)
    options.address = address;
  auto reconnect = read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, options.reconnect);
  if (!reconnect) return complain(reconnect.error(), kUsageStatus);
  if (line.preference) {
    auto preference = wire::parse_preference(*line.preference);
    if (!preference) return complain(preference.error(), kUsageStatus);
    options.preference = *preference;
    if (std::none_of(preference->begin(), preference->end(),
                     [&](auto method) { return methods->enables(method); })) {
      return complain(
          {ErrorKind::kAuthentication, fmt::format("no authentication method available: -auth {} "
                                                   "names none that is enabled (0: IMPI_AUTH_NONE, "
                                                   "1: IMPI_AUTH_KEY or IMPI_AUTH_KEY_FILE)",
                                                   *line.preference)},
          kUsageStatus);
    }
  }
  auto server = wire::Rendezvous::open(options);
  if (!server) return complain(server.error(), kUsageStatus);
  if (const int status = print(server->address() + "\n"); status != 0) return status;
  auto served = server->serve();
  return served ? 0 : complain(served.error(), kFailureStatus);
}

int run_name_server(const CommandLine& line) {
  const auto end = watch_end_signals();
  if (!end) return complain(end.error(), kFailureStatus);
  auto server = open_name_server(static_cast<std::uint16_t>(line.port));
  if (!server) return complain(server.error(), kUsageStatus);
  const int status =
      print(fmt::format("{}={}\n", wire::kNameServerVariable, (*server)->name().text()));
  if (status != 0) return status;
  auto served = wire::serve_names(**server, end->get());
  return served ? 0 : complain(served.error(), kFailureStatus);
}

/// Checks only the form of the address. A connection that sends nothing would count as a client at
/// a plain IMPI server. MPI_Init reports if the server cannot be reached.
Result<void> check_server(const std::string& server) {
  auto parts = wire::split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = wire::parse_address(parts->first);
  if (!host) return host.error();
  return {};
}

/// Puts the key, whatever its source, into the environment, where launchers of this process find
/// it. Only the environment and files of a process are hidden from other users, so the key is never
/// on a command line.
void export_methods(const wire::AuthenticationMethods& methods) {
  if (methods.key) setenv("IMPI_AUTH_KEY", std::to_string(methods.key_value).c_str(), 1);
  if (!methods.none) unsetenv("IMPI_AUTH_NONE");
}

/// Returns the status of a client whose processes have ended with `status`. If they never joined,
/// reports that here and to the server, because other clients may wait there.
int end_client(const CommandLine& line, const wire::AuthenticationMethods& methods,
               std::chrono::steady_clock::time_point started, int status) {
  constexpr auto kTimeout = std::chrono::seconds(2);
  const auto age =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
  auto never_joined = wire::report_ended(
      line.server, {line.client, static_cast<std::uint64_t>(age.count())}, methods, kTimeout);
  if (!never_joined)
    log(LogLevel::kDebug, "whether client {} had joined is not known: {}", line.client,
        never_joined.error().text);
  if (!never_joined || !*never_joined) return status;
  log(LogLevel::kError,
      "client {} ended before it had joined, and the server has been told. If no message above "
      "says why: it is no MPI "
      "program or ended without MPI_Init; libimpishim.so is that of another MPI library (-mpi); "
      "LD_PRELOAD and the IMPISHIM_ "
      "variables did not reach the ranks through the launcher (a static binary, a script that "
      "clears them); or the launcher "
      "ended before its processes",
      line.client);
  return status == 0 ? kFailureStatus : status;
}

int run_client(const CommandLine& line) {
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  export_methods(*methods);
  KeyFile key_file(methods->key_value, KeyFile::shared_folder());
  ScratchFolder scratch;
  Supervisor supervisor;
  // If IMPISHIM_LIBRARY is set, the library's path does not show where impirun is on the nodes.
  const bool everywhere = secure_getenv("IMPISHIM_LIBRARY") == nullptr;
  auto plan = plan_launch(
      {line, line.sections.front(), line.server, line.client, key_file, scratch,
       everywhere ? RankOutputPlace([&] { return supervisor.rank_output(scratch); }) : nullptr});
  if (!plan)
    return complain(plan.error(),
                    plan.error().kind == ErrorKind::kSystem ? kFailureStatus : kUsageStatus);
  auto address = check_server(line.server);
  if (!address) return complain(address.error(), kUsageStatus);
  const auto begin = std::chrono::steady_clock::now();
  auto started = supervisor.start("", *plan, true);
  if (!started) return complain(started.error(), kFailureStatus);
  return end_client(line, *methods, begin, supervisor.wait_for_all());
}

Result<std::uint64_t> random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof(key), 0) == sizeof(key)) return key;
  return Error{ErrorKind::kSystem, "no random numbers for an authentication key"};
}

int print_new_key() {
  auto key = random_key();
  return key ? print(fmt::format("{}\n", *key)) : complain(key.error(), kFailureStatus);
}

int print_new_secret() {
  std::array<std::byte, 32> secret{};
  auto filled = fill_with_random(secret);
  if (!filled) return complain(filled.error(), kFailureStatus);
  std::string text;
  for (const std::byte each : secret) text += fmt::format("{:02x}", std::to_integer<int>(each));
  return print(text + "\n");
}

/// Returns and exports a new key for a job on this machine, which only this job knows.
Result<wire::AuthenticationMethods> private_key() {
  auto key = random_key();
  if (!key) return key.error();
  auto shared = wire::SharedSecret::from_environment();
  if (!shared) return shared.error();
  wire::AuthenticationMethods methods;
  methods.shared = std::move(*shared);
  methods.key = true;
  methods.key_value = *key;
  unsetenv("IMPI_AUTH_KEY_FILE");
  export_methods(methods);
  return methods;
}

/// Tells the server's process which systems have ended. The server's process tells which lost
/// systems do not end the others.
class EndedSystems {
 public:
  EndedSystems() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
    to_server_ = Descriptor(ends[0]);
    server_ = Descriptor(ends[1]);
  }
  [[nodiscard]] int for_server() const { return server_.get(); }
  [[nodiscard]] int from_server() const { return to_server_.get(); }
  void add(std::uint8_t system) const {
    // A server that has ended does not need the report, so a failure is ignored.
    [[maybe_unused]] const auto sent =
        send(to_server_.get(), &system, sizeof(system), MSG_NOSIGNAL);
  }

 private:
  Descriptor to_server_;
  Descriptor server_;
};

std::string system_name(std::size_t system) { return fmt::format("system {}", system); }

/// Returns the plan to start each system.
Result<std::vector<LaunchPlan>> plan_systems(const CommandLine& line, const std::string& server,
                                             KeyFile& key_file, ScratchFolder& scratch,
                                             const RankOutputPlace& rank_output) {
  std::vector<LaunchPlan> plans;
  for (const Section& section : line.sections) {
    const auto client = static_cast<int>(plans.size());
    auto plan = plan_launch({line, section, server, client, key_file, scratch, rank_output});
    if (!plan) return plan.error();
    plans.push_back(std::move(*plan));
  }
  return plans;
}

/// Runs in a process of its own: the rendezvous, and the names that the systems publish.
int serve_job(wire::Rendezvous& server, std::shared_ptr<wire::OpenPort> names) {
  serve_in_background(std::move(names));
  auto served = server.serve();
  if (served) return 0;
  if (served.error().kind == ErrorKind::kLost) return kLossStatus;  // it has told of the loss
  return complain(served.error(),
                  served.error().kind == ErrorKind::kSystem ? kServerStatus : kFailureStatus);
}

int run_local(const CommandLine& line) {
  wire::RendezvousOptions options;
  options.clients = static_cast<std::int32_t>(line.sections.size());
  options.this_machine = true;
  options.verbose = line.verbose;
  auto methods = private_key();
  if (!methods) return complain(methods.error(), kFailureStatus);
  options.methods = *methods;
  auto reconnect = read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, options.reconnect);
  if (!reconnect) return complain(reconnect.error(), kUsageStatus);
  const EndedSystems ended;
  options.ended_clients = ended.for_server();
  auto opened = wire::Rendezvous::open(options);
  if (!opened) return complain(opened.error(), kFailureStatus);
  std::optional<wire::Rendezvous> server = std::move(*opened);
  share_processors(
      std::accumulate(line.sections.begin(), line.sections.end(), 0,
                      [](int procs, const Section& section) { return procs + section.procs; }));
  auto names = open_own_name_server();
  if (!names) return complain(names.error(), kFailureStatus);
  std::shared_ptr<wire::OpenPort> name_server = std::move(*names);
  ScratchFolder scratch;
  std::error_code error;
  KeyFile key_file(methods->key_value, std::filesystem::temp_directory_path(error));
  Supervisor supervisor;
  auto plans = plan_systems(line, server->address(), key_file, scratch,
                            [&] { return supervisor.rank_output(scratch); });
  if (!plans)
    return complain(plans.error(),
                    plans.error().kind == ErrorKind::kSystem ? kFailureStatus : kUsageStatus);
  supervisor.on_end([&](const std::string& name) {
    for (std::size_t i = 0; i < plans->size(); ++i) {
      if (name == system_name(i)) ended.add(static_cast<std::uint8_t>(i));
    }
  });
  supervisor.watch_losses(ended.from_server());
  auto started =
      supervisor.start("the rendezvous server", [&] { return serve_job(*server, name_server); });
  // Only the server's process may listen. When it has ended, late clients are then refused and do
  // not wait for an answer.
  server.reset();
  name_server.reset();
  for (std::size_t i = 0; i < plans->size() && started; ++i) {
    started = supervisor.start(system_name(i), (*plans)[i], i == 0);
  }
  if (!started) return complain(started.error(), kFailureStatus);
  return supervisor.wait_for_all();
}

/// Runs instead of a program when a launcher executes `-rank-output SOCKET command...`.
int run_rank(std::vector<std::string> words) {
  hand_over_output(words[1]);
  std::vector<char*> arguments;
  for (std::size_t i = 2; i < words.size(); ++i) arguments.push_back(words[i].data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return complain(
      Error{ErrorKind::kSystem, fmt::format("cannot run {}: {}", words[2], std::strerror(errno))},
      kFailureStatus);
}

int run(const std::vector<std::string>& words) {
  if (words.size() > 2 && words[0] == kRankOutputOption) return run_rank(words);
  if (check::is_check(words)) return check::run_check(words, IMPISHIM_VERSION);
  auto line = parse_command_line(words);
  if (!line) return complain(line.error(), kUsageStatus);
  switch (line->mode) {
    case CommandLine::Mode::kHelp:
      return print(line->help);
    case CommandLine::Mode::kVersion:
      return print(fmt::format("impirun {} (IMPI 0.0)\n", IMPISHIM_VERSION));
    case CommandLine::Mode::kNewKey:
      return print_new_key();
    case CommandLine::Mode::kNewSecret:
      return print_new_secret();
    case CommandLine::Mode::kNameServer:
      return run_name_server(*line);
    case CommandLine::Mode::kServer:
      return run_server(*line);
    case CommandLine::Mode::kClient:
      return run_client(*line);
    case CommandLine::Mode::kLocal:
      break;
  }
  return run_local(*line);
}

}  // namespace
}  // namespace impishim::launch

int main(int argc, char** argv) {
  // If the caller has closed standard output, a file or socket of ours must not get its number.
  int nothing = open("/dev/null", O_RDWR);
  while (nothing >= 0 && nothing <= STDERR_FILENO) nothing = dup(nothing);
  if (nothing >= 0) close(nothing);
  impishim::set_log_name("impirun");
  return impishim::launch::run(std::vector<std::string>(argv + 1, argv + argc));
}
