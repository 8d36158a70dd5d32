// SPDX-License-Identifier: Apache-2.0
#include "shim/io/file_access.hpp"

#include <mpi.h>

#include <cstdint>

#include "shim/io/file.hpp"
#include "shim/io/file_error.hpp"
#include "shim/io/file_way.hpp"
#include "shim/io/shared_pointer.hpp"
#include "shim/io/shipped_access.hpp"
#include "shim/io/vendor_file_access.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {
namespace {

using Position = FileWay::Position;
using Form = FileWay::Form;

int fail_access(const FileAccessCall& call, int error_class, const char* text) {
  return raise_on_file(call.file.handle, error_class, call.function, text);
}

/// Raises an error if the file's mode or a split operation forbids the access. Returns the code.
int check_way(const FileAccessCall& call) {
  const int mode = call.file.opening.mode;
  if (call.way.writes && (mode & MPI_MODE_RDONLY) != 0)
    return fail_access(call, MPI_ERR_READ_ONLY, "the file was opened by MPI_MODE_RDONLY");
  if (!call.way.writes && (mode & MPI_MODE_WRONLY) != 0)
    return fail_access(call, MPI_ERR_ACCESS, "the file was opened by MPI_MODE_WRONLY");
  if ((mode & MPI_MODE_SEQUENTIAL) != 0 && !call.way.shares_pointer())
    return fail_access(call, MPI_ERR_UNSUPPORTED_OPERATION,
                       "the file was opened by MPI_MODE_SEQUENTIAL: only the functions with the "
                       "shared file pointer access it");
  const MutexLock lock(call.file.mutex);
  if (call.way.collective && call.way.form == Form::kBegin && call.file.split.has_value())
    return fail_access(call, MPI_ERR_OTHER, "another split collective operation has not ended");
  return MPI_SUCCESS;
}

/// Sets `units` to the access's length in elementary types. Raises an error if it is none. Returns
/// the code.
int count_units(const FileAccessCall& call, std::int64_t& units) {
  if (call.count < 0) return fail_access(call, MPI_ERR_COUNT, "the count is negative");
  MPI_Count size = 0;
  const int code =
      call.datatype == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : vendor::Type_size_x(call.datatype, &size);
  if (code != MPI_SUCCESS) return fail_access(call, MPI_ERR_TYPE, "the datatype is not valid");
  std::int64_t bytes = 0;
  const auto unit = static_cast<std::int64_t>(call.file.copy_of_stand().view->unit());
  if (__builtin_mul_overflow(size, call.count, &bytes))
    return fail_access(call, MPI_ERR_COUNT, "the data is longer than any file");
  if (bytes % unit != 0)
    return fail_access(call, MPI_ERR_IO,
                       "the data is not a whole number of elementary types of the view");
  units = bytes / unit;
  return MPI_SUCCESS;
}

/// Takes the access's place from the individual file pointer. What a blocking read moves it by is
/// known when it is over.
std::int64_t take_position(const FileAccessCall& call, std::int64_t units) {
  const MutexLock lock(call.file.mutex);
  const std::int64_t place = call.file.stand.position;
  if (call.way.writes || call.way.form != Form::kBlocking) call.file.stand.position += units;
  return place;
}

/// Sets `place` to where the access begins, in elementary types. Returns a code that has been
/// raised.
int find_place(const FileAccessCall& call, std::int64_t units, std::int64_t& place) {
  switch (call.way.position) {
    case Position::kExplicit:
      place = call.offset;
      return place >= 0 ? MPI_SUCCESS : fail_access(call, MPI_ERR_ARG, "the offset is negative");
    case Position::kIndividual:
      place = take_position(call, units);
      return MPI_SUCCESS;
    case Position::kShared:
      return raise_file_status(call.file.handle, add_to_shared_pointer(call.file, units, place),
                               call.function);
    default:
      return order_by_shared_pointer(call.job, call.file, call.function, units, place);
  }
}

/// Does the part of a process in an ordered access whose arguments are wrong: the others do not
/// wait for it in vain.
void take_part_without_data(FileAccessCall call) {
  std::int64_t place = 0;
  call.count = 0;
  call.datatype = MPI_BYTE;
  if (order_by_shared_pointer(call.job, call.file, call.function, 0, place) == MPI_SUCCESS &&
      call.file.shipped == nullptr && call.way.form == Form::kBlocking)
    static_cast<void>(access_in_vendor(call, place));
}

}  // namespace

int access_file(const FileAccessCall& call) {
  if (call.way.form == Form::kEnd)
    return call.file.shipped == nullptr ? access_in_vendor(call, 0) : end_shipped_access(call);
  std::int64_t units = 0;
  std::int64_t place = 0;
  int code = check_way(call);
  if (code == MPI_SUCCESS) code = count_units(call, units);
  if (code == MPI_SUCCESS) code = find_place(call, units, place);
  if (code != MPI_SUCCESS) {
    if (call.way.position == Position::kOrdered) take_part_without_data(call);
    return code;
  }
  return call.file.shipped == nullptr ? access_in_vendor(call, place)
                                      : access_by_shipping(call, place);
}

}  // namespace impishim::shim
