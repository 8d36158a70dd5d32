// SPDX-License-Identifier: Apache-2.0
#include "shim/io/file_error.hpp"

#include <mpi.h>

#include <array>
#include <string_view>
#include <utility>

#include "shim/error/errors.hpp"
#include "shim/error/object_error.hpp"
#include "shim/vendor.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::shim {
namespace {

using wire::FileStatus;

constexpr std::array<std::pair<FileStatus, int>, 13> kFileErrorClasses{{
    {FileStatus::kDone, MPI_SUCCESS},
    {FileStatus::kNoSuchFile, MPI_ERR_NO_SUCH_FILE},
    {FileStatus::kExists, MPI_ERR_FILE_EXISTS},
    {FileStatus::kAccess, MPI_ERR_ACCESS},
    {FileStatus::kReadOnly, MPI_ERR_READ_ONLY},
    {FileStatus::kNoSpace, MPI_ERR_NO_SPACE},
    {FileStatus::kQuota, MPI_ERR_QUOTA},
    {FileStatus::kBadName, MPI_ERR_BAD_FILE},
    {FileStatus::kInUse, MPI_ERR_FILE_IN_USE},
    {FileStatus::kNoMemory, MPI_ERR_NO_MEM},
    {FileStatus::kBadMode, MPI_ERR_AMODE},
    {FileStatus::kInputOutput, MPI_ERR_IO},
    {FileStatus::kOther, MPI_ERR_IO},
}};

}  // namespace

int error_class_of(wire::FileStatus status) {
  for (const auto& [each, error_class] : kFileErrorClasses) {
    if (each == status) return error_class;
  }
  return MPI_ERR_OTHER;
}

wire::FileStatus file_status_of_code(int code) {
  const int error_class = code == MPI_SUCCESS ? MPI_SUCCESS : vendor_error_class(code);
  for (const auto& [status, each] : kFileErrorClasses) {
    if (each == error_class) return status;
  }
  return FileStatus::kOther;
}

int raise_on_file(MPI_File file, int error_class, std::string_view function,
                  std::string_view text) {
  return raise_through(file, vendor::File_get_errhandler, vendor::File_call_errhandler, error_class,
                       function, text);
}

int raise_file_status(MPI_File file, wire::FileStatus status, std::string_view function) {
  if (status == FileStatus::kDone) return MPI_SUCCESS;
  return raise_on_file(file, error_class_of(status), function, wire::text_of(status));
}

}  // namespace impishim::shim
