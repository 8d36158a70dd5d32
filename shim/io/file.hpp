// SPDX-License-Identifier: Apache-2.0
/// A file that is opened by processes of several systems, and the files of this process
/// (docs/files.md).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shim/handle/handle_table.hpp"
#include "shim/io/file_way.hpp"
#include "shim/io/shipped_file.hpp"
#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_client.hpp"
#include "wire/file/file_pointer.hpp"
#include "wire/file/file_service.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::shim {

/// What MPI_File_open has found out. The same on all processes, but for `sees`.
struct FileOpening {
  std::string path;
  int mode = 0;  ///< the program's amode
  /// The system that has the file: its index in Communicator::masters. Its number is another one
  /// in a job that is connected with this one.
  std::int32_t home = 0;
  bool sees = true;     ///< this system has it, too, or sees it
  bool all_see = true;  ///< all systems do
};

/// What a process sees of a file, and where it stands. The individual file pointer is the vendor's
/// where the vendor accesses the file.
struct FileStand {
  std::shared_ptr<const wire::FileView> view = std::make_shared<const wire::FileView>();
  wire::Format format = wire::Format::kNative;
  std::uint64_t views = 0;    ///< how many there were: each has a shared file pointer
  std::int64_t position = 0;  ///< in elementary types
  bool atomic = false;
};

/// A split collective operation that has begun.
struct SplitAccess {
  FileWay way;
  std::unique_ptr<ShippedRead> read;
  std::uint64_t bytes = 0;  ///< that were written
};

/// A file whose processes are in two or more systems.
///
/// The user's handle is a vendor's file: that of the local processes if this system sees the file,
/// else one of this process alone, without data. The handle has the error handler, the hints, the
/// view that MPI_File_get_view tells, and the Fortran handle.
struct File {
  File(MPI_File handle_, Communicator& communicator_, FileOpening opening_,
       std::shared_ptr<wire::FilePointers> pointers_)
      : handle(handle_),
        communicator(communicator_),
        opening(std::move(opening_)),
        pointers(std::move(pointers_)) {}

  const MPI_File handle;
  Communicator& communicator;  ///< of the processes; no program knows it
  const FileOpening opening;
  /// Null if this system does not see the file.
  const std::shared_ptr<wire::FilePointers> pointers;
  /// Set if this system does not see the file: what is shipped to and from the one that has it.
  std::unique_ptr<ShippedFile> shipped;

  Mutex mutex;
  FileStand stand IMPISHIM_GUARDED_BY(mutex);
  std::optional<SplitAccess> split IMPISHIM_GUARDED_BY(mutex);

  /// Returns the file's number in the job.
  [[nodiscard]] wire::FileId id() const { return communicator.context; }
  /// Returns true if the vendor's function of the same name does all that such an access needs.
  [[nodiscard]] bool in_vendor(const FileWay& way) const {
    return shipped == nullptr && !way.shares_pointer() && (opening.mode & MPI_MODE_SEQUENTIAL) == 0;
  }
  [[nodiscard]] FileStand copy_of_stand() {
    const MutexLock lock(mutex);
    return stand;
  }
};

/// The files of this process that span systems, and what serves those of this system to others.
/// Made with the first of them.
class Files {
 public:
  explicit Files(Job& job) : job_(job), client_(*job.engine, job.here) {}
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { job_.files.store(nullptr, std::memory_order_release); }

  /// Returns the file of a handle, or null if it is native or invalid. Takes no lock.
  [[nodiscard]] File* find(MPI_File handle) const { return by_handle_.find(handle); }
  void add(std::unique_ptr<File> file);
  /// Makes the handle native: before the vendor closes it, which may use it again.
  void hide(const File& file) { by_handle_.erase(file.handle); }
  /// Forgets a file that is closed.
  void drop(const File& file);
  /// Returns a reference that keeps a file in place after it was closed.
  [[nodiscard]] std::shared_ptr<File> share(const File& file);

  [[nodiscard]] wire::FileClient& client() { return client_; }
  /// Returns what serves files of this system; makes it if need be.
  [[nodiscard]] wire::FileService& service();
  /// Returns it, or null if it was not made.
  [[nodiscard]] wire::FileService* service_if_made();

 private:
  Job& job_;
  wire::FileClient client_;
  HandleTable<MPI_File, File> by_handle_;
  Mutex mutex_;
  std::vector<std::shared_ptr<File>> files_ IMPISHIM_GUARDED_BY(mutex_);
  std::unique_ptr<wire::FileService> service_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Returns the files of this process that span systems; makes the object if need be.
[[nodiscard]] Files& files_of(Job& job);

/// Returns the file of a handle, or null if it is native or invalid. The vendor reports invalid
/// ones.
[[nodiscard]] inline File* spanning_file(const Job& job, MPI_File handle) {
  const Files* made = job.files.load(std::memory_order_acquire);
  return made == nullptr ? nullptr : made->find(handle);
}

}  // namespace impishim::shim
