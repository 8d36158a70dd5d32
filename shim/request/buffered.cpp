// SPDX-License-Identifier: Apache-2.0
#include "shim/request/buffered.hpp"

#include <fmt/format.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shim/error/errors.hpp"
#include "shim/handled.hpp"
#include "shim/request/request.hpp"
#include "shim/request/wait.hpp"
#include "shim/vendor.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/operation.hpp"

namespace impishim::shim {

BufferedSpace& BufferedSpace::instance() {
  static BufferedSpace space;
  return space;
}

bool BufferedSpace::take(std::int64_t bytes) {
  if (used_.fetch_add(bytes) + bytes <= room_.load()) return true;
  used_.fetch_sub(bytes);
  return false;
}

namespace {

/// Reserves room. If there is none, makes progress, so that messages that have left since then give
/// their room back, and tries again.
bool take_space(Job& job, std::int64_t cost) {
  if (BufferedSpace::instance().take(cost)) return true;
  progress_once(job, true);
  RequestPool::instance().reap_orphans(job);
  return BufferedSpace::instance().take(cost);
}

}  // namespace

int start_buffered_send(Job& job, Request& request, const wire::ConstBuffer& buffer) {
  const std::uint64_t size = buffer.packed_size(wire::Format::kNative);
  const auto cost = static_cast<std::int64_t>(size) + MPI_BSEND_OVERHEAD;
  if (!take_space(job, cost)) {
    return error_code(
        MPI_ERR_BUFFER, request.function,
        fmt::format("{} bytes do not fit in the attached buffer: {} bytes of it are in use", cost,
                    BufferedSpace::instance().used()));
  }
  auto copy = std::make_shared<std::vector<std::byte>>(size);
  wire::PackCursor cursor(buffer, wire::Format::kNative);
  auto packed = cursor.pack(*copy);
  if (!packed) return error_code(MPI_ERR_INTERN, request.function, packed.error().text);
  // The message continues without the user: its request is an orphan from the start, and the user's
  // request is done.
  Request& carrier = RequestPool::instance().acquire(request.communicator, request.function);
  carrier.kind = Request::Kind::kSend;
  carrier.carrier = Carrier::kEngine;
  carrier.active = true;
  carrier.done.store(false);
  carrier.buffered = std::move(copy);
  carrier.buffered_cost = cost;
  carrier.send.destination = request.communicator->members[static_cast<std::size_t>(request.peer)];
  carrier.send.context = request.communicator->context;
  carrier.send.source_rank = request.communicator->rank;
  carrier.send.tag = request.tag;
  carrier.send.mode = wire::SendMode::kStandard;
  auto layout = buffer.layout->without_gaps();
  carrier.send.buffer = {carrier.buffered->data(), buffer.count, layout.get(), layout};
  job.engine->start(carrier.send);
  RequestPool::instance().orphan(carrier);
  request.done.store(true, std::memory_order_release);
  return MPI_SUCCESS;
}

namespace {

/// Records the size of a buffer if the vendor has accepted it with this code; returns the code.
int attach(int code, std::int64_t size) {
  if (code == MPI_SUCCESS) BufferedSpace::instance().attached(size);
  return code;
}

/// Blocks until all messages in the attached buffer have been transmitted (MPI-3.1 3.6), and
/// forgets the buffer.
void empty_space(Job& job) {
  drive_until(job, false, [&] {
    RequestPool::instance().reap_orphans(job);
    return BufferedSpace::instance().used() == 0;
  });
  BufferedSpace::instance().attached(0);
}

}  // namespace

namespace calls {

int Buffer_attach(Job& /*job*/, void* buffer, int size) {
  return attach(vendor::Buffer_attach(buffer, size), size);
}

int Buffer_detach(Job& job, void* buffer_addr, int* size) {
  empty_space(job);
  return vendor::Buffer_detach(buffer_addr, size);
}

#ifdef IMPISHIM_HAVE_MPI_Buffer_attach_c
int Buffer_attach_c(Job& /*job*/, void* buffer, MPI_Count size) {
  return attach(vendor::Buffer_attach_c(buffer, size), size);
}

int Buffer_detach_c(Job& job, void* buffer_addr, MPI_Count* size) {
  empty_space(job);
  return vendor::Buffer_detach_c(buffer_addr, size);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
