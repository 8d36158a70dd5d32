// SPDX-License-Identifier: Apache-2.0
/// How systems of which others are lost agree on a value (MPIX_Comm_agree, MPIX_Comm_shrink): all
/// that go on decide the same, whatever is lost meanwhile. Without MPI: it takes what happens, and
/// returns the messages to send. One process of each system takes part.
///
/// An *epoch* is a set of lost systems, as a member knows it. In an epoch each member tells all
/// that are not lost its words, and combines theirs when all of them have told theirs in the same
/// epoch: the words are then *locked*. It tells that. When all have told it in the same epoch, the
/// locked words are decided. A further loss begins a new epoch; words that any member has locked
/// before are then what all lock again. So if one member has decided, all others have locked the
/// same words, and a member that decides tells the decision to all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace impishim::shim {

/// What is agreed on. Bit i of a set of systems stands for system i.
struct AgreedWords {
  std::uint64_t flags = 0;         ///< combined by "and"
  std::uint64_t acknowledged = 0;  ///< set of lost systems that are acknowledged, by "and"
  std::uint64_t context = 0;       ///< proposal of a context id, the greatest counts
  std::uint64_t lost = 0;          ///< the set of the epoch in which they were combined

  void combine(const AgreedWords& other);
  bool operator==(const AgreedWords&) const = default;
};

struct AgreementMessage {
  enum class Kind : std::uint8_t { kWords, kLocked, kDecided };
  Kind kind = Kind::kWords;
  bool locked = false;      ///< kWords: they were locked in an earlier epoch
  std::uint64_t epoch = 0;  ///< the systems that the sender knows to be lost
  AgreedWords words;
};

using AgreementBytes = std::array<std::uint64_t, 6>;
[[nodiscard]] AgreementBytes encode(const AgreementMessage& message);
/// Returns nothing if the words are no message.
[[nodiscard]] std::optional<AgreementMessage> decode_agreement(const AgreementBytes& bytes);

class SurvivorAgreement {
 public:
  /// `systems` are those that take part, `here` one of them, `words` its own.
  SurvivorAgreement(std::int32_t here, const std::vector<std::int32_t>& systems,
                    const AgreedWords& words);

  /// Notes that these systems are lost, besides those that were noted before.
  void lose(std::uint64_t systems);
  /// Takes the next message of a system.
  void receive(std::int32_t from, const AgreementMessage& message);
  /// Returns the messages to send, each with its receiver, in order.
  [[nodiscard]] std::vector<std::pair<std::int32_t, AgreementMessage>> take_messages() {
    return std::exchange(outgoing_, {});
  }
  [[nodiscard]] const std::optional<AgreedWords>& decision() const { return decision_; }

 private:
  /// The latest of each kind that a system has told.
  struct Told {
    std::optional<AgreementMessage> words;
    std::optional<std::uint64_t> locked_in;  ///< epoch
  };

  [[nodiscard]] bool is_lost(std::int32_t system) const {
    return (lost_ >> static_cast<unsigned>(system) & 1U) != 0;
  }
  void tell(AgreementMessage::Kind kind);
  void begin_epoch();
  void advance();
  [[nodiscard]] bool all_have_told() const;
  [[nodiscard]] bool all_have_locked() const;
  void lock();
  void decide(const AgreedWords& words);

  std::uint64_t lost_ = 0;
  AgreedWords words_;  ///< of this system; after a lock, the locked ones
  bool locked_ = false;
  bool locked_in_epoch_ = false;
  std::map<std::int32_t, Told> others_;
  std::optional<AgreedWords> decision_;
  std::vector<std::pair<std::int32_t, AgreementMessage>> outgoing_;
};

}  // namespace impishim::shim
