// SPDX-License-Identifier: Apache-2.0
// The messages of files between systems.
#include "wire/file/file_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::wire {
namespace {

FileRequest request_to_write() {
  FileRequest request;
  request.kind = FileRequestKind::kWrite;
  request.atomic = true;
  request.file = 0x0102030405060708;
  request.pointer = 9;
  request.value = -77;
  request.pieces = {{1000, 3}, {0, 0}, {INT64_MAX - 2, 2}};
  return request;
}

std::vector<std::byte> message_to_write() {
  auto message = encode_file_request(request_to_write(), 5);
  std::fill(message.end() - 5, message.end(), std::byte{0x5a});
  set_ticket(message, 1234);
  return message;
}

TEST(FileMessage, ARequestComesBack) {
  const auto message = message_to_write();
  EXPECT_EQ(ticket_of(message), 1234U);
  const auto arrived = decode_file_request(message);
  ASSERT_TRUE(arrived.ok());
  const FileRequest sent = request_to_write();
  EXPECT_EQ(arrived->request.kind, sent.kind);
  EXPECT_EQ(arrived->request.atomic, sent.atomic);
  EXPECT_EQ(arrived->request.file, sent.file);
  EXPECT_EQ(arrived->request.pointer, sent.pointer);
  EXPECT_EQ(arrived->request.value, sent.value);
  EXPECT_EQ(arrived->request.pieces, sent.pieces);
  EXPECT_EQ(std::vector(arrived->data.begin(), arrived->data.end()),
            std::vector(5, std::byte{0x5a}));
}

TEST(FileMessage, TheLongestRequestComesBack) {
  FileRequest request;
  for (std::size_t i = 0; i < FileRequest::kMostPieces; ++i)
    request.pieces.push_back({i * 1000, FileRequest::kMostData / FileRequest::kMostPieces});
  const auto message = encode_file_request(request, FileRequest::kMostData);
  EXPECT_EQ(message.size(), FileRequest::kLongest);
  EXPECT_TRUE(decode_file_request(message).ok());
}

TEST(FileMessage, EveryShorterOrLongerRequestIsRefused) {
  auto message = message_to_write();
  for (std::size_t size = 0; size < message.size(); ++size)
    EXPECT_FALSE(decode_file_request(std::span(message).first(size)).ok()) << size;
  EXPECT_EQ(ticket_of(std::span(message).first(23)), 0U);
  message.push_back(std::byte{0});
  EXPECT_FALSE(decode_file_request(message).ok());
}

TEST(FileMessage, EveryMalformedFieldIsRefused) {
  using Message = std::vector<std::byte>;
  const auto wide = [](std::size_t at, std::uint64_t value) {
    return [=](Message& message) { store_big_endian(message.data() + at, value); };
  };
  const auto byte = [](std::size_t at, int value) {
    return [=](Message& message) { message[at] = static_cast<std::byte>(value); };
  };
  const std::vector<std::function<void(Message&)>> spoil = {byte(0, 7),
                                                            byte(0, 255),  // kind
                                                            byte(0, 1),    // a read with data
                                                            byte(1, 2),
                                                            byte(2, 1),
                                                            byte(3, 1),  // atomic, unused
                                                            byte(7, 2),
                                                            byte(7, 4),
                                                            byte(4, 255),  // number of pieces
                                                            wide(40, 4),
                                                            wide(40, 6),
                                                            wide(40, UINT64_MAX),
                                                            wide(40, FileRequest::kMostData + 1),
                                                            wide(48, INT64_MAX - 2),
                                                            wide(48, UINT64_MAX),
                                                            wide(48, UINT64_MAX - 2),  // offset
                                                            wide(56, 2),
                                                            wide(56, 4),
                                                            wide(56, UINT64_MAX),
                                                            wide(56, FileRequest::kMostData + 1)};
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    Message message = message_to_write();
    ASSERT_TRUE(decode_file_request(message).ok());
    spoil[i](message);
    const auto decoded = decode_file_request(message);
    ASSERT_FALSE(decoded.ok()) << i;
    EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
  }
}

TEST(FileMessage, ReadsBeyondTheLongestAnswerAreRefused) {
  FileRequest request;
  request.kind = FileRequestKind::kRead;
  request.pieces = {{0, FileRequest::kMostData}, {0, 1}};
  EXPECT_FALSE(decode_file_request(encode_file_request(request, 0)).ok());
  request.pieces.pop_back();
  EXPECT_TRUE(decode_file_request(encode_file_request(request, 0)).ok());
}

TEST(FileMessage, AnAnswerComesBackAndAMalformedOneIsRefused) {
  std::array<std::byte, FileAnswer::kHeaderBytes> message{};
  encode_file_answer({FileStatus::kQuota, -5}, message);
  const auto answer = decode_file_answer(message);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, FileStatus::kQuota);
  EXPECT_EQ(answer->value, -5);
  for (std::size_t size = 0; size < message.size(); ++size)
    EXPECT_FALSE(decode_file_answer(std::span(message).first(size)).ok());
  for (std::size_t at = 0; at < 8; ++at) {
    auto spoiled = message;
    spoiled[at] = static_cast<std::byte>(FileStatus::kNumberOfStatuses);
    EXPECT_FALSE(decode_file_answer(spoiled).ok()) << at;
  }
}

TEST(FileStatus, EveryOneHasAText) {
  for (int i = 0; i < static_cast<int>(FileStatus::kNumberOfStatuses); ++i)
    EXPECT_FALSE(text_of(static_cast<FileStatus>(i)).empty());
  EXPECT_EQ(file_status_of(ENOENT), FileStatus::kNoSuchFile);
  EXPECT_EQ(file_status_of(ENOSPC), FileStatus::kNoSpace);
  EXPECT_EQ(file_status_of(EINVAL), FileStatus::kOther);
}

}  // namespace
}  // namespace impishim::wire
