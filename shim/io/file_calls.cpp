// SPDX-License-Identifier: Apache-2.0
// Files that span systems: size, views, pointers, consistency (MPI-4.0 14.2, 14.3, 14.6).
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <string_view>

#include "shim/datatype/datatype.hpp"
#include "shim/entry_points.hpp"
#include "shim/group/group.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_agreement.hpp"
#include "shim/io/file_error.hpp"
#include "shim/io/file_hints.hpp"
#include "shim/io/shared_pointer.hpp"
#include "shim/io/shipped_file.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::shim {
namespace {

using wire::FileStatus;

/// Sets `bytes` to the size of the file. Returns a code that has been raised.
int size_of_file(File& file, const char* function, std::int64_t& bytes) {
  if (file.shipped == nullptr) {
    MPI_Offset size = 0;
    const int code = vendor::File_get_size(file.handle, &size);
    bytes = size;
    return code;
  }
  std::uint64_t size = 0;
  const FileStatus status = file.shipped->size(size);
  bytes = static_cast<std::int64_t>(size);
  return raise_file_status(file.handle, status, function);
}

/// Waits for all processes. What they have written before is in the file then.
int meet(Job& job, File& file, const char* function) {
  FileStatus status = FileStatus::kDone;
  const int code = finish_writes_of_all(job, file, status);
  return code != MPI_SUCCESS ? code : raise_file_status(file.handle, status, function);
}

/// Changes the length of the file by the vendor's function, in the system that has it. No process
/// returns before.
template <class Change>
int change_length(Job& job, File& file, const char* function, const Change& change) {
  int code = meet(job, file, function);
  if (code != MPI_SUCCESS) return code;
  FileStatus status = FileStatus::kDone;
  int vendors = MPI_SUCCESS;
  if (own_system(file.communicator) == file.opening.home) {
    vendors = change();
    status = file_status_of_code(vendors);
  }
  code = agree_on_status(job, file.communicator, status);
  if (vendors != MPI_SUCCESS) return vendors;
  return code != MPI_SUCCESS ? code : raise_file_status(file.handle, status, function);
}

/// Sets `place` to where `offset` leads from a base, in elementary types. Returns a code that has
/// been raised.
int find_target(File& file, const char* function, MPI_Offset offset, int whence,
                std::int64_t present, std::int64_t& place) {
  std::int64_t base = 0;
  if (whence == MPI_SEEK_CUR) base = present;
  if (whence == MPI_SEEK_END) {
    std::int64_t bytes = 0;
    const int code = size_of_file(file, function, bytes);
    if (code != MPI_SUCCESS) return code;
    const FileStand stand = file.copy_of_stand();
    const auto unit = static_cast<std::int64_t>(stand.view->unit());
    const auto data =
        static_cast<std::int64_t>(stand.view->data_before(static_cast<std::uint64_t>(bytes)));
    base = (data + unit - 1) / unit;
  }
  place = base + offset;
  if ((whence == MPI_SEEK_SET || whence == MPI_SEEK_CUR || whence == MPI_SEEK_END) && place >= 0)
    return MPI_SUCCESS;
  return raise_on_file(file.handle, MPI_ERR_ARG, function,
                       place < 0 ? "the place is before the beginning of the file"
                                 : "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END");
}

/// Returns true for the name of a data representation, which MPI compares without case.
bool names(const char* representation, std::string_view name) {
  return std::ranges::equal(std::string_view(representation), name, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// Describes the view of a process in `stand`. Returns a code that has been raised.
int make_view(File& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* representation, FileStand& stand) {
  constexpr const char* kFunction = "MPI_File_set_view";
  const auto layout = layout_of(filetype);
  MPI_Count unit = 0;
  vendor::Type_size_x(etype, &unit);
  if (!layout) return raise_on_file(file.handle, MPI_ERR_TYPE, kFunction, layout.error().text);
  const bool ships = file.shipped != nullptr;
  const bool external = names(representation, "external32");
  if (ships && external &&
      layout->layout->packed_size(wire::Format::kExternal32) !=
          layout->layout->packed_size(wire::Format::kNative))
    return raise_on_file(file.handle, MPI_ERR_UNSUPPORTED_DATAREP, kFunction,
                         "a type of the view has another size in external32 than here, and another "
                         "system has the file");
  if (ships && !external && !names(representation, "native") && !names(representation, "internal"))
    return raise_on_file(file.handle, MPI_ERR_UNSUPPORTED_DATAREP, kFunction,
                         "another system has the file: it knows native, internal, external32");
  stand.format = external ? wire::Format::kExternal32 : wire::Format::kNative;
  // A layout of a predefined type lives for ever.
  std::shared_ptr<const wire::TypeLayout> shared =
      layout->keep_alive != nullptr
          ? layout->keep_alive
          : std::shared_ptr<const wire::TypeLayout>(std::shared_ptr<void>(), layout->layout);
  stand.view = std::make_shared<const wire::FileView>(static_cast<std::uint64_t>(displacement),
                                                      static_cast<std::uint64_t>(unit), shared);
  return MPI_SUCCESS;
}

/// Returns the displacement that MPI_DISPLACEMENT_CURRENT means: where the shared pointer is.
int current_displacement(File& file, MPI_Offset& displacement) {
  std::int64_t place = 0;
  const FileStatus status = add_to_shared_pointer(file, 0, place);
  const FileStand stand = file.copy_of_stand();
  displacement = static_cast<MPI_Offset>(
      stand.view->place_of(static_cast<std::uint64_t>(place) * stand.view->unit()));
  return raise_file_status(file.handle, status, "MPI_File_set_view");
}

}  // namespace

namespace calls {

int File_get_size(Job& job, MPI_File fh, MPI_Offset* size) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return vendor::File_get_size(fh, size);
  std::int64_t bytes = 0;
  const int code = size_of_file(*file, "MPI_File_get_size", bytes);
  *size = bytes;
  return code;
}

int File_set_size(Job& job, MPI_File fh, MPI_Offset size) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return native::File_set_size(job, fh, size);
  return change_length(job, *file, "MPI_File_set_size",
                       [&] { return native::File_set_size(job, fh, size); });
}

int File_preallocate(Job& job, MPI_File fh, MPI_Offset size) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return native::File_preallocate(job, fh, size);
  return change_length(job, *file, "MPI_File_preallocate",
                       [&] { return native::File_preallocate(job, fh, size); });
}

int File_get_group(Job& job, MPI_File fh, MPI_Group* group) {
  const File* file = spanning_file(job, fh);
  return file == nullptr ? vendor::File_get_group(fh, group)
                         : make_group(job, file->communicator.members, group);
}

int File_get_amode(Job& job, MPI_File fh, int* amode) {
  const File* file = spanning_file(job, fh);
  if (file == nullptr) return vendor::File_get_amode(fh, amode);
  *amode = file->opening.mode;
  return MPI_SUCCESS;
}

int File_set_view(Job& job, MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return native::File_set_view(job, fh, disp, etype, filetype, datarep, info);
  int code = MPI_SUCCESS;
  if (disp == MPI_DISPLACEMENT_CURRENT && (file->opening.mode & MPI_MODE_SEQUENTIAL) != 0) {
    code = meet(job, *file, "MPI_File_set_view");
    if (code == MPI_SUCCESS) code = current_displacement(*file, disp);
  }
  if (code == MPI_SUCCESS) {
    code = native::File_set_view(job, fh, disp, etype, filetype, datarep,
                                 without_gathering(info).info());
  }
  if (code != MPI_SUCCESS) return code;
  FileStand stand = file->copy_of_stand();
  code = make_view(*file, disp, etype, filetype, datarep, stand);
  if (code != MPI_SUCCESS) return code;
  stand.position = 0;
  ++stand.views;
  const MutexLock lock(file->mutex);
  file->stand = stand;
  return MPI_SUCCESS;
}

int File_set_info(Job& job, MPI_File fh, MPI_Info info) {
  return native::File_set_info(
      job, fh, spanning_file(job, fh) == nullptr ? info : without_gathering(info).info());
}

int File_seek(Job& job, MPI_File fh, MPI_Offset offset, int whence) {
  File* file = spanning_file(job, fh);
  if (file == nullptr || file->shipped == nullptr) return vendor::File_seek(fh, offset, whence);
  std::int64_t place = 0;
  const int code =
      find_target(*file, "MPI_File_seek", offset, whence, file->copy_of_stand().position, place);
  if (code != MPI_SUCCESS) return code;
  const MutexLock lock(file->mutex);
  file->stand.position = place;
  return MPI_SUCCESS;
}

int File_get_position(Job& job, MPI_File fh, MPI_Offset* offset) {
  File* file = spanning_file(job, fh);
  if (file == nullptr || file->shipped == nullptr) return vendor::File_get_position(fh, offset);
  *offset = file->copy_of_stand().position;
  return MPI_SUCCESS;
}

int File_seek_shared(Job& job, MPI_File fh, MPI_Offset offset, int whence) {
  constexpr const char* kFunction = "MPI_File_seek_shared";
  File* file = spanning_file(job, fh);
  if (file == nullptr) return native::File_seek_shared(job, fh, offset, whence);
  int code = meet(job, *file, kFunction);
  if (code != MPI_SUCCESS) return code;
  FileStatus status = FileStatus::kDone;
  int raised = MPI_SUCCESS;
  if (file->communicator.rank == 0) {
    std::int64_t place = 0;
    status = add_to_shared_pointer(*file, 0, place);
    if (status == FileStatus::kDone) {
      raised = find_target(*file, kFunction, offset, whence, place, place);
      status = raised == MPI_SUCCESS ? set_shared_pointer(*file, place) : FileStatus::kOther;
    }
  }
  code = agree_on_status(job, file->communicator, status);
  if (raised != MPI_SUCCESS) return raised;
  return code != MPI_SUCCESS ? code : raise_file_status(fh, status, kFunction);
}

int File_get_position_shared(Job& job, MPI_File fh, MPI_Offset* offset) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return vendor::File_get_position_shared(fh, offset);
  std::int64_t place = 0;
  const FileStatus status = add_to_shared_pointer(*file, 0, place);
  *offset = place;
  return raise_file_status(fh, status, "MPI_File_get_position_shared");
}

int File_set_atomicity(Job& job, MPI_File fh, int flag) {
  File* file = spanning_file(job, fh);
  if (file == nullptr) return native::File_set_atomicity(job, fh, flag);
  int code = meet(job, *file, "MPI_File_set_atomicity");
  if (code == MPI_SUCCESS) code = native::File_set_atomicity(job, fh, flag);
  const MutexLock lock(file->mutex);
  if (code == MPI_SUCCESS) file->stand.atomic = flag != 0;
  return code;
}

int File_sync(Job& job, MPI_File fh) {
  File* file = spanning_file(job, fh);
  if (file == nullptr || file->shipped == nullptr) return native::File_sync(job, fh);
  return raise_file_status(fh, file->shipped->finish_writes(wire::FileRequestKind::kSync),
                           "MPI_File_sync");
}

}  // namespace calls
}  // namespace impishim::shim
