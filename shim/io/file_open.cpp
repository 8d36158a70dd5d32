// SPDX-License-Identifier: Apache-2.0
// MPI_File_open, MPI_File_close (MPI-4.0 14.2).
//
// The system that has the file opens it first. The others then find out whether they see the same
// file. Where they do, their vendor opens it as well; where they do not, the vendor opens a file
// without data, whose handle the program gets.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/own_communicator.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_agreement.hpp"
#include "shim/io/file_error.hpp"
#include "shim/io/file_hints.hpp"
#include "shim/io/shared_pointer.hpp"
#include "shim/io/shipped_file.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/native.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_pointer.hpp"
#include "wire/file/file_probe.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/served_file.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::shim {
namespace {

using wire::FileStatus;

/// Returns a path without the prefix by which ROMIO is told the type of the file system.
std::string plain_path(const char* name) {
  constexpr std::array<std::string_view, 8> kPrefixes{
      "ufs:", "nfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "xfs:", "testfs:"};
  const std::string_view path(name);
  for (const std::string_view prefix : kPrefixes) {
    if (path.starts_with(prefix)) return std::string(path.substr(prefix.size()));
  }
  return std::string(path);
}

wire::FileAccess access_of(int mode) {
  if ((mode & MPI_MODE_RDONLY) != 0) return wire::FileAccess::kRead;
  return (mode & MPI_MODE_WRONLY) != 0 ? wire::FileAccess::kWrite : wire::FileAccess::kReadAndWrite;
}

/// The opening of one file.
class Opening {
 public:
  Opening(Job& job, Communicator& own, const char* name, int mode, MPI_Info hints,
          std::int32_t home)
      : job_(job), own_(own), name_(name), hints_(hints), home_ranks_(ranks_of_system(own, home)) {
    opening_.path = plain_path(name);
    opening_.mode = mode;
    opening_.home = home;
  }

  /// Opens the file on all processes. Sets `handle`. Returns what became of it on some process; a
  /// code that is not MPI_SUCCESS tells that the processes could not agree.
  [[nodiscard]] FileStatus open(MPI_File& handle, int& code);

 private:
  [[nodiscard]] bool at_home() const { return own_system(own_) == opening_.home; }
  [[nodiscard]] bool leads() const { return own_.rank == home_ranks_.front(); }
  [[nodiscard]] FileStatus open_natively(int mode, MPI_File& handle);
  [[nodiscard]] FileStatus open_without_data(MPI_File& handle);
  [[nodiscard]] FileStatus open_elsewhere(MPI_File& handle);
  [[nodiscard]] FileStatus make_file(MPI_File handle, const wire::FileProbeToken& token);
  [[nodiscard]] FileStatus serve(const std::shared_ptr<wire::FilePointers>& pointers);
  [[nodiscard]] FileStatus go_to_end(File& file);

  Job& job_;
  Communicator& own_;
  const char* name_;
  MPI_Info hints_;
  std::vector<std::int32_t> home_ranks_;
  FileOpening opening_;
  File* made_ = nullptr;
};

/// Opens the file by the vendor, on all processes of this system.
FileStatus Opening::open_natively(int mode, MPI_File& handle) {
  const BlockingCreation creation(job_, own_);
  int code = creation.code();
  // The vendor's pointers know one system. Functions with the program's mode are checked here.
  const int vendors = mode & ~(MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND);
  if (code == MPI_SUCCESS)
    code = native::File_open(job_, own_.handle, name_, vendors, without_gathering(hints_).info(),
                             &handle);
  return file_status_of_code(code);
}

/// Opens a file without data, for its handle.
FileStatus Opening::open_without_data(MPI_File& handle) {
  const BlockingCreation creation(job_, own_);
  int code = creation.code();
  if (code == MPI_SUCCESS)
    code = vendor::File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, hints_, &handle);
  return file_status_of_code(code);
}

/// Opens the file in a system that does not have it, after that one has made it.
FileStatus Opening::open_elsewhere(MPI_File& handle) {
  constexpr int kOfHome = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE;
  return opening_.sees ? open_natively(opening_.mode & ~kOfHome, handle)
                       : open_without_data(handle);
}

/// Serves the file to systems that do not see it.
FileStatus Opening::serve(const std::shared_ptr<wire::FilePointers>& pointers) {
  FileStatus status = FileStatus::kDone;
  wire::StoredFile stored = wire::StoredFile::open(opening_.path, access_of(opening_.mode), status);
  if (status == FileStatus::kDone) {
    files_of(job_).service().add(own_.context,
                                 std::make_unique<wire::ServedFile>(std::move(stored), pointers));
  }
  return status;
}

/// Makes the description of the file.
FileStatus Opening::make_file(MPI_File handle, const wire::FileProbeToken& token) {
  std::shared_ptr<wire::FilePointers> pointers;
  if (opening_.sees) {
    pointers =
        std::make_shared<wire::FilePointers>(wire::name_beside(opening_.path, token, ".pointers"));
  }
  auto file = std::make_unique<File>(handle, own_, opening_, pointers);
  Files& files = files_of(job_);
  if (!opening_.sees) {
    FileServers servers{files.client(), own_.context, {}};
    for (const std::int32_t rank : home_ranks_) servers.ranks.push_back(own_.world_rank(rank));
    file->shipped = std::make_unique<ShippedFile>(job_, std::move(servers));
  }
  made_ = file.get();
  files.add(std::move(file));
  return at_home() && !opening_.all_see ? serve(pointers) : FileStatus::kDone;
}

/// Sets the file pointers to the end of the file, for MPI_MODE_APPEND.
FileStatus Opening::go_to_end(File& file) {
  std::int64_t size = 0;
  FileStatus status = FileStatus::kDone;
  if (file.shipped == nullptr) {
    MPI_Offset bytes = 0;
    status = file_status_of_code(vendor::File_get_size(file.handle, &bytes));
    size = bytes;
    if (status == FileStatus::kDone && (opening_.mode & MPI_MODE_SEQUENTIAL) == 0)
      status = file_status_of_code(vendor::File_seek(file.handle, size, MPI_SEEK_SET));
  } else {
    std::uint64_t bytes = 0;
    status = file.shipped->size(bytes);
    size = static_cast<std::int64_t>(bytes);
  }
  {
    const MutexLock lock(file.mutex);
    file.stand.position = size;
  }
  return status == FileStatus::kDone && leads() ? set_shared_pointer(file, size) : status;
}

FileStatus Opening::open(MPI_File& handle, int& code) {
  HomeNews news;
  std::optional<wire::FileProbe> probe;
  if (at_home()) {
    news.status = open_natively(opening_.mode, handle);
    if (news.status == FileStatus::kDone && leads()) {
      probe.emplace(opening_.path);
      news.token = probe->token();
    }
  }
  FileStatus here = news.status;
  code = share_news(job_, own_, home_ranks_.front(), news);
  if (code != MPI_SUCCESS || news.status != FileStatus::kDone) return news.status;
  const bool sees =
      at_home() || (may_share(hints_) && wire::sees_same_file(opening_.path, news.token));
  const std::vector<int> systems = agree_on_sight(job_, own_, sees, code);
  if (code != MPI_SUCCESS) return here;
  opening_.sees = systems[static_cast<std::size_t>(own_system(own_))] != 0;
  opening_.all_see = std::ranges::find(systems, 0) == systems.end();
  if (!at_home()) here = open_elsewhere(handle);
  if (here == FileStatus::kDone) here = make_file(handle, news.token);
  // No process may ask a server before it serves the file.
  code = agree_on_status(job_, own_, here);
  if (code != MPI_SUCCESS || here != FileStatus::kDone) return here;
  if ((opening_.mode & MPI_MODE_APPEND) == 0) return here;
  here = go_to_end(*made_);
  code = agree_on_status(job_, own_, here);
  return here;
}

/// Ends what a process has made of a file that could not be opened by all. The vendor's function
/// has opened it on all processes of a system, or on none.
void give_up_file(Job& job, MPI_File handle) {
  Files& files = files_of(job);
  File* file = files.find(handle);
  if (file == nullptr) return;
  if (wire::FileService* service = files.service_if_made(); service != nullptr)
    static_cast<void>(service->remove(file->id()));
  const bool ships = file->shipped != nullptr;
  files.hide(*file);
  files.drop(*file);
  static_cast<void>(ships ? vendor::File_close(&handle) : native::File_close(job, &handle));
}

/// Opens a file on a spanning communicator.
int open_file(Job& job, Communicator& parent, const char* name, int mode, MPI_Info hints,
              MPI_File* made) {
  constexpr const char* kFunction = "MPI_File_open";
  MPI_Comm own_handle = MPI_COMM_NULL;
  int code = make_own_communicator(job, parent, kFunction, &own_handle);
  if (code != MPI_SUCCESS) return code;
  Communicator& own = *job.communicators.find(own_handle);
  own.made_for = "an open file";
  break_if_lost(job, own);
  std::int32_t home = 0;
  code = agree_on_home(job, own, mode, hints, home);
  MPI_File handle = MPI_FILE_NULL;
  if (code == MPI_SUCCESS) {
    const FileStatus status = Opening(job, own, name, mode, hints, home).open(handle, code);
    if (code == MPI_SUCCESS && status == FileStatus::kDone) {
      *made = handle;
      return MPI_SUCCESS;
    }
    const int error_class = code != MPI_SUCCESS ? vendor_error_class(code) : error_class_of(status);
    give_up_file(job, handle);
    const std::int32_t master = own.masters[static_cast<std::size_t>(home)];
    code = raise_on_file(
        MPI_FILE_NULL, error_class, kFunction,
        fmt::format("system {} cannot open \"{}\" for the job: {}",
                    job.map.proc(own.world_rank(master)).client, name, wire::text_of(status)));
  }
  static_cast<void>(end_communicator(job, own, &own_handle, vendor::Comm_free));
  return code;
}

}  // namespace

namespace calls {

int File_open(Job& job, MPI_Comm comm, const char* filename, int amode, MPI_Info info,
              MPI_File* fh) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) return native::File_open(job, comm, filename, amode, info, fh);
  *fh = MPI_FILE_NULL;
  if (parent->inter != nullptr)
    return raise_on_file(MPI_FILE_NULL, MPI_ERR_COMM, "MPI_File_open",
                         "not for intercommunicators");
  if (has_foreign_members(job, *parent))
    return refuse(comm, "MPI_File_open",
                  "a member's system runs another IMPI implementation, which has no files");
  const Indivisible call(job);
  return open_file(job, *parent, filename, amode, info, fh);
}

int File_close(Job& job, MPI_File* fh) {
  File* file = fh == nullptr ? nullptr : spanning_file(job, *fh);
  if (file == nullptr) return native::File_close(job, fh);
  FileStatus status = FileStatus::kDone;
  const int agreed = finish_writes_of_all(job, *file, status);
  const int code = raise_file_status(*fh, status, "MPI_File_close");
  if (agreed != MPI_SUCCESS) return agreed;
  Files& files = files_of(job);
  FileStatus served = FileStatus::kDone;
  if (wire::FileService* service = files.service_if_made(); service != nullptr)
    served = service->remove(file->id());
  const int told = raise_file_status(*fh, served, "MPI_File_close");
  const bool leads =
      file->communicator.rank == ranks_of_system(file->communicator, file->opening.home).front();
  if (leads) file->pointers->remove();
  files.hide(*file);
  const int closed =
      file->shipped == nullptr ? native::File_close(job, fh) : vendor::File_close(fh);
  MPI_Comm comm = file->communicator.handle;
  const int ended = end_communicator(job, file->communicator, &comm, vendor::Comm_free);
  files.drop(*file);
  for (const int each : {code, told, closed}) {
    if (each != MPI_SUCCESS) return each;
  }
  return ended;
}

}  // namespace calls
}  // namespace impishim::shim
