// SPDX-License-Identifier: Apache-2.0
// Files that a process serves to others while progress threads drive the engines.
#include "wire/file/file_service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"
#include "tests/unit/wire/file/temporary_folder.hpp"
#include "wire/file/file_client.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_pointer.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/served_file.hpp"

namespace impishim::wire {
namespace {

using Kind = FileRequestKind;
constexpr FileId kFile = 12;

/// Three systems of one process. Process 0 serves a file to the others.
class FileServiceTest : public testing::Test {
 protected:
  FileServiceTest() : job(test::make_job({.procs_of_hosts = {{1}, {1}, {1}}})) {
    service.emplace(engine(0), 0);
    service->add(kFile,
                 std::make_unique<ServedFile>(
                     test::opened(path), std::make_shared<FilePointers>(folder.path("pointers"))));
    for (int rank = 0; rank < 3; ++rank)
      clients.push_back(std::make_unique<FileClient>(engine(rank), rank));
  }
  ~FileServiceTest() override {
    // No thread polls while the service goes.
    job.progress.clear();
    service.reset();
    for (const auto& each : job.engines) each->close();
    while (!std::ranges::all_of(job.engines, [](const auto& each) { return each->closed(); })) {
      for (const auto& each : job.engines) each->poll(true);
    }
  }

  [[nodiscard]] Engine& engine(int rank) { return *job.engines[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::unique_ptr<FileCall> start(int rank, const FileRequest& request,
                                                std::span<const std::byte> data = {}) {
    auto message = encode_file_request(request, data.size());
    std::ranges::copy(data, message.end() - static_cast<std::ptrdiff_t>(data.size()));
    return clients[static_cast<std::size_t>(rank)]->start(
        0, std::move(message), request.kind == Kind::kRead ? request.bytes() : 0);
  }
  /// Waits for the progress threads alone.
  static void wait(const FileCall& call) {
    while (!call.complete()) std::this_thread::yield();
  }
  [[nodiscard]] FileAnswer ask(int rank, const FileRequest& request,
                               std::span<const std::byte> data = {}) {
    const auto call = start(rank, request, data);
    wait(*call);
    return call->answer();
  }

  test::TemporaryFolder folder;
  std::string path = folder.file("data");
  test::ThreadedJob job;
  std::optional<FileService> service;
  std::vector<std::unique_ptr<FileClient>> clients;
};

FileRequest request_of(Kind kind, std::vector<FilePiece> pieces = {}) {
  FileRequest request;
  request.kind = kind;
  request.file = kFile;
  request.pieces = std::move(pieces);
  return request;
}

TEST_F(FileServiceTest, WritersInterleaveAndReadersSeeIt) {
  constexpr std::uint64_t kBytes = 500;
  constexpr std::uint64_t kRounds = 300;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 4; ++writer) {
    threads.emplace_back([this, writer] {
      std::deque<std::unique_ptr<FileCall>> calls;
      const auto end_first = [&] {
        wait(*calls.front());
        EXPECT_EQ(calls.front()->answer().status, FileStatus::kDone);
        calls.pop_front();
      };
      const std::vector<std::byte> data(kBytes, static_cast<std::byte>('a' + writer));
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t offset = (round * 4 + static_cast<std::uint64_t>(writer)) * kBytes;
        calls.push_back(start(1 + writer % 2, request_of(Kind::kWrite, {{offset, kBytes}}), data));
        if (calls.size() > 12) end_first();
        if (round % 50 != 0) continue;
        const auto read = start(1 + writer % 2, request_of(Kind::kRead, {{offset, kBytes}}));
        wait(*read);
        EXPECT_TRUE(std::ranges::equal(read->data(), data));
      }
      while (!calls.empty()) end_first();
      EXPECT_EQ(ask(1 + writer % 2, request_of(Kind::kFlush)).status, FileStatus::kDone);
    });
  }
  for (std::thread& each : threads) each.join();
  std::string expected;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (const char letter : {'a', 'b', 'c', 'd'}) expected.append(kBytes, letter);
  }
  EXPECT_TRUE(test::content_of(path) == expected);
  EXPECT_EQ(service->remove(kFile), FileStatus::kDone);
}

TEST_F(FileServiceTest, LongRequestsAndManyAnswersUnderWay) {
  const std::uint64_t bytes = FileRequest::kMostData;
  const auto data = test::pattern(bytes, 3);
  EXPECT_EQ(ask(1, request_of(Kind::kWrite, {{5, bytes}}), data).status, FileStatus::kDone);
  // More than the service has room for.
  std::vector<std::unique_ptr<FileCall>> calls;
  for (int i = 0; i < 40; ++i)
    calls.push_back(start(1 + i % 2, request_of(Kind::kRead, {{5, bytes}})));
  for (const auto& call : calls) {
    wait(*call);
    EXPECT_TRUE(std::ranges::equal(call->data(), data));
  }
  const auto beyond = start(2, request_of(Kind::kRead, {{bytes, 100}}));
  wait(*beyond);
  EXPECT_EQ(beyond->answer().value, 5);
  EXPECT_EQ(beyond->data().size(), 5U);
}

TEST_F(FileServiceTest, InvalidRequestsAreRefusedAndOthersServed) {
  FileRequest unknown = request_of(Kind::kSize);
  unknown.file = kFile + 1;
  EXPECT_EQ(ask(1, unknown).status, FileStatus::kBadRequest);
  auto invalid = encode_file_request(request_of(Kind::kSize), 0);
  invalid[0] = std::byte{200};
  // The last one is so long that it is cut.
  std::vector<std::byte> long_one(FileRequest::kLongest + 1000);
  for (auto& message :
       {invalid, std::vector<std::byte>(FileRequest::kHeaderBytes + 7, std::byte{1}), long_one}) {
    const auto call = clients[1]->start(0, message, 0);
    wait(*call);
    EXPECT_EQ(call->answer().status, FileStatus::kBadRequest);
  }
  EXPECT_EQ(ask(2, request_of(Kind::kSize)).status, FileStatus::kDone);
  EXPECT_EQ(service->remove(kFile), FileStatus::kDone);
  EXPECT_EQ(ask(2, request_of(Kind::kSize)).status, FileStatus::kBadRequest);
}

TEST_F(FileServiceTest, ASourceThatDoesNotExistGetsNoAnswer) {
  const std::vector<std::byte> message = encode_file_request(request_of(Kind::kSize), 0);
  for (const std::int32_t source : {0, 3, INT32_MAX}) {
    SendOperation send;
    send.destination = 0;
    send.context = kFileContext;
    send.source_rank = source;
    send.buffer = {message.data(), message.size(), &TypeLayout::basic(BasicType::kByte)};
    engine(1).start(send);
    while (!send.complete()) std::this_thread::yield();
  }
  EXPECT_EQ(ask(1, request_of(Kind::kSize)).status, FileStatus::kDone);
}

TEST_F(FileServiceTest, PointersAreSharedByAll) {
  FileRequest add = request_of(Kind::kAddToPointer);
  add.value = 1;
  std::vector<std::int64_t> values[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      // Each sleeps of the service begins and ends here: a lost wake-up would hang.
      for (int round = 0; round < 500; ++round) values[i].push_back(ask(1 + i, add).value);
    });
  }
  for (std::thread& each : threads) each.join();
  std::vector<std::int64_t> all = values[0];
  all.insert(all.end(), values[1].begin(), values[1].end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST_F(FileServiceTest, EndsWhileIdle) {
  job.progress.clear();
  for (int i = 0; i < 20; ++i) {
    service.reset();
    service.emplace(engine(0), 0);
  }
}

TEST(FileServiceFailure, EndsAfterTheEngineHasFailed) {
  test::SimulatedJob job({.procs_of_hosts = {{1}, {1}}});
  std::optional<FileService> service(std::in_place, job.engine(0), 0);
  FileClient client(job.engine(0), 0);
  job.kill(1);
  while (job.engine(0).failure() == nullptr) job.engine(0).poll(true);
  FileRequest request = request_of(Kind::kSize);
  const auto call = client.start(1, encode_file_request(request, 0), 0);
  EXPECT_TRUE(call->complete());
  EXPECT_EQ(call->answer().status, FileStatus::kBadRequest);
  EXPECT_TRUE(call->data().empty());
  service.reset();
}

}  // namespace
}  // namespace impishim::wire
