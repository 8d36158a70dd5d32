// SPDX-License-Identifier: Apache-2.0
/// What two groups of processes of different jobs tell each other before they are connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A process that is to be connected.
struct GroupMember {
  static constexpr std::size_t kLongestNode = 64;
  /// Every member's encoding has this size, so that a gather can collect them.
  static constexpr std::size_t kBytes = 128;

  ProcId id;
  HostId address{};         ///< where it listens for the connections of this operation
  std::uint16_t port = 0;   ///< and the port
  std::uint64_t job = 0;    ///< the same number for all processes of its job, and for no others
  std::int32_t system = 0;  ///< number of its system in that job
  std::uint64_t representation = 0;  ///< Client::representation
  bool concurrent = false;           ///< ClientTraits::concurrent
  std::string node;                  ///< name of its machine, at most kLongestNode bytes

  /// Encodes it into kBytes bytes.
  void encode(std::span<std::byte, kBytes> bytes) const;
  /// Decodes it. Fails with kProtocol if a field has a value that encode() does not write.
  [[nodiscard]] static Result<GroupMember> decode(std::span<const std::byte, kBytes> bytes);
};

/// Settings that all members of a communicator must share.
struct GroupTerms {
  NegotiatedValues values;
  std::uint64_t collectives = 0;  ///< Client::collectives
  std::string wire_format;        ///< IMPISHIM_WIRE_FORMAT

  /// Returns nothing if messages and collectives between both jobs work. Otherwise returns one
  /// sentence with the first difference, its values and its cure.
  [[nodiscard]] std::optional<std::string> difference(const GroupTerms& other) const;
};

/// A group, in the order of its ranks.
struct GroupInfo {
  GroupTerms terms;
  std::vector<GroupMember> members;

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Fails with kProtocol if the bytes are no result of encode().
  [[nodiscard]] static Result<GroupInfo> decode(std::span<const std::byte> bytes);
};

/// Decodes members whose encodings follow each other. Fails as GroupMember::decode() does, and with
/// kProtocol if a part of one is missing.
[[nodiscard]] Result<std::vector<GroupMember>> decode_members(std::span<const std::byte> bytes);

}  // namespace impishim::wire
