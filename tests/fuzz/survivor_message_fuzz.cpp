// SPDX-License-Identifier: Apache-2.0
// What other processes tell of failures: notices on collectives, and the messages by which systems
// agree after a loss.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "shim/values/failure_notice.hpp"
#include "shim/values/failure_watch.hpp"
#include "shim/values/survivor_agreement.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace impishim::shim;
using impishim::fuzz::Input;

namespace {

constexpr std::int32_t kSystems = 4;
constexpr std::size_t kLongestText = kFailureNoticeSize;

/// Returns the next bytes of the input as a value without padding.
template <class Value>
Value take(Input& input) {
  Value value{};
  const auto bytes = input.bytes(sizeof(value));
  std::memcpy(value.data(), bytes.data(), bytes.size());
  return value;
}

void tell_of_failures(Input input) {
  FailureWatch watch;
  watch.failed_here(FailureNotice::Kind::kArguments, 1, 1, {1, 2});
  for (std::uint64_t collective = 1; !input.empty() && collective < 40; ++collective) {
    const auto notice = decode_failure_notice(take<FailureNoticeBytes>(input));
    if (!notice) continue;
    FUZZ_REQUIRE(notice->text.size() <= 4 * kLongestText);
    const auto again = decode_failure_notice(encode(*notice));
    FUZZ_REQUIRE(again && again->kind == notice->kind && again->origin == notice->origin);
    watch.called(collective, collective % 3);
    watch.take(*notice);
    // Only what was told can end a collective.
    const auto end = watch.end_of(collective, collective, collective % 2 == 0);
    FUZZ_REQUIRE(!end || end->text.size() <= 4 * kLongestText);
    watch.drop_before(collective / 2);
  }
}

void agree(Input input) {
  SurvivorAgreement agreement(0, {0, 1, 2, 3}, {.flags = 5, .acknowledged = 1, .context = 9});
  std::size_t told = agreement.take_messages().size();
  while (!input.empty()) {
    const std::uint8_t what = input.byte();
    if (what % 16 == 15) {
      agreement.lose(what >> 4U);
    } else if (const auto message = decode_agreement(take<AgreementBytes>(input))) {
      FUZZ_REQUIRE(encode(*message) == encode(*decode_agreement(encode(*message))));
      agreement.receive(what % (kSystems + 2), *message);
    }
    const auto messages = agreement.take_messages();
    told += messages.size();
    FUZZ_REQUIRE(std::ranges::all_of(
        messages, [](const auto& each) { return each.first > 0 && each.first < kSystems; }));
  }
  // For each of the sixteen sets of losses: the words, that they are locked, and the decision.
  FUZZ_REQUIRE(told <= std::size_t{16} * 3 * kSystems);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const bool notices = input.byte() % 2 == 0;
  if (notices) {
    tell_of_failures(input);
  } else {
    agree(input);
  }
  return 0;
}
