// SPDX-License-Identifier: Apache-2.0
/// A file of this system that processes of other systems use through this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/file/file_message.hpp"
#include "wire/file/file_pointer.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/stored_file.hpp"
#include "wire/file/write_buffer.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Not thread-safe.
class ServedFile {
 public:
  ServedFile(StoredFile file, std::shared_ptr<FilePointers> pointers)
      : file_(std::move(file)), pointers_(std::move(pointers)) {}

  /// Carries out a request of a process. Returns the answer as a message. The shared file pointers
  /// may be null: requests for them are refused.
  [[nodiscard]] std::vector<std::byte> carry_out(WorldRank source,
                                                 const ArrivedFileRequest& arrived);
  /// Writes what is collected. Returns the error that occurs.
  [[nodiscard]] FileStatus flush();

 private:
  [[nodiscard]] FileStatus write(const ArrivedFileRequest& arrived);
  [[nodiscard]] FileStatus flush_for(WorldRank source);
  [[nodiscard]] FileAnswer read(const FileRequest& request, std::vector<std::byte>& message);
  [[nodiscard]] FileAnswer answer_without_data(WorldRank source, const ArrivedFileRequest& arrived);
  [[nodiscard]] FileAnswer answer_of_pointer(const FileRequest& request);

  StoredFile file_;
  std::shared_ptr<FilePointers> pointers_;
  WriteBuffer buffer_;
  /// Collected data that was lost may belong to any process: each is told once, at its next flush
  /// if no answer has told it before. Counts WriteBuffer::losses().
  std::unordered_map<WorldRank, std::uint64_t> losses_told_;
};

}  // namespace impishim::wire
