// SPDX-License-Identifier: Apache-2.0
/// A file that only another system sees, from the view of one process: data is shipped to and from
/// servers there.
///
/// A write is over when its data is on its way: MPI lets an implementation keep written data until
/// MPI_File_sync or MPI_File_close. The memory for it is bounded. Requests of one process to one
/// server arrive in order, so a process reads what it has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/file/file_client.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_steps.hpp"
#include "wire/file/file_view.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

struct Job;

/// Which part of a file an access concerns, and how its data is stored.
struct FileRange {
  std::shared_ptr<const wire::FileView> view;
  std::uint64_t first = 0;  ///< byte of the view's data
  wire::Format format = wire::Format::kNative;
  bool atomic = false;
};

/// Where the requests for a file go.
struct FileServers {
  wire::FileClient& client;
  wire::FileId file = 0;
  std::vector<wire::WorldRank> ranks;
};

/// A read in progress. Some requests are under way at a time. Its owner protects it.
class ShippedRead {
 public:
  /// Reads as much as `buffer` takes.
  ShippedRead(const FileServers& servers, const FileRange& range, wire::MutableBuffer buffer);

  /// Asks for more, and stores what has come. Returns true if the read is over.
  [[nodiscard]] bool advance();
  [[nodiscard]] wire::FileStatus status() const { return status_; }
  /// Returns the bytes that were read: less than the buffer takes at the end of the file.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Asked {
    std::uint64_t bytes = 0;
    std::unique_ptr<wire::FileCall> call;
  };
  static constexpr std::size_t kMostAsked = 8;
  void ask();
  void store(const Asked& asked);

  const FileServers& servers_;
  wire::MutableBuffer buffer_;
  bool atomic_;
  wire::FileSteps steps_;
  wire::UnpackCursor cursor_;
  std::deque<Asked> asked_;
  bool all_asked_ = false;
  bool ended_ = false;  ///< at the end of the file
  wire::FileStatus status_ = wire::FileStatus::kDone;
  std::uint64_t bytes_ = 0;
};

/// Thread-safe.
class ShippedFile {
 public:
  ShippedFile(Job& job, FileServers servers) : job_(job), servers_(std::move(servers)) {}
  ShippedFile(const ShippedFile&) = delete;
  ShippedFile& operator=(const ShippedFile&) = delete;

  [[nodiscard]] const FileServers& servers() const { return servers_; }
  /// Ships data that is written. Blocks while too much is under way, and until an atomic write is
  /// carried out. Returns the first error that is known of this write and of those before it.
  [[nodiscard]] wire::FileStatus write(const FileRange& range, const wire::ConstBuffer& data);
  /// Waits until all that was written is carried out, and tells the servers to `end` it: kFlush or
  /// kSync. Returns the first error that was not returned yet.
  [[nodiscard]] wire::FileStatus finish_writes(wire::FileRequestKind end);
  /// Sets `bytes` to the size of the file.
  [[nodiscard]] wire::FileStatus size(std::uint64_t& bytes);
  /// Changes a shared file pointer (wire::FilePointers).
  [[nodiscard]] wire::FileStatus add_to_pointer(std::uint64_t pointer, std::int64_t value,
                                                std::int64_t& before);
  [[nodiscard]] wire::FileStatus set_pointer(std::uint64_t pointer, std::int64_t value);

 private:
  /// Bytes under way at most.
  static constexpr std::size_t kMostUnderWay = std::size_t{16} << 20U;
  void collect(std::size_t most_under_way);
  void note(wire::FileStatus status) IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] wire::FileStatus take_error();
  [[nodiscard]] wire::FileAnswer ask(std::size_t server, const wire::FileRequest& request);

  Job& job_;
  FileServers servers_;
  Mutex mutex_;
  std::deque<std::unique_ptr<wire::FileCall>> writes_ IMPISHIM_GUARDED_BY(mutex_);
  std::size_t under_way_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  wire::FileStatus error_ IMPISHIM_GUARDED_BY(mutex_) = wire::FileStatus::kDone;
};

}  // namespace impishim::shim
