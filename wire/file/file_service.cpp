// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_service.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/served_file.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

std::vector<std::byte> refusal(FileStatus status) {
  std::vector<std::byte> message(FileAnswer::kHeaderBytes);
  encode_file_answer({status, 0}, message);
  return message;
}

}  // namespace

FileService::FileService(Engine& engine, WorldRank here)
    : engine_(engine),
      here_(here),
      requests_(engine, kFileContext, kReceives, FileRequest::kLongest) {
  for (std::size_t i = 0; i < kAnswers; ++i) answers_.push_back(std::make_unique<Answer>());
  // The engine gets to know the service from the thread, so there is nothing to take back if the
  // thread cannot be created.
  thread_ = quiet_thread("impishim-file", [this] { run(); });
}

FileService::~FileService() {
  {
    const MutexLock lock(wake_mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  thread_.join();
  engine_.remove_poll_observer(*this);
  requests_.cancel();
  // The engine uses the memory of operations that are not complete. It completes all if it fails.
  while (!all_complete()) {
    if (engine_.poll(true) == 0) engine_.wait_for_event(std::chrono::milliseconds(1));
  }
}

bool FileService::all_complete() const {
  return requests_.all_complete() && std::ranges::all_of(answers_, [](const auto& answer) {
           return answer->operation.complete();
         });
}

void FileService::add(FileId file, std::unique_ptr<ServedFile> served) {
  const MutexLock lock(files_mutex_);
  files_.emplace(file, std::move(served));
}

FileStatus FileService::remove(FileId file) {
  const MutexLock lock(files_mutex_);
  const auto found = files_.find(file);
  if (found == files_.end()) return FileStatus::kDone;
  const FileStatus status = found->second->flush();
  files_.erase(found);
  return status;
}

std::size_t FileService::polled() {
  const Operation* const awaited = awaited_.load(std::memory_order_acquire);
  if (awaited == nullptr || !awaited->complete()) return 0;
  const MutexLock lock(wake_mutex_);
  awaited_.store(nullptr, std::memory_order_relaxed);
  wake_.notify_one();
  return 1;
}

/// Sleeps until the operation is complete. Returns false if the service is to end.
bool FileService::await(const Operation& operation) {
  const MutexLock lock(wake_mutex_);
  while (!stopping_ && !operation.complete()) {
    awaited_.store(&operation, std::memory_order_release);
    // Takes the engine's lock, under which operations complete. If this one has completed before,
    // that is seen now; if it completes later, polled() sees what is awaited. Without the lock,
    // both may see old values, and nothing would wake this thread.
    static_cast<void>(engine_.holds_unasked());
    if (!operation.complete()) wake_.wait(wake_mutex_);
  }
  awaited_.store(nullptr, std::memory_order_relaxed);
  return !stopping_;
}

void FileService::run() {
  engine_.add_poll_observer(*this);
  requests_.post();
  for (; await(requests_.front()); requests_.pop()) {
    // The engine has failed: the job ends.
    if (requests_.front().result.error && engine_.failure() != nullptr) return;
    handle();
  }
}

/// Carries out a request, and returns the answer.
std::vector<std::byte> FileService::answer_to(WorldRank source,
                                              std::span<const std::byte> message) {
  const auto arrived = decode_file_request(message);
  if (!arrived) return refusal(FileStatus::kBadRequest);
  const MutexLock lock(files_mutex_);
  const auto found = files_.find(arrived->request.file);
  if (found == files_.end()) return refusal(FileStatus::kBadRequest);
  return found->second->carry_out(source, *arrived);
}

/// Answers the request at the front.
void FileService::handle() {
  const Envelope& arrived = requests_.front().result;
  const WorldRank source = arrived.source;
  // No answer leaves for this system.
  const JobMap& job = engine_.job();
  if (job.proc(source).client == job.proc(here_).client) return;
  const auto message = requests_.message();
  Answer& answer = *answers_[next_answer_];
  if (!await(answer.operation)) return;
  next_answer_ = (next_answer_ + 1) % kAnswers;
  // A message that is too long has not arrived whole.
  answer.message = arrived.error ? refusal(FileStatus::kBadRequest) : answer_to(source, message);
  answer.operation.destination = source;
  answer.operation.context = kFileAnswerContext;
  answer.operation.source_rank = here_;
  answer.operation.tag = static_cast<std::int32_t>(ticket_of(message) & 0x7fffffffU);
  answer.operation.buffer = {answer.message.data(), answer.message.size(),
                             &TypeLayout::basic(BasicType::kByte)};
  engine_.start(answer.operation);
}

}  // namespace impishim::wire
