// SPDX-License-Identifier: Apache-2.0
/// Serves the files of this system to processes of other systems.
///
/// Requests arrive by the engine. A thread of the service's own carries them out in their order, so
/// a slow storage device delays no other message. The memory is bounded: so many requests are
/// received at a time, and so many answers are under way; other requests wait at their senders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/receive_ring.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/served_file.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Thread-safe. The engine calls polled() (Engine::add_poll_observer()).
class FileService final : public PollObserver {
 public:
  /// Receives requests to process `here` from now on. Throws std::system_error if the thread cannot
  /// be created.
  FileService(Engine& engine, WorldRank here);
  FileService(const FileService&) = delete;
  FileService& operator=(const FileService&) = delete;
  /// No request may be under way, and no other thread may poll the engine. Polls it until the last
  /// answers have left.
  ~FileService();

  /// Serves a file from now on. No process may ask for it before.
  void add(FileId file, std::unique_ptr<ServedFile> served);
  /// Ends that. Returns the first error of writing that no process was told.
  [[nodiscard]] FileStatus remove(FileId file);

  /// Wakes the service's thread if a request has arrived.
  std::size_t polled() override;

 private:
  struct Answer {
    std::vector<std::byte> message;
    SendOperation operation;
  };
  static constexpr std::size_t kReceives = 8;
  static constexpr std::size_t kAnswers = 16;

  void run();
  [[nodiscard]] bool await(const Operation& operation);
  void handle();
  [[nodiscard]] std::vector<std::byte> answer_to(WorldRank source,
                                                 std::span<const std::byte> message);
  [[nodiscard]] bool all_complete() const;

  Engine& engine_;
  WorldRank here_;
  ReceiveRing requests_;                          ///< of the service's thread
  std::vector<std::unique_ptr<Answer>> answers_;  ///< take turns, too
  std::size_t next_answer_ = 0;                   ///< of the service's thread

  Mutex files_mutex_;
  std::unordered_map<FileId, std::unique_ptr<ServedFile>> files_ IMPISHIM_GUARDED_BY(files_mutex_);

  Mutex wake_mutex_;
  Condition wake_;
  bool stopping_ IMPISHIM_GUARDED_BY(wake_mutex_) = false;
  /// What the thread sleeps for; null while it works. A request's or an answer's, so it stays in
  /// place even if the thread goes on while another looks at it.
  std::atomic<const Operation*> awaited_{nullptr};
  std::thread thread_;
};

}  // namespace impishim::wire
