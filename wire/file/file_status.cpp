// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_status.hpp"

#include <cerrno>
#include <string_view>

namespace impishim::wire {

FileStatus file_status_of(int error_number) {
  switch (error_number) {
    case 0:
      return FileStatus::kDone;
    case ENOENT:
    case ENOTDIR:
      return FileStatus::kNoSuchFile;
    case EEXIST:
      return FileStatus::kExists;
    case EACCES:
    case EPERM:
      return FileStatus::kAccess;
    case EROFS:
      return FileStatus::kReadOnly;
    case ENOSPC:
    case EFBIG:
      return FileStatus::kNoSpace;
    case EDQUOT:
      return FileStatus::kQuota;
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
      return FileStatus::kBadName;
    case EBUSY:
    case ETXTBSY:
      return FileStatus::kInUse;
    case ENOMEM:
      return FileStatus::kNoMemory;
    case EIO:
      return FileStatus::kInputOutput;
    default:
      return FileStatus::kOther;
  }
}

std::string_view text_of(FileStatus status) {
  switch (status) {
    case FileStatus::kDone:
      return "done";
    case FileStatus::kNoSuchFile:
      return "there is no such file";
    case FileStatus::kExists:
      return "the file exists";
    case FileStatus::kAccess:
      return "the permissions do not allow it";
    case FileStatus::kReadOnly:
      return "the file system is read-only";
    case FileStatus::kNoSpace:
      return "there is no space left, or the file would be too long";
    case FileStatus::kQuota:
      return "the quota is exceeded";
    case FileStatus::kBadName:
      return "the name is not that of a file";
    case FileStatus::kInUse:
      return "the file is in use";
    case FileStatus::kNoMemory:
      return "there is no memory";
    case FileStatus::kBadMode:
      return "the access mode does not allow it";
    case FileStatus::kBadRequest:
      return "the request is not valid";
    case FileStatus::kInputOutput:
      return "an input or output error";
    default:
      return "an error of the operating system";
  }
}

}  // namespace impishim::wire
