// SPDX-License-Identifier: Apache-2.0
#include "shim/io/shipped_access.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "shim/completion/wait.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_access.hpp"
#include "shim/io/file_error.hpp"
#include "shim/io/file_request.hpp"
#include "shim/io/file_way.hpp"
#include "shim/io/shipped_file.hpp"
#include "shim/request/status.hpp"
#include "wire/base/mutex.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/file/file_status.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// Sets the status of an access of so many bytes.
void set_file_status(MPI_Status* status, std::uint64_t bytes) {
  wire::Envelope envelope;
  envelope.native_bytes = bytes;
  envelope.source = MPI_ANY_SOURCE;
  envelope.tag = MPI_ANY_TAG;
  set_remote_status(status, envelope);
}

FileRange range_of(const FileStand& stand, std::int64_t place) {
  return {stand.view, static_cast<std::uint64_t>(place) * stand.view->unit(), stand.format,
          stand.atomic};
}

/// Keeps a split collective operation until its end.
void keep_split(File& file, SplitAccess split) {
  const MutexLock lock(file.mutex);
  file.split = std::move(split);
}

int ship_write(const FileAccessCall& call, const FileStand& stand, std::int64_t place) {
  const auto data = const_buffer(call.buffer, call.count, call.datatype);
  if (!data) return raise_on_file(call.file.handle, MPI_ERR_TYPE, call.function, data.error().text);
  const wire::FileStatus status = call.file.shipped->write(range_of(stand, place), *data);
  if (status != wire::FileStatus::kDone)
    return raise_file_status(call.file.handle, status, call.function);
  const std::uint64_t bytes = data->packed_size(wire::Format::kNative);
  if (call.way.form == FileWay::Form::kBegin) {
    keep_split(call.file, {call.way, nullptr, bytes});
  } else if (call.way.form == FileWay::Form::kNonblocking) {
    make_written_request(call, bytes);
  } else {
    set_file_status(call.status, bytes);
  }
  return MPI_SUCCESS;
}

/// Waits for a read, and raises its error.
int finish_read(const FileAccessCall& call, ShippedRead& read) {
  drive_until(call.job, false, [&] { return read.advance(); });
  set_file_status(call.status, read.bytes());
  return raise_file_status(call.file.handle, read.status(), call.function);
}

int ship_read(const FileAccessCall& call, const FileStand& stand, std::int64_t place) {
  const auto room = mutable_buffer(call.buffer, call.count, call.datatype);
  if (!room) return raise_on_file(call.file.handle, MPI_ERR_TYPE, call.function, room.error().text);
  auto read =
      std::make_unique<ShippedRead>(call.file.shipped->servers(), range_of(stand, place), *room);
  if (call.way.form == FileWay::Form::kBegin) {
    static_cast<void>(read->advance());
    keep_split(call.file, {call.way, std::move(read), 0});
    return MPI_SUCCESS;
  }
  if (call.way.form == FileWay::Form::kNonblocking) {
    make_read_request(call, std::move(read));
    return MPI_SUCCESS;
  }
  const int code = finish_read(call, *read);
  if (call.way.position == FileWay::Position::kIndividual) {
    const MutexLock lock(call.file.mutex);
    call.file.stand.position +=
        static_cast<std::int64_t>(read->bytes() / call.file.stand.view->unit());
  }
  return code;
}

}  // namespace

int access_by_shipping(const FileAccessCall& call, std::int64_t place) {
  const FileStand stand = call.file.copy_of_stand();
  return call.way.writes ? ship_write(call, stand, place) : ship_read(call, stand, place);
}

int end_shipped_access(const FileAccessCall& call) {
  std::optional<SplitAccess> split;
  {
    const MutexLock lock(call.file.mutex);
    split = std::exchange(call.file.split, std::nullopt);
  }
  if (!split || split->way.writes != call.way.writes || split->way.position != call.way.position)
    return raise_on_file(call.file.handle, MPI_ERR_OTHER, call.function,
                         "no split collective operation of this kind has begun on the file");
  if (split->read != nullptr) return finish_read(call, *split->read);
  set_file_status(call.status, split->bytes);
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
