// SPDX-License-Identifier: Apache-2.0
/// What a member of a communicator tells the others when its collective ends in an error, and the
/// message that carries it. See shim/job/failure_notices.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// The collectives of a communicator are numbered from 1. All members count alike, since all call
/// them in the same order (MPI-3.1 5.12).
struct FailureNotice {
  enum class Kind : std::uint8_t {
    kArguments,  ///< the member did not take part in the collective: its arguments are wrong
    kOutcome,    ///< the member took part, and an error ended its part
    kInit,       ///< the member has no persistent request; `number` counts its initialisations
    kWaits,      ///< no error: the member has waited for long, with these arguments
    kBroken,     ///< a member gave up the collective: it and all later ones end in an error
    kLeft,       ///< a member gave up the creation of a communicator; for its own system
    kRevoked,    ///< a member has revoked the communicator
    kLost,       ///< members are lost; never sent
  };
  wire::ContextId context = 0;  ///< point-to-point context of the communicator
  std::uint64_t number = 0;
  Kind kind = Kind::kArguments;
  int error_class = 0;          ///< this MPI library's value
  std::uint64_t signature = 0;  ///< of the arguments (kWaits); see signature_of()
  wire::WorldRank origin = 0;   ///< the process that found the error
  std::string text;             ///< the error as the origin reported it
};

/// Returns a number for those arguments of a collective that must be the same at all members: the
/// operation, the root, or -1, and the number of basic elements. Never 0, which stands for unknown.
[[nodiscard]] std::uint64_t signature_of(std::uint32_t operation, std::int32_t root,
                                         std::uint64_t elements);

/// Size of a notice as a message.
inline constexpr std::size_t kFailureNoticeSize = 192;
using FailureNoticeBytes = std::array<std::byte, kFailureNoticeSize>;

/// Returns the message of a notice. A text that is too long is cut. The error class travels as a
/// number of its own, since its value is each MPI library's own.
[[nodiscard]] FailureNoticeBytes encode(const FailureNotice& notice);
/// Returns the notice of a message, or nothing if the bytes are not one. The text can be printed.
[[nodiscard]] std::optional<FailureNotice> decode_failure_notice(const FailureNoticeBytes& bytes);

}  // namespace impishim::shim
