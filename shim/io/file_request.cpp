// SPDX-License-Identifier: Apache-2.0
#include "shim/io/file_request.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "shim/error/errors.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_access.hpp"
#include "shim/io/file_error.hpp"
#include "shim/io/shipped_file.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

struct FilePart {
  std::shared_ptr<File> file;
  std::unique_ptr<ShippedRead> read;  ///< null for a write
  std::uint64_t written = 0;
};

FilePart& file_part(const Request& request) { return *static_cast<FilePart*>(request.part.get()); }

class FileRequestKind final : public RequestKind {
 public:
  constexpr FileRequestKind() : RequestKind({}) {}

  /// Is not called: there is no persistent form.
  int start(Job& /*job*/, Request& request) const override {
    return error_code(MPI_ERR_REQUEST, request.function, "the request is not persistent");
  }

  bool advance(Job& /*job*/, Request& request) const override {
    return advance_locked(request, [&] {
      const FilePart& part = file_part(request);
      return part.read == nullptr || part.read->advance();
    });
  }

  int read_status(Job& /*job*/, Request& request, MPI_Status* status) const override {
    const FilePart& part = file_part(request);
    wire::Envelope envelope;
    envelope.native_bytes = part.read == nullptr ? part.written : part.read->bytes();
    envelope.source = MPI_ANY_SOURCE;
    set_remote_status(status, envelope);
    return part.read == nullptr
               ? MPI_SUCCESS
               : raise_file_status(part.file->handle, part.read->status(), request.function);
  }

  int cancel(Job& /*job*/, Request& request) const override {
    return raise_on_file(file_part(request).file->handle, MPI_ERR_REQUEST, "MPI_Cancel",
                         "requests of files cannot be cancelled");
  }

  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

const RequestKind& file_request() {
  static constexpr FileRequestKind kind;
  return kind;
}

void make_file_request(const FileAccessCall& call, FilePart part) {
  Request& request = request_pool().acquire(&call.file.communicator, call.function);
  request.kind = &file_request();
  request.begin();
  request.part = std::make_shared<FilePart>(std::move(part));
  *call.request = request_pool().handle_of(request);
}

}  // namespace

void make_read_request(const FileAccessCall& call, std::unique_ptr<ShippedRead> read) {
  static_cast<void>(read->advance());
  make_file_request(call, {files_of(call.job).share(call.file), std::move(read), 0});
}

void make_written_request(const FileAccessCall& call, std::uint64_t bytes) {
  make_file_request(call, {files_of(call.job).share(call.file), nullptr, bytes});
}

}  // namespace impishim::shim
