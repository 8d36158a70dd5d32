// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/session.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/select.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/error/failure.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/job/job.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/request/request.hpp"
#include "shim/startup/native_exchange.hpp"
#include "shim/startup/proc_links.hpp"
#include "shim/startup/startup_watch.hpp"
#include "shim/vendor.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/delayed_channel.hpp"
#include "wire/connect/handover.hpp"
#include "wire/connect/host_channels.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/connect/unix_socket.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/engine/engine.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/packet/packet.hpp"
#include "wire/progress/progress_thread.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_plan.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/job_map_codec.hpp"
#include "wire/topology/route.hpp"

namespace impishim::shim {
namespace {

/// Timeout for connections to the server and to the other hosts.
constexpr int kConnectTimeoutMs = 60000;
/// The minimum that every MPI library guarantees (MPI-3.1 8.1.2).
constexpr int kLeastTagUb = 32767;

Result<wire::HostId> own_address(const JobSettings& request) {
  return request.address.empty()
             ? wire::address_towards(request.server)
             : wire::parse_own_address("IMPISHIM_HOST_ADDRESS", request.address);
}

/// A joining process of one system's native job.
class JobStartup {
 public:
  JobStartup(const JobSettings& request, int thread_level)
      : request_(request), job_(std::make_unique<Job>()) {
    job_->requests = std::make_shared<RequestPool>();
    job_->thread_level = thread_level;
    job_->client = request.client;
    vendor::Comm_dup(MPI_COMM_WORLD, &job_->private_comm);
    job_->vendor_progress.emplace();
    vendor::Comm_group(job_->private_comm, &job_->native_group);
    vendor::Comm_rank(job_->private_comm, &rank_);
    int highest[2] = {thread_level, request.poll_native ? 1 : 0};
    vendor::Allreduce(MPI_IN_PLACE, highest, 2, MPI_INT, MPI_MAX, job_->private_comm);
    concurrent_ = highest[0] == MPI_THREAD_MULTIPLE;
    job_->polls_collectives = concurrent_ || highest[1] != 0;
  }

  Result<std::unique_ptr<Job>> run() {
    for (auto step :
         {&JobStartup::agree_on_settings, &JobStartup::form_hosts, &JobStartup::prepare_host,
          &JobStartup::meet_clients, &JobStartup::connect_procs, &JobStartup::connect_hosts}) {
      std::optional<Error> mine;
      auto done = (this->*step)();
      if (!done) mine = done.error();
      sleeping_barrier(job_->private_comm);
      if (auto error = first_error(job_->private_comm, mine)) return *error;
    }
    start_engine();
    return std::move(job_);
  }

 private:
  [[nodiscard]] std::int32_t my_host() const { return job_->map.proc(job_->here).host; }

  /// Returns the index, in this process's host, of the proc that makes the host's connections: the
  /// gateway if there is one, or else the lowest proc.
  [[nodiscard]] int connector() const { return std::max(planned_host_.gateway, 0); }
  [[nodiscard]] bool connects() const { return host_rank_ == connector(); }

  /// Checks that all processes of the system have the same settings. If they planned its hosts
  /// differently, they would wait for each other in different groups. If they treated foreign
  /// implementations differently, they would use different algorithms of a collective.
  Result<void> agree_on_settings() {
    auto same = same_as_first(job_->private_comm, "IMPISHIM_GATEWAY", request_.gateways);
    const auto host_procs =
        request_.host_procs == 0 ? std::string() : std::to_string(request_.host_procs);
    auto same_procs = same_as_first(job_->private_comm, "IMPISHIM_HOST_PROCS", host_procs);
    auto same_foreign =
        same_as_first(job_->private_comm, "IMPISHIM_FOREIGN", request_.as_lam ? "lam" : "");
    if (!same) return same;
    if (!same_foreign) return same_foreign;
    if (!same_procs || request_.gateways.empty()) return same_procs;
    int size = 0;
    vendor::Comm_size(job_->private_comm, &size);
    auto gateways = wire::parse_gateways(request_.gateways, size);
    if (!gateways) return gateways.error();
    gateways_ = std::move(*gateways);
    if (!gateways_.empty()) speaker_ = gateways_.front();
    return {};
  }

  Result<void> form_hosts() {
    places_ = gather_places(job_->private_comm, request_.test_node_procs);
    hosts_ = wire::plan_hosts(places_, request_.host_procs, gateways_);
    const auto after =
        std::upper_bound(hosts_.begin(), hosts_.end(), rank_,
                         [](int rank, const wire::PlannedHost& host) { return rank < host.first; });
    planned_host_ = *std::prev(after);
    vendor::Comm_split(job_->private_comm, planned_host_.first, rank_, &job_->host_comm);
    vendor::Comm_rank(job_->host_comm, &host_rank_);
    return {};
  }

  /// Finds the address of the host and starts to listen, on the proc that makes the host's
  /// connections.
  Result<void> prepare_host() {
    if (!connects()) return {};
    if (!request_.gateway_address.empty()) {
      auto inner = wire::parse_own_address("IMPISHIM_GATEWAY_ADDRESS", request_.gateway_address);
      if (!inner) return inner.error();
      gateway_address_ = *inner;
    }
    auto address = own_address(request_);
    if (!address) return address.error();
    info_.address = *address;
    auto listener = wire::HostListener::open(*address);
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    info_.port = listener_->port();
    auto fabrics = wire::usable_providers(request_.fabric);
    if (!fabrics) return fabrics.error();
    info_.fabrics = std::move(*fabrics);
    return {};
  }

  /// Negotiates with the server. The first gateway, or native rank 0, does so for all processes.
  Result<void> meet_clients() {
    std::vector<std::byte> address(info_.address.begin(), info_.address.end());
    address = broadcast_bytes(job_->host_comm, connector(), std::move(address));
    std::copy(address.begin(), address.end(), info_.address.begin());
    info_.pid = getpid();
    utsname machine{};
    if (uname(&machine) == 0) info_.node = machine.nodename;
    const auto gathered = gather_bytes(job_->private_comm, speaker_, info_.encode());
    std::optional<Error> error;
    std::vector<std::byte> encoded;
    if (rank_ == speaker_) {
      auto agreed = negotiate(gathered);
      // If the server is foreign, the system has its own secret.
      auto own = JobSecret::random();
      if (agreed && own) {
        encoded = wire::encode_job_map(agreed->map);
        secret_ = agreed->secret.value_or(*own);
      } else {
        error = agreed ? own.error() : agreed.error();
      }
    }
    sleeping_barrier(job_->private_comm);
    encoded = broadcast_bytes(job_->private_comm, speaker_, std::move(encoded));
    share_secret();
    if (error) return *error;
    if (encoded.empty()) return {};  // the speaker reports the reason
    auto map = wire::decode_job_map(encoded);
    if (!map) return map.error();
    job_->map = std::move(*map);
    job_->here = job_->map.client(request_.client).first_proc + rank_;
    return {};
  }

  /// Distributes the secret from the speaker to all processes of this system.
  void share_secret() {
    std::vector<std::byte> bytes;
    if (secret_) bytes.assign(secret_->bytes().begin(), secret_->bytes().end());
    bytes = broadcast_bytes(job_->private_comm, speaker_, std::move(bytes));
    if (bytes.size() == JobSecret::kSize)
      secret_.emplace(std::span(bytes).first<JobSecret::kSize>());
    wipe(bytes);
  }

  /// Returns the vendor's MPI_TAG_UB. Messages inside this system carry the user's tags through the
  /// vendor.
  [[nodiscard]] int native_tag_ub() const {
    int* tag_ub = nullptr;
    int found = 0;
    vendor::Comm_get_attr(job_->private_comm, MPI_TAG_UB, static_cast<void*>(&tag_ub), &found);
    return found != 0 ? *tag_ub : kLeastTagUb;
  }

  /// Returns the providers that every host of this system has.
  [[nodiscard]] Result<std::vector<std::string>> fabrics_of_all(
      std::span<const wire::ProcInfo> procs) const {
    auto common = wire::common_fabrics(info_.fabrics, procs);
    if (request_.fabric.automatic || !common.empty() || info_.fabrics.empty()) return common;
    return Error{ErrorKind::kConfiguration,
                 "IMPISHIM_FABRIC: the hosts of this system have no provider in common: use the "
                 "same libfabric on all, or none"};
  }

  Result<wire::Agreement> negotiate(std::span<const std::vector<std::byte>> gathered) {
    auto procs = wire::decode_all(gathered);
    if (!procs) return procs.error();
    auto methods = wire::AuthenticationMethods::from_environment();
    if (!methods) return methods.error();
    wire::JoinOptions options;
    auto values = wire::ClientValues::from_environment();
    if (!values) return values.error();
    options.values = *values;
    options.values.tag_ub = std::min(options.values.tag_ub, native_tag_ub());
    options.server = request_.server;
    options.client = request_.client;
    options.representation = wire::representation_fingerprint();
    options.collectives = collectives::fingerprint(request_.collectives, request_.as_lam);
    options.concurrent = concurrent_;
    auto fabrics = fabrics_of_all(*procs);
    if (!fabrics) return fabrics.error();
    options.fabrics = std::move(*fabrics);
    options.fabric_required = !request_.fabric.automatic;
    for (const wire::PlannedHost& planned : hosts_)
      options.hosts.push_back(wire::local_host(planned, *procs));
    auto server = wire::ServerConnection::connect(request_.server, request_.client, *methods,
                                                  kConnectTimeoutMs);
    if (!server) return server.error();
    auto agreed = server->exchange(options);
    if (!agreed) return agreed.error();
    job_->server = std::move(*server);
    return agreed;
  }

  /// Connects the hosts. One proc owns the listening port and passes the connections to the procs
  /// that own the channels.
  Result<void> connect_hosts() {
    StartupWatch watch(job_->private_comm, speaker_, job_->server ? &*job_->server : nullptr);
    auto made = make_connections(watch);
    auto concluded = watch.conclude();
    return made ? concluded : made;
  }

  Result<void> make_connections(StartupWatch& watch) {
    auto connected = connects() ? give_connections(watch) : take_connections();
    if (!connected) return connected.error();
    // The other hosts may still be connecting, within the same timeout.
    auto channels = wire::make_host_channels(job_->map, my_host(), std::move(host_connections_),
                                             2 * kConnectTimeoutMs);
    if (!channels) return channels.error();
    host_channels_ = std::move(*channels);
    return request_.test_delay_ms > 0 ? delay_host_channels() : Result<void>{};
  }

  Result<void> give_connections(StartupWatch& watch) {
    const wire::WorldRank first = job_->here - host_rank_;
    const auto give = [&](std::int32_t host, Descriptor socket) -> Result<void> {
      const wire::WorldRank owner = wire::representative(job_->map, my_host(), host);
      if (owner != job_->here) return giver_->give(owner - first, host, socket, kConnectTimeoutMs);
      host_connections_.emplace_back(host, std::move(socket));
      return {};
    };
    auto connected = wire::connect_hosts(
        job_->map, my_host(), std::move(*listener_),
        {secret_, kConnectTimeoutMs, watch.descriptor(), [&] { return watch.given_up(); }}, give);
    giver_.reset();  // processes that still wait are notified that no connection will come
    return connected;
  }

  Result<void> take_connections() {
    const std::size_t mine = wire::hosts_represented_by(job_->map, job_->here).size();
    if (mine == 0) return {};
    auto taker = wire::HandoverTaker::connect(host_token_, host_rank_, kConnectTimeoutMs);
    if (!taker) return taker.error();
    while (host_connections_.size() < mine) {
      auto taken = taker->take(
          // The giver's own timeout expires first, since its error is more precise.
          2 * kConnectTimeoutMs);
      if (!taken) return taken.error();
      host_connections_.push_back(std::move(*taken));
    }
    return {};
  }

  Result<void> delay_host_channels() {
    for (wire::HostChannel& each : host_channels_) {
      auto delayed = wire::DelayedChannel::make(std::move(each.channel),
                                                std::chrono::milliseconds(request_.test_delay_ms));
      if (!delayed) return delayed.error();
      each.channel = std::move(*delayed);
    }
    return {};
  }

  /// Opens the socket for handing over connections. Its name is published only when it is in use,
  /// so no other user can take it first.
  Result<void> open_giver() {
    auto token = wire::random_token();
    if (!token) return token.error();
    auto giver = wire::HandoverGiver::open(*token);
    if (!giver) return giver.error();
    giver_ = std::move(*giver);
    host_token_ = std::move(*token);
    return {};
  }

  Result<void> connect_procs() {
    // A gateway keeps all connections.
    const bool gives = connects() && planned_host_.gateway < 0;
    host_token_.resize(wire::kTokenSize);
    auto opened = gives ? open_giver() : Result<void>();
    vendor::Bcast(host_token_.data(), static_cast<int>(host_token_.size()), MPI_CHAR, connector(),
                  job_->host_comm);
    const auto first_place = places_.begin() + planned_host_.first;
    auto channels =
        link_procs({job_->map,
                    job_->here,
                    job_->host_comm,
                    {first_place, first_place + planned_host_.count},
                    gateway_address_,
                    request_.fabric.local() ? wire::LocalForm::kFabric : wire::LocalForm::kRings,
                    kConnectTimeoutMs});
    if (!channels) return channels.error();
    if (!opened) return opened.error();
    local_channels_ = std::move(*channels);
    return {};
  }

  [[nodiscard]] wire::Format format_for(const wire::Client& client) const {
    if (request_.wire_format != "auto") return *wire::format_from_name(request_.wire_format);
    if (!client.impishim)
      return request_.as_lam ? wire::Format::kNative : wire::Format::kExternal32;
    return client.representation == wire::representation_fingerprint() ? wire::Format::kNative
                                                                       : wire::Format::kWide;
  }

  void start_engine() {
    set_log_name(fmt::format("impishim: rank {}", job_->here));
    wire::EngineOptions options;
    options.job = job_->map;
    options.here = job_->here;
    options.relay = request_.relay;
    for (const wire::Client& client : job_->map.clients())
      options.format_of_client.push_back(format_for(client));
    job_->speaks_for_host = connects();
    job_->diagnostics = request_.diagnostics;
    options.host_channels = std::move(host_channels_);
    options.local_channels = std::move(local_channels_);
    job_->engine = std::make_unique<wire::Engine>(std::move(options));
    Job* job = job_.get();
    const auto& clients = job_->map.clients();
    job_->tells_failures = std::ranges::all_of(clients, &wire::Client::impishim);
    job_->gives_contexts =
        job_->tells_failures && std::ranges::any_of(clients, &wire::Client::concurrent);
    job_->limits.max_linear = job_->map.values().coll_maxlinear;
    job_->limits.xsize = job_->map.values().coll_xsize;
    job_->limits.overrides = request_.collectives;
    job_->limits.as_lam = request_.as_lam;
    // Data has the form for foreign implementations, so the algorithms are those for them, too.
    job_->limits.impi_only = request_.wire_format == "external32";
    // The requested format applies to packed data as well.
    job_->limits.same_representation =
        request_.wire_format == "auto" || request_.wire_format == "native";
    job_->progress = std::make_unique<wire::ProgressThread>(
        *job_->engine, [job](const Error& failure) { exit_after_failure(*job, failure); },
        [job] { return job->stand_watch.tick(*job); },
        // The thread that initialises MPI.
        [depth = &vendor_depth] { return depth->call(); });
    log(LogLevel::kInfo, "joined: {} processes in {} systems, {} hosts", job->map.size(),
        job->map.clients().size(), job->map.hosts().size());
  }

  const JobSettings& request_;
  std::unique_ptr<Job> job_;
  bool concurrent_ = false;  ///< some process of this system has threads that call MPI concurrently
  int rank_ = 0;
  int host_rank_ = 0;
  int speaker_ = 0;                     ///< native rank that communicates with the server
  std::vector<std::int32_t> gateways_;  ///< native ranks
  std::vector<std::int32_t> places_;    ///< of the native ranks
  std::vector<wire::PlannedHost> hosts_;
  wire::PlannedHost planned_host_;  ///< the host of this process
  std::optional<wire::HostId> gateway_address_;
  wire::ProcInfo info_;
  std::optional<wire::HostListener> listener_;
  std::string host_token_;  ///< names the socket of this host's giver
  std::optional<wire::HandoverGiver> giver_;
  std::optional<JobSecret> secret_;  ///< of the job, or of this system alone
  std::vector<wire::HostConnection> host_connections_;
  std::vector<wire::HostChannel> host_channels_;
  std::vector<wire::LocalChannel> local_channels_;
};

}  // namespace

Result<std::unique_ptr<Job>> join(const JobSettings& request, int thread_level) {
  JobStartup joining(request, thread_level);
  auto job = joining.run();
  if (!job) return job;
  Job& joined_job = **job;
  joined_job.joined_world = MPI_COMM_WORLD;
  if (request.split_world) vendor::Comm_dup(MPI_COMM_WORLD, &joined_job.joined_world);
  if (joined_job.map.clients().size() > 1) {
    std::vector<wire::WorldRank> everybody(static_cast<std::size_t>(joined_job.map.size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    if (make_communicator(joined_job, MPI_COMM_WORLD, &joined_job.joined_world, 0,
                          std::move(everybody)) != MPI_SUCCESS) {
      return Error{ErrorKind::kSystem,
                   "the MPI library could not make the communicators of the joined world"};
    }
    if (!request.split_world) {
      joined_job.world = joined_job.communicators.find(MPI_COMM_WORLD);
    }
  }
  return job;
}

void leave(Job& job) {
  write_statistics(job);
  sleeping_barrier(job.private_comm);
  job.progress.reset();
  if (job.server) {
    auto finished = job.server->finish();
    if (!finished) log(LogLevel::kWarn, "{}", finished.error().text);
  }
  release_ended(job);
  for (Communicator* each : job.communicators.all()) free_hidden_handles(*each);
  if (job.joined_world != MPI_COMM_WORLD) vendor::Comm_free(&job.joined_world);
  job.vendor_progress.reset();
  vendor::Group_free(&job.native_group);
  vendor::Comm_free(&job.host_comm);
  vendor::Comm_free(&job.private_comm);
}

}  // namespace impishim::shim
