// SPDX-License-Identifier: Apache-2.0
/// One end of a resumable stream, and a test at the other end.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/base/result.hpp"
#include "wire/resume/resume_frame.hpp"
#include "wire/resume/resume_input.hpp"
#include "wire/resume/resume_output.hpp"

namespace impishim::wire::test {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kBound = 1000;
inline constexpr std::size_t kHeader = ResumeFrame::kHeaderSize;

inline Bytes part(const Bytes& bytes, std::size_t from, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// Cuts memory into pieces of these sizes, again and again.
inline std::vector<iovec> cut(std::span<std::byte> memory, std::span<const std::size_t> sizes) {
  std::vector<iovec> pieces;
  for (std::size_t i = 0; !memory.empty(); ++i) {
    const std::size_t size = std::min(sizes[i % sizes.size()], memory.size());
    pieces.push_back(piece(memory.first(size)));
    memory = memory.subspan(size);
  }
  return pieces;
}

/// One end of a stream on its first connection.
class ResumeStream : public testing::Test {
 protected:
  ResumeStream() { begin(); }

  void begin() {
    channel.reset();
    output.begin();
    input.begin();
  }
  void peer_says(ResumeFrameType type, std::uint64_t received,
                 std::span<const std::byte> bytes = {}) {
    append_frame(channel.input, type, received, bytes);
  }
  /// Reads all that the peer has said, `room` bytes at a time.
  Result<Bytes> read_all(std::size_t room = 1000) {
    Bytes got;
    Bytes memory(room);
    while (channel.read < channel.input.size()) {
      const iovec one = piece(std::span(memory));
      auto size = input.read(channel, std::span(&one, 1), 0);
      if (!size) return size.error();
      append_bytes(got, std::span(memory).first(*size));
    }
    return got;
  }
  void expect_broken(const char* reason) {
    const auto got = read_all();
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().kind, ErrorKind::kProtocol);
    EXPECT_THAT(got.error().text, testing::HasSubstr(reason));
  }
  std::size_t send(std::span<const std::byte> bytes) {
    const iovec one = piece(bytes);
    return output.send(channel, std::span(&one, 1), input.received()).value();
  }
  void flush() { ASSERT_TRUE(output.flush(channel, input.received()).ok()); }
  /// Begins the connection as if the peer had received `received` bytes.
  void greet(std::uint64_t received) {
    peer_says(ResumeFrameType::kResume, received);
    ASSERT_TRUE(read_all().ok());
    flush();
    channel.output.clear();
  }

  ScriptedChannel channel;
  ResumeOutput output{kBound};
  ResumeInput input{output};
};

}  // namespace impishim::wire::test
