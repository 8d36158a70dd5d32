// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/job_server.hpp"

#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/job_key.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/metrics_form.hpp"
#include "wire/launch/name_server.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/plan/key_file.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/process/process.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {
namespace {

/// Gives the job a secret of its own, instead of what the environment may have.
Result<void> set_own_secret() {
  for (const char* name : {"IMPISHIM_SECRET_FILE", "IMPISHIM_CERTIFICATE", "IMPISHIM_PRIVATE_KEY",
                           "IMPISHIM_AUTHORITY"})
    unsetenv(name);
  auto secret = random_secret();
  if (!secret) return secret.error();
  setenv("IMPISHIM_SECRET", secret->c_str(), 1);
  return {};
}

}  // namespace

Result<JobServer::Pair> JobServer::make_pair() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return call_failed("make a pair of sockets");
  return Pair{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<void> JobServer::open_metrics() {
  auto metrics = open_metrics_of_own_job();
  if (!metrics) return metrics.error();
  metrics_ = std::move(*metrics);
  return {};
}

Result<void> JobServer::open(const CommandLine& line, const JobFile& job) {
  const bool from_file = line.mode == CommandLine::Mode::kJobFile;
  wire::RendezvousOptions options;
  options.clients = static_cast<std::int32_t>(job.systems.size());
  options.this_machine = !job.leaves_this_machine();
  options.verbose = line.verbose && !from_file;
  options.quiet = line.quiet || from_file;
  if (!options.this_machine) {
    const char* own = secure_getenv("IMPISHIM_HOST_ADDRESS");
    options.address = !job.server_address.empty() || own == nullptr ? job.server_address : own;
    options.port = static_cast<std::uint16_t>(job.server_port);
    options.relays = job.relay;
    auto secret = set_own_secret();
    if (!secret) return secret;
  }
  auto methods = private_key();
  if (!methods) return methods.error();
  methods_ = *methods;
  options.methods = methods_;
  auto reconnect = read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, options.reconnect);
  if (!reconnect) return reconnect;
  auto ended = make_pair();
  if (!ended) return ended.error();
  ended_ = std::move(*ended);
  options.ended_clients = ended_.server.get();
  if (from_file) {
    auto joined = make_pair();
    if (!joined) return joined.error();
    joined_ = std::move(*joined);
    options.joined_clients = joined_.server.get();
  }
  auto opened = wire::Rendezvous::open(options);
  if (!opened) return opened.error();
  rendezvous_.emplace(std::move(*opened));
  address_ = rendezvous_->address();
  std::error_code error;
  key_files_.emplace(std::to_string(methods_.key_value),
                     options.this_machine ? std::filesystem::temp_directory_path(error)
                                          : KeyFile::shared_folder());
  if (!options.this_machine || line.checks) return {};
  auto names = open_own_name_server();
  if (!names) return names.error();
  names_ = std::move(*names);
  return {};
}

Result<void> JobServer::start(Supervisor& supervisor) {
  auto started = supervisor.start("the rendezvous server", [this] { return serve(); });
  rendezvous_.reset();
  metrics_.reset();
  names_.reset();
  return started;
}

/// Serves the job, in a process of its own. Returns that process's exit status.
int JobServer::serve() {
  serve_in_background(std::move(names_));
  if (metrics_ != nullptr) {
    auto started = metrics_->start(address_, methods_);
    if (!started) return complain(started.error(), kServerStatus);
  }
  auto served = rendezvous_->serve();
  if (served) return 0;
  if (served.error().kind == ErrorKind::kLost) return kLossStatus;  // it has told of the loss
  return complain(served.error(),
                  served.error().kind == ErrorKind::kSystem ? kServerStatus : kFailureStatus);
}

void JobServer::tell_ended(std::uint8_t system) const {
  // A server that has ended does not need the report, so a failure is ignored.
  [[maybe_unused]] const auto sent = send(ended_.here.get(), &system, sizeof(system), MSG_NOSIGNAL);
}

}  // namespace impishim::launch
