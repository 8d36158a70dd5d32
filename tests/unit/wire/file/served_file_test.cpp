// SPDX-License-Identifier: Apache-2.0
// Requests for a file, without messages.
#include "wire/file/served_file.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/wire/file/temporary_folder.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_pointer.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {
namespace {

using test::bytes_of;
using test::content_of;
using test::opened;
using Kind = FileRequestKind;

struct Answered {
  FileStatus status = FileStatus::kOther;
  std::int64_t value = 0;
  std::vector<std::byte> data;
};

Answered ask(ServedFile& served, WorldRank source, const FileRequest& request,
             std::string_view data = "") {
  const auto bytes = bytes_of(data);
  const auto message = served.carry_out(source, {request, bytes});
  const auto answer = decode_file_answer(message);
  EXPECT_TRUE(answer.ok());
  if (!answer.ok()) return {};
  return {
      answer->status, answer->value, {message.begin() + FileAnswer::kHeaderBytes, message.end()}};
}

FileRequest request_of(Kind kind, std::vector<FilePiece> pieces = {}, bool atomic = false) {
  FileRequest request;
  request.kind = kind;
  request.pieces = std::move(pieces);
  request.atomic = atomic;
  return request;
}

TEST(ServedFile, WritesReadsAndFlushes) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  ServedFile served(opened(path), nullptr);
  EXPECT_EQ(ask(served, 1, request_of(Kind::kWrite, {{0, 2}, {4, 2}}), "abef").status,
            FileStatus::kDone);
  EXPECT_EQ(content_of(path), "");
  EXPECT_EQ(ask(served, 2, request_of(Kind::kWrite, {{2, 2}}), "cd").status, FileStatus::kDone);
  const Answered read = ask(served, 2, request_of(Kind::kRead, {{1, 2}, {4, 100}}));
  EXPECT_EQ(read.status, FileStatus::kDone);
  EXPECT_EQ(read.value, 4);
  EXPECT_EQ(read.data, bytes_of("bcef"));
  EXPECT_EQ(ask(served, 2, request_of(Kind::kWrite, {{6, 1}}), "g").status, FileStatus::kDone);
  EXPECT_EQ(ask(served, 2, request_of(Kind::kSize)).value, 7);
  EXPECT_EQ(ask(served, 2, request_of(Kind::kWrite, {{7, 1}}, true), "h").status,
            FileStatus::kDone);
  EXPECT_EQ(content_of(path), "abcdefgh");
  EXPECT_EQ(ask(served, 2, request_of(Kind::kRead, {{0, 3}}, true)).data, bytes_of("abc"));
  EXPECT_EQ(ask(served, 1, request_of(Kind::kFlush)).status, FileStatus::kDone);
  EXPECT_EQ(ask(served, 1, request_of(Kind::kSync)).status, FileStatus::kDone);
}

TEST(ServedFile, AFileThatIsOnlyReadCanBeReadAtomically) {
  const test::TemporaryFolder folder;
  ServedFile served(opened(folder.file("data", "abc"), FileAccess::kRead), nullptr);
  const Answered read = ask(served, 1, request_of(Kind::kRead, {{0, 3}}, true));
  EXPECT_EQ(read.status, FileStatus::kDone);
  EXPECT_EQ(read.data, bytes_of("abc"));
}

TEST(ServedFile, EachProcessIsToldOnceOfLostData) {
  const test::TemporaryFolder folder;
  ServedFile served(opened(folder.file("data"), FileAccess::kRead), nullptr);
  const FileRequest write = request_of(Kind::kWrite, {{0, 2}});
  const FileRequest flush = request_of(Kind::kFlush);
  EXPECT_EQ(ask(served, 1, write, "ab").status, FileStatus::kDone);
  for (const WorldRank source : {1, 2}) {
    EXPECT_NE(ask(served, source, flush).status, FileStatus::kDone);
    EXPECT_EQ(ask(served, source, flush).status, FileStatus::kDone);
  }
  // A write of process 2 loses data of process 1: both are told.
  EXPECT_EQ(ask(served, 1, write, "ab").status, FileStatus::kDone);
  EXPECT_NE(ask(served, 2, write, "cd").status, FileStatus::kDone);
  EXPECT_EQ(ask(served, 2, flush).status, FileStatus::kDone);
  EXPECT_NE(ask(served, 1, flush).status, FileStatus::kDone);
  EXPECT_EQ(ask(served, 1, flush).status, FileStatus::kDone);
}

TEST(ServedFile, HasPointersIfItIsGivenThem) {
  const test::TemporaryFolder folder;
  ServedFile served(opened(folder.file("data")),
                    std::make_shared<FilePointers>(folder.path("pointers")));
  FileRequest request = request_of(Kind::kSetPointer);
  request.pointer = 2;
  request.value = 40;
  EXPECT_EQ(ask(served, 1, request).status, FileStatus::kDone);
  request.kind = Kind::kAddToPointer;
  request.value = 2;
  EXPECT_EQ(ask(served, 1, request).value, 40);
  EXPECT_EQ(ask(served, 2, request).value, 42);
  ServedFile none(opened(folder.path("data")), nullptr);
  EXPECT_EQ(ask(none, 1, request).status, FileStatus::kBadRequest);
}

}  // namespace
}  // namespace impishim::wire
