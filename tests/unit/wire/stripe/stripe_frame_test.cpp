// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/stripe_frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

using enum StripeFrameType;
using testing::HasSubstr;

void expect_refused(const StripeFrame& frame, const char* reason) {
  const auto decoded = decode_stripe_frame(encode_stripe_frame(frame));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(decoded.error().text, HasSubstr(reason));
}

TEST(StripeFrame, SurvivesTheWire) {
  for (const StripeFrame& frame :
       {StripeFrame{kResume, 0, ~0ULL, 0}, StripeFrame{kData, 1, 5, ~0ULL - 1},
        StripeFrame{kData, StripeFrame::kMostFrame, 0, 7}, StripeFrame{kAcknowledge, 0, 9, 0},
        StripeFrame{kEnd, 0, 1, ~0ULL}, StripeFrame{kEnd, 0, 1, 0},
        StripeFrame{kQuestion, 0, 3, 0}}) {
    const auto decoded = decode_stripe_frame(encode_stripe_frame(frame));
    ASSERT_TRUE(decoded.ok()) << decoded.error().text;
    EXPECT_EQ(*decoded, frame);
  }
}

TEST(StripeFrame, OfImpossibleSizesAndPlacesIsRefused) {
  for (const std::uint32_t size : {std::uint32_t{0}, StripeFrame::kMostFrame + 1, ~0U})
    expect_refused({kData, size, 0, 0}, "impossible size");
  expect_refused({kData, 2, 0, ~0ULL - 1}, "impossible size");
  for (const StripeFrameType type : {kResume, kAcknowledge, kQuestion}) {
    expect_refused({type, 1, 0, 0}, "impossible size");
    expect_refused({type, 0, 0, 1}, "or place 1");
  }
  expect_refused({kEnd, 1, 0, 0}, "impossible size");
}

TEST(StripeFrame, OfAnUnknownTypeIsRefused) {
  for (const std::uint32_t type : {0U, 0x494d5201U, 0x494d5202U, 0x494d5210U, 0x494d5216U, ~0U})
    expect_refused({static_cast<StripeFrameType>(type), 0, 0, 0}, "unknown type");
}

}  // namespace
}  // namespace impishim::wire
