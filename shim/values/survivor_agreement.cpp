// SPDX-License-Identifier: Apache-2.0
#include "shim/values/survivor_agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace impishim::shim {
namespace {

constexpr std::uint64_t kMark = 0x494d4147;  ///< tells a message from other bytes

}  // namespace

void AgreedWords::combine(const AgreedWords& other) {
  flags &= other.flags;
  acknowledged &= other.acknowledged;
  context = std::max(context, other.context);
}

AgreementBytes encode(const AgreementMessage& message) {
  const std::uint64_t head = kMark << 32U | std::uint64_t{message.locked ? 1U : 0U} << 8U |
                             static_cast<std::uint64_t>(message.kind);
  const AgreedWords& words = message.words;
  return {head, message.epoch, words.flags, words.acknowledged, words.context, words.lost};
}

std::optional<AgreementMessage> decode_agreement(const AgreementBytes& bytes) {
  const std::uint64_t kind = bytes[0] & 0xffU;
  if (bytes[0] >> 32U != kMark || (bytes[0] & 0xfffffe00U) != 0 ||
      kind > static_cast<std::uint64_t>(AgreementMessage::Kind::kDecided))
    return std::nullopt;
  return AgreementMessage{static_cast<AgreementMessage::Kind>(kind), (bytes[0] >> 8U & 1U) != 0,
                          bytes[1], AgreedWords{bytes[2], bytes[3], bytes[4], bytes[5]}};
}

SurvivorAgreement::SurvivorAgreement(std::int32_t here, const std::vector<std::int32_t>& systems,
                                     const AgreedWords& words)
    : words_(words) {
  for (const std::int32_t system : systems) {
    if (system != here) others_.try_emplace(system);
  }
  begin_epoch();
}

void SurvivorAgreement::tell(AgreementMessage::Kind kind) {
  for (const auto& [system, told] : others_) {
    if (!is_lost(system))
      outgoing_.emplace_back(system, AgreementMessage{kind, locked_, lost_, words_});
  }
}

void SurvivorAgreement::begin_epoch() {
  locked_in_epoch_ = false;
  tell(AgreementMessage::Kind::kWords);
  advance();
}

void SurvivorAgreement::lose(std::uint64_t systems) {
  if (decision_ || (systems & ~lost_) == 0) return;
  lost_ |= systems;
  begin_epoch();
}

void SurvivorAgreement::receive(std::int32_t from, const AgreementMessage& message) {
  const auto other = others_.find(from);
  if (decision_ || other == others_.end() || is_lost(from)) return;
  switch (message.kind) {
    case AgreementMessage::Kind::kWords:
      other->second.words = message;
      break;
    case AgreementMessage::Kind::kLocked:
      other->second.locked_in = message.epoch;
      break;
    case AgreementMessage::Kind::kDecided:
      return decide(message.words);
  }
  advance();
}

bool SurvivorAgreement::all_have_told() const {
  return std::ranges::all_of(others_, [this](const auto& each) {
    const auto& words = each.second.words;
    return is_lost(each.first) || (words && words->epoch == lost_);
  });
}

bool SurvivorAgreement::all_have_locked() const {
  return std::ranges::all_of(others_, [this](const auto& each) {
    return is_lost(each.first) || each.second.locked_in == lost_;
  });
}

void SurvivorAgreement::lock() {
  for (const auto& [system, told] : others_) {
    if (locked_ || is_lost(system) || !told.words->locked) continue;
    words_ = told.words->words;
    locked_ = true;
  }
  if (!locked_) {
    for (const auto& [system, told] : others_) {
      if (!is_lost(system)) words_.combine(told.words->words);
    }
    words_.lost = lost_;
    locked_ = true;
  }
  locked_in_epoch_ = true;
  tell(AgreementMessage::Kind::kLocked);
}

void SurvivorAgreement::advance() {
  if (decision_) return;
  if (!locked_in_epoch_ && all_have_told()) lock();
  if (locked_in_epoch_ && all_have_locked()) decide(words_);
}

void SurvivorAgreement::decide(const AgreedWords& words) {
  words_ = words;
  decision_ = words;
  tell(AgreementMessage::Kind::kDecided);
}

}  // namespace impishim::shim
