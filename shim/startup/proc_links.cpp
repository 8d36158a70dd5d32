// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/proc_links.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shim/startup/native_exchange.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/gateway_links.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/connect/unix_socket.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::shim {
namespace {

/// The tag of messages in which procs of a host report why they cannot reach the gateway.
constexpr int kGivenUpTag = 1;

/// The local partners of one process, grouped by how it reaches them: indices in the host.
struct Partners {
  std::vector<std::int32_t> near;
  std::vector<std::int32_t> far;
};

/// The links that exist so far.
using Links = std::vector<wire::LocalChannel>;

/// Returns a function that names the procs of this host in messages.
wire::ProcessNamer namer_of(const ProcLinks& links, const wire::Host& host) {
  return [&job = links.job, first = host.first_proc, gateway = host.gateway](std::int32_t index) {
    return wire::process_name(job, first + index) +
           (index == gateway ? ", the gateway of its host" : "");
  };
}

Result<void> link_near(const ProcLinks& links, const wire::Host& host, wire::SharedMemoryLinks hop,
                       const std::vector<std::int32_t>& near, Links& linked) {
  auto channels = hop.connect(near, links.timeout_ms, links.form, namer_of(links, host));
  if (!channels) return channels.error();
  for (std::size_t i = 0; i < near.size(); ++i)
    linked.push_back({host.first_proc + near[i], std::move((*channels)[i])});
  return {};
}

/// Turns connections to the procs with these indices into channels. `secret` is the gateway's.
Result<void> add_channels(const ProcLinks& links, const wire::Host& host, const JobSecret& secret,
                          const std::vector<std::int32_t>& indices,
                          std::vector<wire::FabricLink> connections, Links& linked) {
  const auto& system = links.job.client(host.client);
  const std::int32_t mine = links.here - host.first_proc;
  std::vector<wire::TlsTerms> terms;
  for (const std::int32_t index : indices) {
    if (!links.job.values().encrypted) break;
    auto made = mine == host.gateway ? wire::gateway_terms(wire::TlsRole::kServer, secret, index)
                                     : wire::gateway_terms(wire::TlsRole::kClient, secret, mine);
    if (!made) return made.error();
    terms.push_back(*made);
  }
  auto channels =
      wire::make_inner_channels(system, std::move(connections), terms, links.timeout_ms);
  if (!channels) return channels.error();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    linked.push_back({host.first_proc + indices[i], std::move((*channels)[i])});
  }
  return {};
}

/// Runs on the gateway. Returns the error that a proc has sent because it could not reach the
/// gateway.
std::optional<Error> given_up(MPI_Comm host_comm) {
  int there = 0;
  MPI_Status status;
  vendor::Iprobe(MPI_ANY_SOURCE, kGivenUpTag, host_comm, &there, &status);
  if (there == 0) return std::nullopt;
  int size = 0;
  vendor::Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  vendor::Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, kGivenUpTag, host_comm,
               MPI_STATUS_IGNORE);
  return Error{ErrorKind::kConnection, text};
}

/// Runs on a proc that cannot reach the gateway; sends the reason to it. The gateway may have
/// failed as well and never receive the message.
void fail_startup(MPI_Comm host_comm, std::int32_t gateway, const std::string& reason) {
  // Must exist until the process ends, since the send may still be in progress.
  static std::string text;
  text = reason;
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, gateway, kGivenUpTag,
                host_comm, &request);
  vendor::Request_free(&request);
}

/// Runs on the gateway. Accepts the connections of procs in other places.
Result<void> accept_far(const ProcLinks& links, const wire::Host& host,
                        wire::GatewayListener listener, const std::vector<std::int32_t>& far,
                        Links& linked) {
  const wire::ProcessNamer name = namer_of(links, host);
  const JobSecret secret = listener.offer().secret;
  auto sockets = listener.accept(
      far, links.timeout_ms, [&] { return given_up(links.host_comm); }, name);
  if (!sockets) return sockets.error();
  std::vector<wire::FabricLink> connections;
  for (std::size_t i = 0; i < far.size(); ++i) {
    connections.push_back({std::move((*sockets)[i]), name(far[i])});
  }
  return add_channels(links, host, secret, far, std::move(connections), linked);
}

/// Runs on a proc whose gateway is in another place. Its timeout is shorter than the gateway's,
/// since its error is more precise.
Result<void> connect_far(const ProcLinks& links, const wire::Host& host,
                         const std::vector<std::byte>& offered, Links& linked) {
  if (offered.empty()) return {};  // the gateway reports the reason
  auto offer = wire::GatewayOffer::decode(offered);
  if (!offer) return offer.error();
  auto socket =
      wire::connect_to_gateway(*offer, links.here - host.first_proc, links.timeout_ms / 2);
  if (!socket) {
    fail_startup(links.host_comm, host.gateway, socket.error().text);
    return socket.error();
  }
  std::vector<wire::FabricLink> connections;
  connections.push_back({std::move(*socket), namer_of(links, host)(host.gateway)});
  return add_channels(links, host, offer->secret, {host.gateway}, std::move(connections), linked);
}

/// Returns the token of each rank of `comm`. Each has kTokenSize characters.
std::vector<std::string> tokens_of_all(MPI_Comm comm, const std::string& mine) {
  int size = 0;
  vendor::Comm_size(comm, &size);
  constexpr int kSize = wire::kTokenSize;
  std::string all(static_cast<std::size_t>(size) * wire::kTokenSize, '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Iallgather(mine.data(), kSize, MPI_CHAR, all.data(), kSize, MPI_CHAR, comm, &request);
  wait_politely(request);
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < all.size(); at += wire::kTokenSize)
    tokens.push_back(all.substr(at, wire::kTokenSize));
  return tokens;
}

}  // namespace

std::vector<std::int32_t> gather_places(MPI_Comm comm, int node_procs) {
  int rank = 0;
  int size = 0;
  vendor::Comm_rank(comm, &rank);
  vendor::Comm_size(comm, &size);
  using Place = std::array<std::uint64_t, 3>;
  const auto network = wire::network_namespace();
  // Procs of one kernel and network reach each other by abstract sockets. MPI_Comm_split_type tells
  // nearly the same, half a second later where procs share processors.
  const std::uint64_t node =
      node_procs > 0 ? static_cast<std::uint64_t>(rank / node_procs) : wire::running_kernel();
  const Place mine = {node, network[0], network[1]};
  std::vector<Place> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Iallgather(mine.data(), 3, MPI_UINT64_T, all.data(), 3, MPI_UINT64_T, comm, &request);
  wait_politely(request);
  std::map<Place, std::int32_t> numbers;
  std::vector<std::int32_t> places;
  places.reserve(all.size());
  for (const Place& each : all) {
    places.push_back(
        numbers.emplace(each, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  return places;
}

Result<std::vector<wire::LocalChannel>> link_procs(const ProcLinks& links) {
  const auto host_number = static_cast<std::size_t>(links.job.proc(links.here).host);
  const wire::Host& host = links.job.hosts()[host_number];
  const std::int32_t my_index = links.here - host.first_proc;
  const auto place_of = [&](std::int32_t index) {
    return links.places[static_cast<std::size_t>(index)];
  };
  Partners partners;
  for (const wire::WorldRank each : wire::local_partners(links.job, links.here)) {
    const std::int32_t index = each - host.first_proc;
    (place_of(index) == place_of(my_index) ? partners.near : partners.far).push_back(index);
  }
  auto token = wire::random_token();
  auto hop = token ? wire::SharedMemoryLinks::open(*token, my_index)
                   : Result<wire::SharedMemoryLinks>(token.error());
  std::optional<Result<wire::GatewayListener>> listener;
  std::vector<std::byte> offer;
  if (my_index == host.gateway && !partners.far.empty()) {
    listener = wire::GatewayListener::open(links.gateway_address);
    if (*listener) offer = (**listener).offer().encode();
  }
  sleeping_barrier(links.host_comm);  // all listen before any connects
  // A name is published only when it is in use: another user who sees a name cannot take the next
  // one.
  auto tokens =
      tokens_of_all(links.host_comm, token ? *token : std::string(wire::kTokenSize, '\0'));
  if (host.gateway >= 0) offer = broadcast_bytes(links.host_comm, host.gateway, std::move(offer));
  if (!hop) return hop.error();
  hop->set_tokens(std::move(tokens));
  if (listener && !*listener) return listener->error();
  Links linked;
  auto near = link_near(links, host, std::move(*hop), partners.near, linked);
  if (!near) return near.error();
  if (partners.far.empty()) return linked;
  auto far = listener ? accept_far(links, host, std::move(**listener), partners.far, linked)
                      : connect_far(links, host, offer, linked);
  if (!far) return far.error();
  return linked;
}

}  // namespace impishim::shim
