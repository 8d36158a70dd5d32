// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/job_secret.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

constexpr std::string_view kContext = "impishim: secret of a job, 1";

}  // namespace

Result<JobSecret> combine_secret(const LabelData* contributions,
                                 const std::vector<Client>& clients) {
  std::uint32_t mask = 0;
  std::size_t count = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    if (!clients[c].impishim) continue;
    mask |= 1U << c;
    ++count;
  }
  if (contributions == nullptr || contributions->client_mask != mask ||
      contributions->data.size() != count * JobSecret::kSize) {
    return Error{ErrorKind::kProtocol,
                 "startup, secret: not one contribution of each impishim client"};
  }
  const auto context = std::as_bytes(std::span(kContext));
  std::vector<std::byte> message(context.begin(), context.end());
  message.insert(message.end(), contributions->data.begin(), contributions->data.end());
  auto digest = sha256(message);
  wipe(message);
  if (!digest) return digest.error();
  const JobSecret secret(*digest);
  wipe(*digest);
  return secret;
}

}  // namespace impishim::wire
