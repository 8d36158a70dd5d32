// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/channel_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/tls/channel_key.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

std::string channel_peer_name(const JobMap& job, WorldRank here, std::int32_t host) {
  const std::int32_t client = job.host(host).client;
  if (!job.client(client).impishim) return host_name(job, host);
  return fmt::format("{}, {}", host_name(job, host),
                     process_name(job, receiving_representative(job, here, host)));
}

Result<TlsTerms> channel_tls_terms(const JobMap& job, WorldRank here, std::int32_t host,
                                   const JobSecret& secret, std::int32_t stream) {
  // Each process owns at most one lane to a host, so two processes name a channel.
  const WorldRank there = receiving_representative(job, here, host);
  TlsTerms terms;
  terms.role = here < there ? TlsRole::kServer : TlsRole::kClient;
  terms.identity =
      fmt::format("impishim ranks {} and {}", std::min(here, there), std::max(here, there));
  if (stream > 0) terms.identity += fmt::format(" stream {}", stream);
  auto key = channel_key(secret, terms.identity);
  if (!key) return key.error();
  terms.key = *key;
  wipe(*key);
  return terms;
}

}  // namespace impishim::wire
