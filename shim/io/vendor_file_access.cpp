// SPDX-License-Identifier: Apache-2.0
#include "shim/io/vendor_file_access.hpp"

#include <mpi.h>

#include <limits>

#include "shim/entry_points.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_access.hpp"
#include "shim/io/file_error.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"

namespace impishim::shim {
namespace {

// The vendors' forms of one access, chosen by its way. Not all of them have forms with large
// counts.
#ifdef IMPISHIM_HAVE_MPI_File_read_at_c
using VendorCount = MPI_Count;
#define IMPISHIM_VENDOR_FORM(name) name##_c  // NOLINT(cppcoreguidelines-macro-usage)
#else
using VendorCount = int;
#define IMPISHIM_VENDOR_FORM(name) name  // NOLINT(cppcoreguidelines-macro-usage)
#endif

int access_alone(const FileAccessCall& call, MPI_Offset offset) {
  const MPI_File file = call.file.handle;
  const auto count = static_cast<VendorCount>(call.count);
  const bool writes = call.way.writes;
  if (call.way.form == FileWay::Form::kNonblocking) {
    return writes ? vendor::IMPISHIM_VENDOR_FORM(File_iwrite_at)(file, offset, call.buffer, count,
                                                                 call.datatype, call.request)
                  : vendor::IMPISHIM_VENDOR_FORM(File_iread_at)(file, offset, call.buffer, count,
                                                                call.datatype, call.request);
  }
  return writes ? vendor::IMPISHIM_VENDOR_FORM(File_write_at)(file, offset, call.buffer, count,
                                                              call.datatype, call.status)
                : vendor::IMPISHIM_VENDOR_FORM(File_read_at)(file, offset, call.buffer, count,
                                                             call.datatype, call.status);
}

int access_together(const FileAccessCall& call, MPI_Offset offset) {
  Job& job = call.job;
  const MPI_File file = call.file.handle;
  const auto count = static_cast<VendorCount>(call.count);
  const bool writes = call.way.writes;
  switch (call.way.form) {
    case FileWay::Form::kBegin:
      return writes ? native::IMPISHIM_VENDOR_FORM(File_write_at_all_begin)(
                          job, file, offset, call.buffer, count, call.datatype)
                    : native::IMPISHIM_VENDOR_FORM(File_read_at_all_begin)(
                          job, file, offset, call.buffer, count, call.datatype);
    case FileWay::Form::kEnd:
      return writes ? native::File_write_at_all_end(job, file, call.buffer, call.status)
                    : native::File_read_at_all_end(job, file, call.buffer, call.status);
    default:
      return writes ? native::IMPISHIM_VENDOR_FORM(File_write_at_all)(
                          job, file, offset, call.buffer, count, call.datatype, call.status)
                    : native::IMPISHIM_VENDOR_FORM(File_read_at_all)(
                          job, file, offset, call.buffer, count, call.datatype, call.status);
  }
}

#undef IMPISHIM_VENDOR_FORM

}  // namespace

int access_in_vendor(const FileAccessCall& call, MPI_Offset offset) {
  if (call.count > std::numeric_limits<VendorCount>::max())
    return raise_on_file(call.file.handle, MPI_ERR_COUNT, call.function,
                         "this MPI library has no form of the function with so large a count");
  return call.way.position == FileWay::Position::kOrdered ? access_together(call, offset)
                                                          : access_alone(call, offset);
}

}  // namespace impishim::shim
