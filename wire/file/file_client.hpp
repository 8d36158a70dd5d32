// SPDX-License-Identifier: Apache-2.0
/// Asks processes of another system for what concerns a file there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/engine/engine.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// One request and its answer. Stays in place until it is complete.
class FileCall {
 public:
  /// Returns true when the answer is here, or the engine has failed.
  [[nodiscard]] bool complete() const { return send_.complete() && receive_.complete(); }
  /// Returns what the server answered, once the call is complete.
  [[nodiscard]] FileAnswer answer() const;
  /// Returns the data of the answer.
  [[nodiscard]] std::span<const std::byte> data() const;
  /// Returns the bytes of memory that the call holds.
  [[nodiscard]] std::size_t memory() const { return message_.size() + room_.size(); }

 private:
  friend class FileClient;
  std::vector<std::byte> message_;
  std::vector<std::byte> room_;
  SendOperation send_;
  ReceiveOperation receive_;
};

/// Thread-safe.
class FileClient {
 public:
  FileClient(Engine& engine, WorldRank here) : engine_(engine), here_(here) {}
  FileClient(const FileClient&) = delete;
  FileClient& operator=(const FileClient&) = delete;

  /// Sends a message of encode_file_request(), whose data is in place, to a server, and returns the
  /// call. Sets the request's ticket in it.
  [[nodiscard]] std::unique_ptr<FileCall> start(WorldRank server, std::vector<std::byte> message,
                                                std::size_t answer_bytes);

 private:
  Engine& engine_;
  WorldRank here_;
  std::atomic<std::uint64_t> next_ticket_{1};
};

}  // namespace impishim::wire
