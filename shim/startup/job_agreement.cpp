// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/job_agreement.hpp"

#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
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
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/packet/packet.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/bootstrap.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_plan.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/job_map_codec.hpp"

namespace impishim::shim {
namespace {

/// The minimum that every MPI library guarantees (MPI-3.1 8.1.2).
constexpr int kLeastTagUb = 32767;

Result<wire::HostId> own_address(const JobSettings& settings) {
  return settings.address.empty()
             ? wire::address_towards(settings.server)
             : wire::parse_own_address("IMPISHIM_HOST_ADDRESS", settings.address);
}

/// Returns the vendor's MPI_TAG_UB. Messages inside this system carry the user's tags through the
/// vendor.
int native_tag_ub(MPI_Comm all) {
  int* tag_ub = nullptr;
  int found = 0;
  vendor::Comm_get_attr(all, MPI_TAG_UB, static_cast<void*>(&tag_ub), &found);
  return found != 0 ? *tag_ub : kLeastTagUb;
}

/// Returns what this system announces. `gathered` has the encoded ProcInfo of each process.
Result<wire::JoinOptions> join_options(const JobSettings& settings, const SystemPlan& plan,
                                       std::span<const std::vector<std::byte>> gathered) {
  auto procs = wire::decode_all(gathered);
  if (!procs) return procs.error();
  auto values = wire::ClientValues::from_environment();
  if (!values) return values.error();
  auto fabrics = wire::fabrics_of_system((*procs)[static_cast<std::size_t>(plan.rank)].fabrics,
                                         *procs, settings.fabric.automatic);
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
    options.hosts.push_back(wire::local_host(planned, *procs));
  return options;
}

/// Joins the job at the server, on the process that speaks for the system.
Result<JobAgreement> negotiate(const JobSettings& settings, const wire::JoinOptions& options) {
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return methods.error();
  auto server = wire::ServerConnection::connect(settings.server, settings.client, *methods,
                                                kConnectTimeoutMs);
  if (!server) return server.error();
  auto agreed = server->exchange(options);
  if (!agreed) return agreed.error();
  // If the server is foreign, the system has its own secret.
  auto own = JobSecret::random();
  if (!own) return own.error();
  JobAgreement agreement;
  agreement.map = std::move(agreed->map);
  agreement.secret = agreed->secret.value_or(*own);
  agreement.server = std::move(*server);
  return agreement;
}

/// Distributes the secret from the speaker to all processes of this system.
void share_secret(const SystemPlan& plan, std::optional<JobSecret>& secret) {
  std::vector<std::byte> bytes;
  if (secret) bytes.assign(secret->bytes().begin(), secret->bytes().end());
  bytes = broadcast_bytes(plan.all, plan.speaker, std::move(bytes));
  if (bytes.size() == JobSecret::kSize) secret.emplace(std::span(bytes).first<JobSecret::kSize>());
  wipe(bytes);
}

/// Completes the description of this process: the host's address, and its own name.
void describe_process(const SystemPlan& plan, wire::ProcInfo& info) {
  std::vector<std::byte> address(info.address.begin(), info.address.end());
  address = broadcast_bytes(plan.host_comm, plan.connector(), std::move(address));
  std::copy(address.begin(), address.end(), info.address.begin());
  info.pid = getpid();
  utsname machine{};
  if (uname(&machine) == 0) info.node = machine.nodename;
}

}  // namespace

Result<HostOpening> open_host(const JobSettings& settings, const SystemPlan& plan) {
  HostOpening opening;
  if (!plan.connects()) return opening;
  if (!settings.gateway_address.empty()) {
    auto inner = wire::parse_own_address("IMPISHIM_GATEWAY_ADDRESS", settings.gateway_address);
    if (!inner) return inner.error();
    opening.gateway_address = *inner;
  }
  auto address = own_address(settings);
  if (!address) return address.error();
  opening.info.address = *address;
  auto listener = wire::HostListener::open(*address);
  if (!listener) return listener.error();
  opening.listener = std::move(*listener);
  opening.info.port = opening.listener->port();
  auto fabrics = wire::usable_providers(settings.fabric);
  if (!fabrics) return fabrics.error();
  opening.info.fabrics = std::move(*fabrics);
  return opening;
}

Result<JobAgreement> agree_on_job(const JobSettings& settings, const SystemPlan& plan,
                                  wire::ProcInfo info, bool concurrent) {
  describe_process(plan, info);
  const auto gathered = gather_bytes(plan.all, plan.speaker, info.encode());
  Result<JobAgreement> agreed = JobAgreement{};
  std::vector<std::byte> encoded;
  if (plan.rank == plan.speaker) {
    auto options = join_options(settings, plan, gathered);
    if (options) options->concurrent = concurrent;
    agreed = options ? negotiate(settings, *options) : options.error();
    if (agreed) encoded = wire::encode_job_map(agreed->map);
  }
  sleeping_barrier(plan.all);
  encoded = broadcast_bytes(plan.all, plan.speaker, std::move(encoded));
  std::optional<JobSecret> secret;
  if (agreed) secret = agreed->secret;
  share_secret(plan, secret);
  if (!agreed) return agreed;
  if (encoded.empty())
    return Error{ErrorKind::kAborted, "the process that speaks for this system could not join"};
  auto map = wire::decode_job_map(encoded);
  if (!map) return map.error();
  agreed->map = std::move(*map);
  agreed->secret = secret;
  return agreed;
}

}  // namespace impishim::shim
