// SPDX-License-Identifier: Apache-2.0
#include "wire/port/group_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/packet/packet.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/group_info.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

using Nonce = std::array<std::byte, 32>;

/// What a root sends first: a nonce, its proposal, and its group.
struct Opening {
  Nonce nonce{};
  std::uint64_t context = 0;
  GroupInfo group;
};

Error malformed() {
  return {ErrorKind::kProtocol,
          "the process at the other end of the port has sent what no root of "
          "this version of the library sends"};
}

std::vector<std::byte> encode(const Nonce& nonce, std::uint64_t context, const GroupInfo& group) {
  ByteWriter out;
  out.put_bytes(nonce);
  out.put(context);
  out.put_bytes(group.encode());
  return out.take();
}

Result<Opening> decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const auto nonce = in.get_bytes(sizeof(Nonce));
  const auto context = in.get<std::uint64_t>();
  if (!nonce || !context) return malformed();
  Opening opening;
  std::ranges::copy(*nonce, opening.nonce.begin());
  opening.context = *context;
  auto group = GroupInfo::decode(*in.get_bytes(in.remaining()));
  if (!group) return group.error();
  if (group->members.empty()) return malformed();
  opening.group = std::move(*group);
  return opening;
}

/// Sends a message and receives the other root's. The accepting end sends first, so that two long
/// messages do not wait for each other.
Result<std::vector<std::byte>> swap_messages(Conversation& conversation,
                                             std::span<const std::byte> mine) {
  if (conversation.accepted()) {
    auto sent = conversation.send(mine);
    return sent ? conversation.receive() : sent.error();
  }
  auto theirs = conversation.receive();
  if (!theirs) return theirs;
  auto sent = conversation.send(mine);
  return sent ? std::move(theirs) : sent.error();
}

/// Derives the secret of the new connections.
Result<JobSecret> derive(const JobSecret& port_secret, const Nonce& acceptor,
                         const Nonce& connector) {
  ByteWriter message;
  constexpr std::string_view kPurpose = "impishim group 1";
  message.put_bytes(std::as_bytes(std::span(kPurpose)));
  message.put_bytes(acceptor);
  message.put_bytes(connector);
  auto digest = hmac_sha256(port_secret.bytes(), message.bytes());
  if (!digest) return digest.error();
  JobSecret secret{std::span<const std::byte, JobSecret::kSize>(*digest)};
  wipe(*digest);
  return secret;
}

/// Returns a map in which each member is a host, and each group a client. The accepting group comes
/// first.
Result<JobMap> map_of(const std::vector<GroupMember>& acceptors,
                      const std::vector<GroupMember>& connectors) {
  std::vector<Client> clients;
  std::vector<Host> hosts;
  std::vector<ProcId> procs;
  for (const auto* group : {&acceptors, &connectors}) {
    Client& client = clients.emplace_back();
    client.host_count = static_cast<std::int32_t>(group->size());
    client.proc_count = client.host_count;
    client.impishim = true;
    for (const GroupMember& member : *group) {
      hosts.push_back({.address = member.address, .port = member.port, .proc_count = 1});
      procs.push_back(member.id);
    }
  }
  return JobMap::create(std::move(clients), std::move(hosts), std::move(procs), {});
}

}  // namespace

Result<GroupAgreement> agree_on_groups(Conversation& conversation, const JobSecret& port_secret,
                                       const GroupInfo& mine, std::uint64_t context) {
  Nonce nonce{};
  auto filled = fill_with_random(nonce);
  if (!filled) return filled.error();
  auto received = swap_messages(conversation, encode(nonce, context, mine));
  if (!received) return received.error();
  auto theirs = decode(*received);
  if (!theirs) return theirs.error();
  if (const auto difference = mine.terms.difference(theirs->group.terms))
    return Error{ErrorKind::kConfiguration, *difference};
  const bool accepted = conversation.accepted();
  auto secret = accepted ? derive(port_secret, nonce, theirs->nonce)
                         : derive(port_secret, theirs->nonce, nonce);
  if (!secret) return secret.error();
  return GroupAgreement{std::move(theirs->group), accepted ? context : theirs->context, *secret};
}

std::optional<Error> agree_on_outcome(Conversation& conversation,
                                      const std::optional<Error>& mine) {
  const std::string text = mine ? mine->text : std::string();
  const auto theirs = swap_messages(conversation, std::as_bytes(std::span(text)));
  if (mine) return mine;
  if (!theirs) return theirs.error();
  if (theirs->empty()) return std::nullopt;
  const std::string_view told(reinterpret_cast<const char*>(theirs->data()), theirs->size());
  return Error{ErrorKind::kAborted, fmt::format("the other group reports: {}", printable(told))};
}

Result<std::vector<std::unique_ptr<Channel>>> connect_members(
    const GroupSide& mine, const GroupSide& theirs, std::int32_t rank, HostListener listener,
    const JobSecret& secret, int timeout_ms) {
  const GroupSide& first = mine.accepts ? mine : theirs;
  const GroupSide& second = mine.accepts ? theirs : mine;
  auto map = map_of(first.members, second.members);
  if (!map) return map.error();
  const auto before = static_cast<std::int32_t>(first.members.size());
  const std::int32_t my_host = mine.accepts ? rank : before + rank;
  const std::int32_t first_of_theirs = mine.accepts ? before : 0;
  std::vector<std::unique_ptr<Channel>> channels(theirs.members.size());
  const auto take = [&](std::int32_t host, std::int32_t /*lane*/,
                        Descriptor socket) -> Result<void> {
    const auto place = static_cast<std::size_t>(host - first_of_theirs);
    channels[place] = std::make_unique<TcpChannel>(
        std::move(socket),
        fmt::format("rank {} of the connected group, {}", place, host_name(*map, host)));
    return {};
  };
  DanceOptions options;
  options.secret = secret;
  options.timeout_ms = timeout_ms;
  const std::uint64_t my_job = mine.members[static_cast<std::size_t>(rank)].job;
  options.is_partner = [&](std::int32_t host) {
    const auto place = static_cast<std::size_t>(host - first_of_theirs);
    return host >= first_of_theirs && place < channels.size() &&
           theirs.members[place].job != my_job;
  };
  auto connected = connect_hosts(*map, my_host, listener, options, take);
  if (!connected) return connected.error();
  return channels;
}

}  // namespace impishim::wire
