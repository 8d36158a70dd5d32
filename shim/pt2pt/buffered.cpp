// SPDX-License-Identifier: Apache-2.0
#include "shim/pt2pt/buffered.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/engine_request.hpp"
#include "shim/request/null_request.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

namespace {

/// Reserves room. If there is none, makes progress, so that messages that have left since then give
/// their room back, and tries again.
bool take_space(Job& job, std::int64_t cost) {
  if (job.buffered_space.take(cost)) return true;
  progress_once(job, true);
  request_pool().reap_orphans(job);
  return job.buffered_space.take(cost);
}

/// The packed copy of a message, with its part of the attached buffer.
class BufferedCopy {
 public:
  BufferedCopy(BufferedSpace& space, std::size_t size, std::int64_t cost)
      : space_(space), bytes_(size), cost_(cost) {}
  BufferedCopy(const BufferedCopy&) = delete;
  BufferedCopy& operator=(const BufferedCopy&) = delete;
  ~BufferedCopy() { space_.give_back(cost_); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  BufferedSpace& space_;
  std::vector<std::byte> bytes_;
  std::int64_t cost_;
};

/// Starts the send of a copy. The message continues without the user: its request is an orphan from
/// the start.
void start_copy(Job& job, const BufferedMessage& message,
                const std::shared_ptr<BufferedCopy>& copy) {
  RequestPool& pool = request_pool();
  Request& request = pool.acquire(&message.communicator, message.function);
  request.kind = &engine_send();
  request.begin();
  request.part = copy;
  address_send(message.communicator, message.dest, message.tag, SendKind::kBuffered, request.send);
  auto layout = message.buffer.layout->without_gaps();
  request.send.buffer = {copy->bytes().data(), message.buffer.count, layout.get(), layout};
  job.engine->start(request.send);
  pool.orphan(request);
}

/// A buffered send of the user: done as soon as its message has been copied.
class BufferedSend final : public RequestKind {
 public:
  constexpr BufferedSend() : RequestKind({}) {}

  int start(Job& job, Request& request) const override {
    request.begin();
    const MessageArguments& arguments = request.arguments;
    BufferedMessage message{
        *request.communicator, request.function, arguments.peer, arguments.tag, {}};
    int code = describe_buffer(request.function, arguments.send_buffer, arguments.count,
                               arguments.datatype, message.buffer);
    if (code == MPI_SUCCESS) code = send_buffered(job, message);
    if (code == MPI_SUCCESS) request.end();
    return code;
  }
  bool advance(Job& /*job*/, Request& request) const override { return request.end(); }
  int read_status(Job& /*job*/, Request& /*request*/, MPI_Status* status) const override {
    set_empty_status(status, MPI_ANY_SOURCE);
    return MPI_SUCCESS;
  }
  /// Does nothing: the message continues independently.
  int cancel(Job& /*job*/, Request& /*request*/) const override { return MPI_SUCCESS; }
  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

}  // namespace

int send_buffered(Job& job, const BufferedMessage& message) {
  const std::uint64_t size = message.buffer.packed_size(wire::Format::kNative);
  const auto cost = static_cast<std::int64_t>(size) + MPI_BSEND_OVERHEAD;
  if (!take_space(job, cost)) {
    return error_code(
        MPI_ERR_BUFFER, message.function,
        fmt::format("{} bytes do not fit in the attached buffer: {} bytes of it are in use", cost,
                    job.buffered_space.used()));
  }
  const auto copy = std::make_shared<BufferedCopy>(job.buffered_space, size, cost);
  wire::PackCursor cursor(message.buffer, wire::Format::kNative);
  auto packed = cursor.pack(copy->bytes());
  if (!packed) return error_code(MPI_ERR_INTERN, message.function, packed.error().text);
  start_copy(job, message, copy);
  return MPI_SUCCESS;
}

const RequestKind& send_kind(SendKind mode, int dest) {
  static constexpr BufferedSend buffered;
  if (dest == MPI_PROC_NULL) return null_send();
  if (mode == SendKind::kBuffered) return buffered;
  return engine_send();
}

namespace {

/// Records the size of a buffer if the vendor has accepted it with this code; returns the code.
int attach(Job& job, int code, std::int64_t size) {
  if (code == MPI_SUCCESS) job.buffered_space.attached(size);
  return code;
}

/// Blocks until all messages in the attached buffer have been transmitted (MPI-3.1 3.6), and
/// forgets the buffer.
void empty_space(Job& job) {
  drive_until(job, false, [&] {
    request_pool().reap_orphans(job);
    return job.buffered_space.used() == 0;
  });
  job.buffered_space.attached(0);
}

}  // namespace

namespace calls {

int Buffer_attach(Job& job, void* buffer, int size) {
  return attach(job, vendor::Buffer_attach(buffer, size), size);
}

int Buffer_detach(Job& job, void* buffer_addr, int* size) {
  empty_space(job);
  return vendor::Buffer_detach(buffer_addr, size);
}

#ifdef IMPISHIM_HAVE_MPI_Buffer_attach_c
int Buffer_attach_c(Job& job, void* buffer, MPI_Count size) {
  return attach(job, vendor::Buffer_attach_c(buffer, size), size);
}

int Buffer_detach_c(Job& job, void* buffer_addr, MPI_Count* size) {
  empty_space(job);
  return vendor::Buffer_detach_c(buffer_addr, size);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
