// SPDX-License-Identifier: Apache-2.0
// What a member concludes from notices of failed collectives, and the notices as messages.
#include "shim/values/failure_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "shim/values/failure_notice.hpp"

namespace impishim::shim {
namespace {

using Kind = FailureNotice::Kind;

FailureNotice notice(Kind kind, std::uint64_t number, wire::WorldRank origin = 1) {
  return {.context = 8,
          .number = number,
          .kind = kind,
          .error_class = MPI_ERR_COUNT,
          .signature = 7,
          .origin = origin,
          .text = "MPI_Allreduce: the count is -1"};
}

TEST(FailureNotice, SurvivesTheWay) {
  for (const Kind kind :
       {Kind::kArguments, Kind::kOutcome, Kind::kInit, Kind::kWaits, Kind::kBroken}) {
    const FailureNotice sent = notice(kind, 1ULL << 40U, 12345);
    const auto got = decode_failure_notice(encode(sent));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->kind, kind);
    EXPECT_EQ(got->context, sent.context);
    EXPECT_EQ(got->number, sent.number);
    EXPECT_EQ(got->error_class, MPI_ERR_COUNT);
    EXPECT_EQ(got->signature, 7U);
    EXPECT_EQ(got->origin, 12345);
    EXPECT_EQ(got->text, sent.text);
  }
}

TEST(FailureNotice, LongTextsAreCutAndUnknownClassesAreOther) {
  FailureNotice sent = notice(Kind::kOutcome, 1);
  sent.text = std::string(1000, 'x') + "y";
  sent.error_class = 1 << 20;
  const auto got = decode_failure_notice(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->text, std::string(got->text.size(), 'x'));
  EXPECT_GT(got->text.size(), 100U);
  EXPECT_EQ(got->error_class, MPI_ERR_OTHER);
}

TEST(FailureNotice, OtherBytesAreRefused) {
  EXPECT_FALSE(decode_failure_notice({}));
  for (const std::size_t changed : {std::size_t{0}, std::size_t{4}, std::size_t{6}}) {
    FailureNoticeBytes bytes = encode(notice(Kind::kArguments, 1));
    bytes[changed] = std::byte{0xFF};
    EXPECT_FALSE(decode_failure_notice(bytes)) << changed;
  }
}

TEST(FailureNotice, ControlCharactersOfTheTextAreEscaped) {
  FailureNotice sent = notice(Kind::kArguments, 1);
  sent.text = "a\x1b[2Jb";
  const auto got = decode_failure_notice(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->text, "a\\x1b[2Jb");
}

TEST(FailureWatch, EndsTheCollectiveThatFailedElsewhere) {
  FailureWatch watch;
  watch.take(notice(Kind::kArguments, 5));
  EXPECT_FALSE(watch.end_of(4, 0, true));
  EXPECT_TRUE(watch.end_of(5, 0, false));
}

TEST(FailureWatch, EndsTheNextCollectiveIfThisMemberCompletedTheFailedOne) {
  FailureWatch watch;
  watch.take(notice(Kind::kArguments, 5));
  watch.drop_before(6);
  EXPECT_TRUE(watch.end_of(6, 0, false));
}

TEST(FailureWatch, WaitsForMembersThatTookPart) {
  FailureWatch watch;
  watch.take(notice(Kind::kOutcome, 5));
  EXPECT_FALSE(watch.end_of(5, 0, false));
  EXPECT_TRUE(watch.end_of(5, 0, true));
}

TEST(FailureWatch, ABrokenCommunicatorEndsAllLaterCollectives) {
  FailureWatch watch;
  watch.take(notice(Kind::kBroken, 5));
  EXPECT_FALSE(watch.end_of(4, 0, true));
  EXPECT_TRUE(watch.end_of(5, 0, false));
  EXPECT_TRUE(watch.end_of(99, 0, false));
  watch.drop_before(99);
  EXPECT_TRUE(watch.end_of(99, 0, false));
}

TEST(FailureWatch, ARequestThatAnotherMemberLacksEndsInAnError) {
  FailureWatch watch;
  watch.take(notice(Kind::kInit, 2));
  EXPECT_FALSE(watch.end_of(7, 1, true));
  EXPECT_TRUE(watch.end_of(7, 2, false));
}

TEST(FailureWatch, AnErrorOfAMemberThatTookPartConcernsNoLaterCollective) {
  FailureWatch watch;
  watch.take(notice(Kind::kOutcome, 5));
  EXPECT_FALSE(watch.end_of(6, 0, true));
  watch.drop_before(6);
  EXPECT_FALSE(watch.end_of(5, 0, true));
}

TEST(FailureWatch, AMemberThatTookPartWhereThisOneDidNotBreaksTheCommunicator) {
  for (const bool before : {true, false}) {
    FailureWatch watch;
    if (before) watch.take(notice(Kind::kOutcome, 5));
    watch.failed_here(Kind::kArguments, 5, 5, {1, 2});
    if (!before) watch.take(notice(Kind::kOutcome, 5));
    EXPECT_TRUE(watch.end_of(6, 0, false)) << before;
    EXPECT_TRUE(watch.in_doubt(6)) << before;
  }
}

TEST(FailureWatch, IsInDoubtUntilAllOthersHaveBeenHeard) {
  FailureWatch watch;
  watch.failed_here(Kind::kArguments, 5, 5, {1, 2, 3});
  EXPECT_FALSE(watch.in_doubt(5));
  EXPECT_TRUE(watch.in_doubt(6));
  watch.take(notice(Kind::kArguments, 5, 1));
  watch.take(notice(Kind::kArguments, 5, 2));
  watch.take(notice(Kind::kArguments, 4, 3));
  EXPECT_TRUE(watch.in_doubt(6));
  watch.take(notice(Kind::kArguments, 5, 3));
  EXPECT_FALSE(watch.in_doubt(6));
}

TEST(FailureWatch, HearsThoseWhoFailedBefore) {
  FailureWatch watch;
  watch.take(notice(Kind::kArguments, 5, 1));
  watch.failed_here(Kind::kArguments, 5, 5, {1});
  EXPECT_FALSE(watch.in_doubt(6));
  EXPECT_FALSE(watch.end_of(5, 0, true));
}

TEST(FailureWatch, TellsFailedInitialisationsFromFailedCollectives) {
  FailureWatch watch;
  watch.failed_here(Kind::kInit, 1, 4, {1});
  EXPECT_FALSE(watch.in_doubt(4));
  EXPECT_TRUE(watch.in_doubt(5));
  watch.take(notice(Kind::kArguments, 1, 1));
  EXPECT_TRUE(watch.in_doubt(5));
  watch.take(notice(Kind::kInit, 1, 1));
  EXPECT_FALSE(watch.in_doubt(5));
}

TEST(FailureWatch, OtherArgumentsThanThoseOfAMemberThatWaitsEndTheCollective) {
  FailureWatch watch;
  watch.called(5, 7);
  watch.called(6, 8);
  watch.take(notice(Kind::kWaits, 5));
  EXPECT_FALSE(watch.end_of(6, 0, true));
  watch.take(notice(Kind::kWaits, 6));
  EXPECT_TRUE(watch.end_of(6, 0, false));
}

TEST(FailureWatch, UnknownArgumentsEndNothing) {
  FailureWatch watch;
  watch.called(5, 0);
  watch.take(notice(Kind::kWaits, 5));
  watch.take(notice(Kind::kWaits, 5 + 64));
  EXPECT_FALSE(watch.end_of(5, 0, true));
}

TEST(FailureWatch, SignaturesTellArgumentsApart) {
  const auto signature = signature_of(1, 0, 100);
  EXPECT_NE(signature, 0U);
  EXPECT_EQ(signature, signature_of(1, 0, 100));
  EXPECT_NE(signature, signature_of(2, 0, 100));
  EXPECT_NE(signature, signature_of(1, 1, 100));
  EXPECT_NE(signature, signature_of(1, 0, 101));
}

TEST(FailureWatch, ALonelyMemberHasNoDoubts) {
  FailureWatch watch;
  watch.failed_here(Kind::kArguments, 1, 1, {});
  EXPECT_FALSE(watch.in_doubt(2));
}

}  // namespace
}  // namespace impishim::shim
