// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace impishim::collectives::test {
namespace {

constexpr std::uint64_t kMega = 1 << 20;
constexpr auto kEverything = static_cast<std::uint8_t>(kInOrder | kSlices | kManySegments);

Limits with(const std::string& overrides) {
  Limits limits;
  auto parsed = parse_overrides(overrides);
  EXPECT_TRUE(parsed) << overrides;
  limits.overrides = *parsed;
  return limits;
}

TEST(SelectTest, TakesOnlyFormsOfImpiIfAForeignImplementationTakesPart) {
  Limits limits = with("barrier=exchange,gather=tree,allreduce=sliced,reduce=sliced,scan=exchange");
  limits.impi_only = true;
  EXPECT_EQ(choose(Collective::kBarrier, 2, 0, limits), Form::kLinear);
  EXPECT_EQ(choose(Collective::kBarrier, 5, 0, limits), Form::kTree);
  EXPECT_EQ(choose(Collective::kReduce, 5, kMega, limits, kEverything), Form::kTree);
  EXPECT_EQ(choose(Collective::kGather, 5, 1023, limits), Form::kTree);
  EXPECT_EQ(choose(Collective::kGather, 5, 1024, limits), Form::kLinear);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, kMega, limits, kEverything), Form::kRooted);
  EXPECT_EQ(choose(Collective::kReduceScatter, 2, 8, limits), Form::kRooted);
  EXPECT_EQ(choose(Collective::kScan, 2, 8, limits), Form::kChain);
  EXPECT_EQ(segment_elements(kMega, 8, limits), kMega) << "no segments";
}

TEST(SelectTest, FollowsNumbersOfClientsAndBytes) {
  const Limits limits;
  EXPECT_EQ(choose(Collective::kBarrier, 4, 0, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kBarrier, 32, 0, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 8, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, kMega, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, kMega, limits, kEverything), Form::kSliced);
  EXPECT_EQ(choose(Collective::kAllreduce, 3, kMega, limits), Form::kScattered);
  EXPECT_EQ(choose(Collective::kAllreduce, 9, 1023, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kAllreduce, 9, 1024, limits), Form::kDoubling);
  EXPECT_EQ(choose(Collective::kAllreduce, 9, 1024, limits, kNothing), Form::kRooted);
  EXPECT_EQ(choose(Collective::kReduce, 9, 1023, limits), Form::kLinear);
  EXPECT_EQ(choose(Collective::kReduce, 9, 1024, limits), Form::kTree);
  EXPECT_EQ(choose(Collective::kScan, 9, 1023, limits), Form::kExchange);
  EXPECT_EQ(choose(Collective::kScan, 9, 1024, limits), Form::kDoubling);
  EXPECT_EQ(choose(Collective::kScan, 2, kMega, limits, kEverything), Form::kPipeline);
  EXPECT_EQ(choose(Collective::kScan, 2, kMega, limits, kInOrder), Form::kExchange);
  EXPECT_EQ(choose(Collective::kScan, 3, kMega, limits, kEverything), Form::kExchange);
}

TEST(SelectTest, NeverComputesTheSameTwiceWhereDataIsRepresentedDifferently) {
  Limits limits = with("allreduce=exchange");
  limits.same_representation = false;
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 8, limits), Form::kRooted);
  EXPECT_EQ(choose(Collective::kAllreduce, 9, 8, limits), Form::kRooted);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, kMega, limits), Form::kScattered);
}

TEST(SelectTest, IsOverridden) {
  const Limits limits =
      with("barrier=tree, allreduce = scattered ,segment=1000,long=5000,reduce=linear");
  EXPECT_EQ(choose(Collective::kBarrier, 2, 0, limits), Form::kTree);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 8, limits), Form::kScattered);
  EXPECT_EQ(choose(Collective::kReduce, 17, kMega, limits, kEverything), Form::kLinear);
  EXPECT_EQ(choose(Collective::kScan, 2, 8, limits), Form::kExchange) << "not named";
  EXPECT_EQ(limits.overrides.long_from, 5000U);
  EXPECT_EQ(segment_elements(kMega, 8, limits), 125U);
  EXPECT_EQ(segment_elements(kMega, 1001, limits), 1U);
}

TEST(SelectTest, LamIsLinearUpToFourClientsWhateverWasNegotiated) {
  Limits limits;
  limits.impi_only = true;
  limits.max_linear = 2;
  EXPECT_EQ(choose(Collective::kReduce, 4, 8, limits), Form::kTree);
  limits.as_lam = true;
  EXPECT_EQ(choose(Collective::kReduce, 4, 8, limits), Form::kLinear);
  limits.max_linear = 9;
  EXPECT_EQ(choose(Collective::kBarrier, 5, 0, limits), Form::kTree);
}

TEST(OverridesTest, NothingIsTheDefault) {
  EXPECT_EQ(*parse_overrides(""), Overrides());
  EXPECT_EQ(*parse_overrides("  "), Overrides());
}

TEST(OverridesTest, ErrorsNameTheBadWordAndWhatIsAllowed) {
  const auto text_of = [](const char* text) {
    const auto parsed = parse_overrides(text);
    return parsed ? std::string("no error") : parsed.error().text;
  };
  EXPECT_THAT(text_of("brodcast=linear"),
              testing::HasSubstr("there is no 'brodcast'; allowed are barrier, bcast"));
  EXPECT_THAT(
      text_of("barrier=sliced"),
      testing::HasSubstr(
          "barrier has no form 'sliced'; allowed are linear, tree, exchange, doubling, default"));
  EXPECT_THAT(text_of("bcast@64k=tree"),
              testing::HasSubstr("bcast@64k=tree: a number of bytes is needed behind the @"));
  EXPECT_THAT(text_of("barrier"), testing::HasSubstr("'barrier' is not of the form name=value"));
  EXPECT_THAT(text_of("barrier=tree,"), testing::HasSubstr("'' is not of the form"));
  for (const char* bad :
       {"segment=0", "segment=-1", "segment=", "long=64k", "segment=99999999999999999999999"}) {
    EXPECT_THAT(text_of(bad), testing::HasSubstr("a number of bytes from 1 on is allowed")) << bad;
  }
}

TEST(OverridesTest, FormsDependOnSizes) {
  const Limits limits = with(
      "allreduce@65536=scattered,allreduce@8=doubling,allreduce@1000000=default,bcast=tree,bcast="
      "linear");
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 7, limits), Form::kExchange) << "not chosen";
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 8, limits), Form::kDoubling);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 65535, limits), Form::kDoubling);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, 65536, limits), Form::kScattered);
  EXPECT_EQ(choose(Collective::kAllreduce, 2, kMega, limits), Form::kExchange) << "the table's";
  EXPECT_EQ(choose(Collective::kBcast, 9, 8, limits), Form::kLinear) << "the later item";
}

TEST(OverridesTest, ComeFromAFile) {
  const std::string path = testing::TempDir() + "/overrides";
  std::ofstream(path) << "# measured\n\nallreduce@8 = doubling # short\nbcast=tree,segment=1000\n";
  EXPECT_EQ(*read_overrides("@" + path),
            *parse_overrides("allreduce@8=doubling,bcast=tree,segment=1000"));
  EXPECT_EQ(*read_overrides("bcast=tree"), *parse_overrides("bcast=tree"));
  std::ofstream(path) << "bcast=chain";
  const auto wrong = read_overrides("@" + path);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().text, testing::HasSubstr("bcast has no form 'chain'"));
  EXPECT_THAT(wrong.error().text, testing::HasSubstr(path));
  const auto none = read_overrides("@/no/such/file");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().text,
              testing::HasSubstr("/no/such/file cannot be read: No such file or directory"));
}

TEST(OverridesTest, FingerprintsTellThemApart) {
  const auto print = [](const char* text) { return fingerprint(*parse_overrides(text)); };
  EXPECT_EQ(print("barrier=tree,segment=65536"), print("segment=65536,barrier=tree"));
  EXPECT_NE(print(""), print("barrier=tree"));
  EXPECT_NE(print("barrier=tree"), print("bcast=tree"));
  EXPECT_NE(print("segment=1"), print("long=1"));
  EXPECT_NE(print("barrier=tree"), print("barrier@1=tree"));
  EXPECT_NE(fingerprint(Overrides(), false), fingerprint(Overrides(), true)) << "IMPISHIM_FOREIGN";
}

}  // namespace
}  // namespace impishim::collectives::test
