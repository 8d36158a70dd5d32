// impirun: the rendezvous server, a client, or a whole job on this machine (IMPI 2.2).
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/channel/address.hpp"
#include "wire/launch/command_line.hpp"
#include "wire/launch/launch_plan.hpp"
#include "wire/launch/rendezvous.hpp"
#include "wire/launch/scratch_folder.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/protocol/startup_client.hpp"

namespace impishim::launch {
namespace {

constexpr int kUsageStatus = 2;    ///< what the user asked cannot be done
constexpr int kFailureStatus = 1;  ///< it was begun and failed

int complain(const Error& error, int status) {
  std::fprintf(stderr, "impirun: %s\n", error.text.c_str());
  return status;
}

int run_server(const CommandLine& line) {
  wire::RendezvousOptions options;
  options.clients = line.clients;
  options.port = static_cast<std::uint16_t>(line.port);
  options.timeout_ms = line.timeout_s == 0 ? -1 : line.timeout_s * 1000;
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  options.methods = *methods;
  if (const char* address = std::getenv("IMPISHIM_HOST_ADDRESS"); address != nullptr) options.address = address;
  if (line.preference) {
    auto preference = wire::parse_preference(*line.preference);
    if (!preference) return complain(preference.error(), kUsageStatus);
    options.preference = *preference;
    if (std::none_of(preference->begin(), preference->end(), [&](auto method) { return methods->enables(method); })) {
      return complain(
          {ErrorKind::kAuthentication,
           fmt::format("no authentication method available: -auth {} names none that is enabled (0: IMPI_AUTH_NONE, "
                       "1: IMPI_AUTH_KEY)",
                       *line.preference)},
          kUsageStatus);
    }
  }
  auto server = wire::Rendezvous::open(options);
  if (!server) return complain(server.error(), kUsageStatus);
  std::printf("%s\n", server->address().c_str());
  std::fflush(stdout);
  auto served = server->serve();
  return served ? 0 : complain(served.error(), kFailureStatus);
}

/// Reads the address alone: a connection that says nothing would count as a client at a plain IMPI server. That the server
/// cannot be reached, MPI_Init tells.
Result<void> check_server(const std::string& server) {
  auto parts = wire::split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = wire::parse_address(parts->first);
  if (!host) return host.error();
  return {};
}

int run_client(const CommandLine& line) {
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  auto words =
      plan_launch(line.sections.front(), line.own_launcher, line.mpi, line.host_procs, line.server, line.client, nullptr);
  if (!words) return complain(words.error(), kUsageStatus);
  auto address = check_server(line.server);
  if (!address) return complain(address.error(), kUsageStatus);
  std::vector<char*> arguments;
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // The launcher's status is the program's.
  execvp(arguments[0], arguments.data());
  return complain(Error{ErrorKind::kSystem, fmt::format("cannot run {}: {}", arguments[0], std::strerror(errno))},
                  kFailureStatus);
}

/// A job of its own on this machine: nobody else can know the key.
Result<wire::AuthenticationMethods> private_key() {
  wire::AuthenticationMethods methods;
  if (getrandom(&methods.key_value, sizeof(methods.key_value), 0) != sizeof(methods.key_value)) {
    return Error{ErrorKind::kSystem, "no random numbers for an authentication key"};
  }
  methods.key = true;
  setenv("IMPI_AUTH_KEY", std::to_string(methods.key_value).c_str(), 1);
  unsetenv("IMPI_AUTH_NONE");
  return methods;
}

/// Tells the server's process which systems have ended.
class EndedSystems {
 public:
  EndedSystems() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
    to_server_ = Descriptor(ends[0]);
    server_ = Descriptor(ends[1]);
  }
  [[nodiscard]] int for_server() const { return server_.get(); }
  void add(std::uint8_t system) const {
    // A server that has ended has no interest in it.
    [[maybe_unused]] const auto sent = send(to_server_.get(), &system, sizeof(system), MSG_NOSIGNAL);
  }

 private:
  Descriptor to_server_;
  Descriptor server_;
};

std::string system_name(std::size_t system) { return fmt::format("system {}", system); }

/// What starts each system.
Result<std::vector<std::vector<std::string>>> plan_systems(const CommandLine& line, const std::string& server,
                                                           ScratchFolder& scratch) {
  std::vector<std::vector<std::string>> commands;
  for (const Section& section : line.sections) {
    const auto client = static_cast<int>(commands.size());
    auto words = plan_launch(section, false, line.mpi, line.host_procs, server, client, &scratch);
    if (!words) return words.error();
    commands.push_back(std::move(*words));
  }
  return commands;
}

int run_local(const CommandLine& line) {
  wire::RendezvousOptions options;
  options.clients = static_cast<std::int32_t>(line.sections.size());
  options.this_machine = true;
  auto methods = private_key();
  if (!methods) return complain(methods.error(), kFailureStatus);
  options.methods = *methods;
  const EndedSystems ended;
  options.ended_clients = ended.for_server();
  auto opened = wire::Rendezvous::open(options);
  if (!opened) return complain(opened.error(), kFailureStatus);
  std::optional<wire::Rendezvous> server = std::move(*opened);
  share_processors(std::accumulate(line.sections.begin(), line.sections.end(), 0,
                                   [](int procs, const Section& section) { return procs + section.procs; }));
  ScratchFolder scratch;
  auto commands = plan_systems(line, server->address(), scratch);
  if (!commands) {
    return complain(commands.error(), commands.error().kind == ErrorKind::kSystem ? kFailureStatus : kUsageStatus);
  }
  Supervisor supervisor;
  supervisor.on_end([&](const std::string& name) {
    for (std::size_t i = 0; i < commands->size(); ++i) {
      if (name == system_name(i)) ended.add(static_cast<std::uint8_t>(i));
    }
  });
  auto started = supervisor.start("the rendezvous server", [&] {
    auto served = server->serve();
    return served ? 0 : complain(served.error(), kFailureStatus);
  });
  // Only the server's process listens: when it has ended, late clients are refused instead of waiting for an answer.
  server.reset();
  for (std::size_t i = 0; i < commands->size() && started; ++i) {
    started = supervisor.start(system_name(i), (*commands)[i], i == 0);
  }
  if (!started) return complain(started.error(), kFailureStatus);
  return supervisor.wait_for_all();
}

int run(const std::vector<std::string>& words) {
  auto line = parse_command_line(words);
  if (!line) return complain(line.error(), kUsageStatus);
  switch (line->mode) {
    case CommandLine::Mode::kHelp:
      std::printf("%s", line->help.c_str());
      return 0;
    case CommandLine::Mode::kVersion:
      std::printf("impirun %s (IMPI 0.0)\n", IMPISHIM_VERSION);
      return 0;
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
  impishim::set_log_name("impirun");
  return impishim::launch::run(std::vector<std::string>(argv + 1, argv + argc));
}
