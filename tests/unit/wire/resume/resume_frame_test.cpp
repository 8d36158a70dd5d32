// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resume_frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

constexpr std::array kTypes = {ResumeFrameType::kResume, ResumeFrameType::kData,
                               ResumeFrameType::kAcknowledge, ResumeFrameType::kEnd,
                               ResumeFrameType::kQuestion};

void expect_refused(const ResumeFrame& frame, const char* reason) {
  const auto decoded = decode_resume_frame(encode_resume_frame(frame));
  ASSERT_FALSE(decoded.ok()) << frame.size;
  EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(decoded.error().text, HasSubstr(reason));
}

TEST(ResumeFrame, HasTheseBytes) {
  const auto header = encode_resume_frame({ResumeFrameType::kData, 0x00012345, 0x0123456789abcdef});
  const std::array<std::uint8_t, ResumeFrame::kHeaderSize> expected = {
      'I', 'M', 'R', 2, 0, 1, 0x23, 0x45, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(std::to_integer<std::uint8_t>(header[i]), expected[i]) << i;
  EXPECT_EQ(encode_resume_frame({ResumeFrameType::kResume, 0, 0})[3], std::byte{1});
  EXPECT_EQ(encode_resume_frame({ResumeFrameType::kAcknowledge, 0, 0})[3], std::byte{3});
  EXPECT_EQ(encode_resume_frame({ResumeFrameType::kEnd, 0, 0})[3], std::byte{4});
  EXPECT_EQ(encode_resume_frame({ResumeFrameType::kQuestion, 0, 0})[3], std::byte{5});
}

TEST(ResumeFrame, IsDecodedAsItWasEncoded) {
  for (const ResumeFrameType type : kTypes) {
    for (const std::uint64_t received : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint32_t size = type == ResumeFrameType::kData ? 77 : 0;
      const ResumeFrame frame = {type, size, received};
      const auto decoded = decode_resume_frame(encode_resume_frame(frame));
      ASSERT_TRUE(decoded.ok()) << decoded.error().text;
      EXPECT_EQ(*decoded, frame);
    }
  }
}

TEST(ResumeFrame, OfDataHasAtLeastOneByteAndAtMostSoMany) {
  for (const std::uint32_t size : {std::uint32_t{1}, ResumeFrame::kMostFrame})
    EXPECT_TRUE(decode_resume_frame(encode_resume_frame({ResumeFrameType::kData, size, 0})).ok());
  for (const std::uint32_t size : {std::uint32_t{0}, ResumeFrame::kMostFrame + 1, ~0U})
    expect_refused({ResumeFrameType::kData, size, 0}, "impossible size");
}

TEST(ResumeFrame, OfAnotherTypeHasNoBytes) {
  for (const ResumeFrameType type : {ResumeFrameType::kResume, ResumeFrameType::kAcknowledge,
                                     ResumeFrameType::kEnd, ResumeFrameType::kQuestion}) {
    for (const std::uint32_t size : {1U, ~0U}) expect_refused({type, size, 0}, "impossible size");
  }
}

TEST(ResumeFrame, OfAnUnknownTypeIsRefused) {
  for (const std::uint32_t type : {0U, 1U, 0x494d5200U, 0x494d5206U, 0x01524d49U, ~0U})
    expect_refused({static_cast<ResumeFrameType>(type), 0, 0}, "unknown type");
}

}  // namespace
}  // namespace impishim::wire
