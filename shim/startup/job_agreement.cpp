// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/job_agreement.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collectives/core/select.hpp"
#include "shim/startup/native_exchange.hpp"
#include "shim/startup/session.hpp"
#include "shim/startup/startup_limits.hpp"
#include "shim/startup/system_plan.hpp"
#include "shim/vendor.hpp"
#include "wire/base/bytes.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/packet/packet.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/server/own_server.hpp"
#include "wire/settings/join_settings.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/bootstrap.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/tls/shared_secret.hpp"
#include "wire/topology/host_plan.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/job_map_codec.hpp"

namespace impishim::shim {
namespace {

/// The minimum that every MPI library guarantees (MPI-3.1 8.1.2).
constexpr int kLeastTagUb = 32767;

/// Returns the vendor's MPI_TAG_UB. Messages inside this system carry the user's tags through the
/// vendor.
int native_tag_ub(MPI_Comm all) {
  int* tag_ub = nullptr;
  int found = 0;
  vendor::Comm_get_attr(all, MPI_TAG_UB, static_cast<void*>(&tag_ub), &found);
  return found != 0 ? *tag_ub : kLeastTagUb;
}

/// Returns what this system announces.
Result<wire::JoinOptions> join_options(const JobSettings& settings, const SystemPlan& plan,
                                       std::span<const wire::ProcInfo> procs) {
  auto values = wire::ClientValues::from_environment();
  if (!values) return values.error();
  auto fabrics = wire::fabrics_of_system(procs[static_cast<std::size_t>(plan.rank)].fabrics, procs,
                                         settings.fabric.automatic);
  if (!fabrics) return fabrics.error();
  wire::JoinOptions options;
  options.values = *values;
  options.values.tag_ub = std::min(options.values.tag_ub, native_tag_ub(plan.all));
  options.server = settings.server;
  options.client = settings.client;
  options.representation = wire::representation_fingerprint();
  options.collectives = collectives::fingerprint(settings.collectives, settings.as_lam);
  options.fabrics = std::move(*fabrics);
  options.fabric_required = !settings.fabric.automatic;
  for (const wire::PlannedHost& planned : plan.hosts)
    options.hosts.push_back(wire::local_host(planned, procs));
  return options;
}

/// Connects to the server. Opens one before if this system is the whole job.
Result<wire::ServerConnection> connect_to_server(const JobSettings& settings,
                                                 std::unique_ptr<wire::OwnServer>& own) {
  if (settings.server.empty()) {
    auto shared = wire::SharedSecret::from_environment();
    if (!shared) return shared.error();
    auto opened = wire::OwnServer::open(kConnectTimeoutMs, *shared);
    if (!opened) return opened.error();
    own = std::move(*opened);
    return wire::ServerConnection::connect(own->address(), settings.client, own->methods(),
                                           kConnectTimeoutMs);
  }
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return methods.error();
  return wire::ServerConnection::connect(settings.server, settings.client, *methods,
                                         kConnectTimeoutMs);
}

/// Connects to the server, and exchanges sizes with the other systems.
Result<JobEntry> enter_at_server(const JobSettings& settings, wire::SystemSize size) {
  JobEntry entry;
  auto server = connect_to_server(settings, entry.own_server);
  if (!server) return server.error();
  size.encrypted = server->encrypted();
  const auto sizes = server->exchange_sizes(size);
  if (!sizes) return sizes.error();
  const auto host_procs = wire::choose_host_procs(*sizes, server->client_count());
  if (!host_procs) return host_procs.error();
  entry.server = std::move(*server);
  entry.host_procs = *host_procs;
  return entry;
}

/// Notes at which addresses the hosts of this system reach each other.
void note_inner_addresses(const SystemPlan& plan, std::span<const wire::ProcInfo> procs,
                          std::int32_t client, wire::JobMap& map) {
  std::int32_t host = map.client(client).first_host;
  for (const wire::PlannedHost& planned : plan.hosts)
    map.set_inner_address(host++, wire::listener_of(planned, procs).inner_address);
}

/// Agrees with the other systems, on the process that speaks for this one. `gathered` has the
/// encoded ProcInfo of each process.
Result<JobAgreement> negotiate(const JobSettings& settings, const SystemPlan& plan, JobEntry& entry,
                               std::span<const std::vector<std::byte>> gathered,
                               wire::ClientTraits traits) {
  const auto procs = wire::decode_all(gathered);
  if (!procs) return procs.error();
  auto options = join_options(settings, plan, *procs);
  if (!options) return options.error();
  options->traits = traits;
  auto agreed = entry.server->exchange(*options);
  if (!agreed) return agreed.error();
  // If the server is foreign, the system has its own secret.
  auto own = JobSecret::random();
  if (!own) return own.error();
  JobAgreement agreement;
  agreement.map = std::move(agreed->map);
  agreement.map.set_encrypted(entry.server->encrypted());
  note_inner_addresses(plan, *procs, settings.client, agreement.map);
  agreement.secret = agreed->secret.value_or(*own);
  agreement.relay = entry.server->relay();
  agreement.server = std::move(entry.server);
  return agreement;
}

/// Distributes the secret and the relay's token from the speaker to all processes of this system.
void share_secrets(const SystemPlan& plan, JobAgreement& agreement) {
  std::vector<std::byte> bytes;
  if (agreement.secret)
    bytes.assign(agreement.secret->bytes().begin(), agreement.secret->bytes().end());
  if (agreement.secret && agreement.relay)
    bytes.insert(bytes.end(), agreement.relay->begin(), agreement.relay->end());
  bytes = broadcast_bytes(plan.all, plan.speaker, std::move(bytes));
  const std::span<const std::byte> all(bytes);
  if (all.size() >= JobSecret::kSize) agreement.secret.emplace(all.first<JobSecret::kSize>());
  if (all.size() == JobSecret::kSize + sizeof(wire::RelayToken)) {
    agreement.relay.emplace();
    std::ranges::copy(all.subspan(JobSecret::kSize), agreement.relay->begin());
  }
  wipe(bytes);
}

/// Completes the description of this process: the host's address, and its own name.
void describe_process(const SystemPlan& plan, wire::ProcInfo& info) {
  std::vector<std::byte> address(info.address.begin(), info.address.end());
  address = broadcast_bytes(plan.host_comm, plan.connector(), std::move(address));
  std::copy(address.begin(), address.end(), info.address.begin());
  info.pid = getpid();
  info.node = node_name();
}

/// Returns what a host tells the others of itself, but for its port.
Result<HostOpening> describe_host(const JobSettings& settings) {
  HostOpening opening;
  if (!settings.gateway_address.empty()) {
    auto inner = wire::parse_own_address("IMPISHIM_GATEWAY_ADDRESS", settings.gateway_address);
    if (!inner) return inner.error();
    opening.gateway_address = *inner;
  }
  auto place = wire::find_place(settings.joining, settings.server);
  if (!place) return place.error();
  opening.info.address = place->announced.front();
  opening.info.more_addresses.assign(place->announced.begin() + 1, place->announced.end());
  if (!settings.joining.listen_address.empty())
    opening.info.inner_address = place->listening.front();
  opening.listening = std::move(place->listening);
  auto fabrics = wire::usable_providers(settings.fabric);
  if (!fabrics) return fabrics.error();
  opening.info.fabrics = std::move(*fabrics);
  return opening;
}

}  // namespace

Result<void> check_host_settings(const JobSettings& settings, const SystemPlan& plan,
                                 const std::vector<std::int32_t>& gateways) {
  const auto rank = static_cast<std::size_t>(plan.rank);
  const bool first_of_node = rank == 0 || plan.places[rank] != plan.places[rank - 1];
  const bool may_open =
      gateways.empty() ? first_of_node : std::ranges::find(gateways, plan.rank) != gateways.end();
  if (!may_open) return {};
  const auto described = describe_host(settings);
  return described ? Result<void>() : described.error();
}

Result<JobEntry> enter_job(const JobSettings& settings, const SystemPlan& plan, bool has_gateways) {
  Result<JobEntry> entered = JobEntry{};
  std::vector<std::byte> host_procs;
  if (plan.rank == plan.speaker) {
    wire::SystemSize size = settings.joining.size;
    size.client = settings.client;
    size.procs = static_cast<std::int32_t>(plan.places.size());
    size.has_gateways = has_gateways;
    entered = enter_at_server(settings, size);
    if (entered) {
      ByteWriter out;
      out.put(entered->host_procs);
      host_procs = out.take();
    }
  }
  sleeping_barrier(plan.all);
  host_procs = broadcast_bytes(plan.all, plan.speaker, std::move(host_procs));
  if (!entered || plan.rank == plan.speaker) return entered;
  const auto agreed = ByteReader(host_procs).get<std::int32_t>();
  if (!agreed)
    return Error{ErrorKind::kAborted, "the process that speaks for this system could not join"};
  entered->host_procs = *agreed;
  return entered;
}

Result<HostOpening> open_host(const JobSettings& settings, const SystemPlan& plan) {
  if (!plan.connects()) return HostOpening{};
  auto opening = describe_host(settings);
  if (!opening) return opening;
  auto listener = wire::HostListener::open(opening->listening, settings.joining.ports);
  if (!listener) return listener.error();
  opening->listener = std::move(*listener);
  opening->info.port = opening->listener->port();
  return opening;
}

Result<JobAgreement> agree_on_job(const JobSettings& settings, const SystemPlan& plan,
                                  JobEntry entry, wire::ProcInfo info, wire::ClientTraits traits) {
  describe_process(plan, info);
  const auto gathered = gather_bytes(plan.all, plan.speaker, info.encode());
  Result<JobAgreement> agreed = JobAgreement{};
  std::vector<std::byte> encoded;
  if (plan.rank == plan.speaker) {
    agreed = negotiate(settings, plan, entry, gathered, traits);
    if (agreed) {
      agreed->own_server = std::move(entry.own_server);
      agreed->map.set_lanes(settings.joining.size.lanes);
      agreed->map.set_reconnect(settings.joining.size.reconnect);
      agreed->map.set_streams(settings.joining.size.streams);
      agreed->map.set_compressed(settings.joining.size.compressed);
      encoded = wire::encode_job_map(agreed->map);
    }
  }
  sleeping_barrier(plan.all);
  encoded = broadcast_bytes(plan.all, plan.speaker, std::move(encoded));
  JobAgreement nothing;
  share_secrets(plan, agreed ? *agreed : nothing);
  if (!agreed) return agreed;
  if (encoded.empty())
    return Error{ErrorKind::kAborted, "the process that speaks for this system could not join"};
  auto map = wire::decode_job_map(encoded);
  if (!map) return map.error();
  agreed->map = std::move(*map);
  return agreed;
}

}  // namespace impishim::shim
