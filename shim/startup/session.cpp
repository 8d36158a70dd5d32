// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "shim/comm/communicator_make.hpp"
#include "shim/error/failure.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/job/job.hpp"
#include "shim/monitor/observed_call.hpp"
#include "shim/monitor/recorder.hpp"
#include "shim/monitor/statistics_file.hpp"
#include "shim/monitor/trace_file.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/request/request.hpp"
#include "shim/startup/host_connections.hpp"
#include "shim/startup/job_agreement.hpp"
#include "shim/startup/monitoring.hpp"
#include "shim/startup/native_exchange.hpp"
#include "shim/startup/system_plan.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/engine/engine.hpp"
#include "wire/progress/progress_thread.hpp"
#include "wire/startup/bootstrap.hpp"
#include "wire/startup/rank_pipe.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"
#include "wire/trace/trace.hpp"

namespace impishim::shim {
namespace {

/// Starts the trace, if there is to be one.
void start_trace(Job& job) {
  const wire::TraceSettings& settings = job.diagnostics.trace;
  if (settings.prefix.empty()) return;
  job.trace = std::make_shared<wire::Trace>(settings.bytes, settings.skew_ns);
  job.write_trace = write_trace;
}

/// Returns a job of this process that has not joined yet. Sets `traits` to those of the system.
std::unique_ptr<Job> make_job(const JobSettings& settings, int thread_level,
                              wire::ClientTraits& traits) {
  auto job = std::make_unique<Job>();
  job->requests = std::make_shared<RequestPool>();
  job->thread_level = thread_level;
  job->client = settings.client;
  job->diagnostics = settings.diagnostics;
  start_trace(*job);
  job->ports = settings.joining.ports;
  job->wire_format = settings.wire_format;
  job->private_comm = duplicate(MPI_COMM_WORLD);
  job->vendor_progress.emplace();
  vendor::Comm_group(job->private_comm, &job->native_group);
  int highest[3] = {thread_level, settings.poll_native ? 1 : 0, job->trace == nullptr ? 1 : 0};
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Iallreduce(MPI_IN_PLACE, highest, 3, MPI_INT, MPI_MAX, job->private_comm, &request);
  wait_politely(request);
  traits.concurrent = highest[0] == MPI_THREAD_MULTIPLE;
  traits.traces = highest[2] == 0;
  job->polls_collectives = traits.concurrent || highest[1] != 0;
  return job;
}

void set_limits(const JobSettings& settings, Job& job) {
  job.limits.max_linear = job.map.values().coll_maxlinear;
  job.limits.xsize = job.map.values().coll_xsize;
  job.limits.overrides = settings.collectives;
  job.limits.as_lam = settings.as_lam;
  // Data has the form for foreign implementations, so the algorithms are those for them, too.
  job.limits.impi_only = settings.wire_format == "external32";
  // The requested format applies to packed data as well.
  job.limits.same_representation =
      settings.wire_format == "auto" || settings.wire_format == "native";
}

void start_engine(const JobSettings& settings, Job& job,
                  std::vector<wire::HostChannel> host_channels,
                  std::vector<wire::LocalChannel> local_channels) {
  set_log_name(fmt::format("impishim: rank {}", job.here), fmt::format("{}", job.here));
  set_log_place(job.client, job.here);
  wire::tell_rank(job.here);
  const auto& clients = job.map.clients();
  wire::EngineOptions options;
  options.job = job.map.now();
  options.here = job.here;
  options.relay = settings.relay;
  options.trace = job.trace.get();
  options.times_answers = !job.diagnostics.stats_prefix.empty();
  for (const wire::Client& client : clients)
    options.format_of_client.push_back(
        wire::format_for(client, settings.wire_format, settings.as_lam));
  options.host_channels = std::move(host_channels);
  options.local_channels = std::move(local_channels);
  job.engine = std::make_unique<wire::Engine>(std::move(options));
  job.tells_failures = std::ranges::all_of(clients, &wire::Client::impishim);
  job.gives_contexts =
      job.tells_failures &&
      std::ranges::any_of(clients, [](const wire::Client& each) { return each.traits.concurrent; });
  set_limits(settings, job);
  job.progress = std::make_unique<wire::ProgressThread>(
      *job.engine, [&job](const Error& failure) { exit_after_failure(job, failure); },
      [&job] { return job.stand_watch.tick(job); },
      // The thread that initialises MPI.
      [depth = &vendor_depth] { return depth->call(); });
  log(LogArea::kStartup, LogLevel::kInfo, "joined: {} processes in {} systems, {} hosts",
      job.map.size(), clients.size(), job.map.hosts().size());
}

/// Connects this process to the others of the job, and starts its engine.
Result<void> connect(const JobSettings& settings, const SystemPlan& plan, HostOpening opening,
                     JobAgreement agreement, Job& job) {
  job.map = std::move(agreement.map);
  job.here = job.map.client(settings.client).first_proc + plan.rank;
  job.own_server = std::move(agreement.own_server);
  job.server = std::move(agreement.server);
  job.speaks_for_host = plan.connects();
  const JoiningProcess process{settings, plan, job.map.at_start(), job.here};
  auto local = common_outcome(plan.all, connect_local(process, opening.gateway_address));
  if (!local) return local.error();
  auto hosts = common_outcome(
      plan.all,
      connect_hosts(process, {std::move(opening.listener), agreement.secret, agreement.relay,
                              std::move(local->token), std::move(local->giver),
                              job.server ? &*job.server : nullptr}));
  if (!hosts) return hosts.error();
  job.reconnector = std::move(hosts->reconnector);
  start_engine(settings, job, std::move(hosts->channels), std::move(local->channels));
  return {};
}

/// Makes the communicator of all processes of the job.
Result<void> make_joined_world(const JobSettings& settings, Job& job) {
  job.joined_world = MPI_COMM_WORLD;
  if (settings.split_world) vendor::Comm_dup(MPI_COMM_WORLD, &job.joined_world);
  if (job.map.clients().size() == 1) return {};
  std::vector<wire::WorldRank> members(static_cast<std::size_t>(job.map.size()));
  std::iota(members.begin(), members.end(), 0);
  if (make_communicator(job, MPI_COMM_WORLD, &job.joined_world, 0, std::move(members), nullptr,
                        duplicate(job.private_comm)) != MPI_SUCCESS) {
    return Error{ErrorKind::kSystem,
                 "the MPI library could not make the communicators of the joined world"};
  }
  if (!settings.split_world) job.world = job.communicators.find(MPI_COMM_WORLD);
  return {};
}

/// Returns the time within which this system may return to a server that it has lost.
std::chrono::seconds time_to_return(const Job& job) {
  const wire::JobMap& map = job.map.at_start();
  const auto hosts = static_cast<std::int32_t>(map.hosts().size());
  const std::int32_t here = map.proc(job.here).host;
  std::chrono::seconds longest{0};
  for (std::int32_t host = 0; host < hosts; ++host)
    if (host != here) longest = std::max(longest, wire::reconnect_time(map, here, host));
  return longest;
}

}  // namespace

Result<std::unique_ptr<Job>> join(const JobSettings& settings, int thread_level) {
  wire::ClientTraits traits;
  auto job = make_job(settings, thread_level, traits);
  const MPI_Comm all = job->private_comm;
  auto gateways = common_outcome(all, agree_on_gateways(settings, all));
  if (!gateways) return gateways.error();
  SystemPlan plan = describe_system(settings, all, *gateways);
  auto checked = common_outcome(all, check_host_settings(settings, plan, *gateways));
  if (!checked) return checked.error();
  auto entry = common_outcome(all, enter_job(settings, plan, !gateways->empty()));
  if (!entry) return entry.error();
  plan_hosts(plan, entry->host_procs, *gateways);
  job->host_comm = plan.host_comm;
  auto opening = common_outcome(all, open_host(settings, plan));
  if (!opening) return opening.error();
  auto agreement =
      common_outcome(all, agree_on_job(settings, plan, std::move(*entry), opening->info, traits));
  if (!agreement) return agreement.error();
  auto connected = connect(settings, plan, std::move(*opening), std::move(*agreement), *job);
  if (!connected) return connected.error();
  auto made = make_joined_world(settings, *job);
  if (!made) return made.error();
  return job;
}

void leave(Job& job) {
  write_trace(job);
  const Recorder* recorder = the_recorder.load();
  write_statistics(job, recorder == nullptr ? nullptr : recorder->timer());
  sleeping_barrier(job.private_comm);
  stop_monitoring(job);
  job.progress.reset();
  job.reconnector.reset();
  job.connected_jobs_owner.reset();
  job.one_sided_owner.reset();
  job.files_owner.reset();
  if (job.server) {
    auto finished = job.server->finish(time_to_return(job));
    if (!finished) log(LogArea::kStartup, LogLevel::kWarn, "{}", finished.error().text);
  }
  job.own_server.reset();
  release_ended(job);
  for (Communicator* each : job.communicators.all()) free_hidden_handles(*each);
  if (job.joined_world != MPI_COMM_WORLD) vendor::Comm_free(&job.joined_world);
  job.vendor_progress.reset();
  vendor::Group_free(&job.native_group);
  vendor::Comm_free(&job.host_comm);
  vendor::Comm_free(&job.private_comm);
}

}  // namespace impishim::shim
