// SPDX-License-Identifier: Apache-2.0
// Partitioned communication (MPI-4.0 4): MPI_Psend_init, MPI_Precv_init, MPI_Pready,
// MPI_Pready_range, MPI_Pready_list, MPI_Parrived.
//
// Between two processes of this system it is the vendor's. To another system, the partitions travel
// as one message when all are ready, in a context of their own: they match no other messages. The
// number of partitions may differ at both ends. Operations match in the order of their
// initialisation, so the messages of each bear its number, beside the rank.
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Psend_init

#include <fmt/format.h>
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/pt2pt/receive.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/engine_request.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/request/vendor_request.hpp"
#include "shim/values/initialization_numbers.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// The partitions of a send that are ready, or of a receive.
struct PartitionedPart {
  PartitionedPart(int partitions, std::int32_t sender_)
      : ready(static_cast<std::size_t>(partitions)), sender(sender_) {}
  std::vector<std::atomic<bool>> ready;
  std::atomic<std::size_t> ready_count{0};
  std::atomic<bool> sent{false};  ///< the message is the engine's
  const std::int32_t sender;      ///< numbered_rank() of the sending side
};

PartitionedPart& part_of_partitioned(const Request& request) {
  return *static_cast<PartitionedPart*>(request.part.get());
}

class PartitionedSend final : public RequestKind {
 public:
  constexpr PartitionedSend() : RequestKind({}) {}

  int start(Job& /*job*/, Request& request) const override {
    PartitionedPart& part = part_of_partitioned(request);
    for (auto& each : part.ready) each.store(false, std::memory_order_relaxed);
    part.ready_count.store(0, std::memory_order_relaxed);
    part.sent.store(false, std::memory_order_relaxed);
    const int described =
        describe_buffer(request.function, request.arguments.send_buffer, request.arguments.count,
                        request.arguments.datatype, request.send.buffer);
    if (described == MPI_SUCCESS) request.begin();
    return described;
  }

  bool advance(Job& /*job*/, Request& request) const override {
    return advance_locked(request, [&] {
      if (!part_of_partitioned(request).sent.load(std::memory_order_acquire)) return false;
      return request.arguments.peer == MPI_PROC_NULL || request.send.complete();
    });
  }

  int read_status(Job& job, Request& request, MPI_Status* status) const override {
    if (request.arguments.peer != MPI_PROC_NULL) return read_engine_send(job, request, status);
    set_empty_status(status, MPI_ANY_SOURCE);
    return MPI_SUCCESS;
  }

  int cancel(Job& /*job*/, Request& request) const override {
    return raise(request.comm(), MPI_ERR_REQUEST, "MPI_Cancel",
                 "partitioned communication cannot be cancelled");
  }

  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

class PartitionedReceive final : public RequestKind {
 public:
  constexpr PartitionedReceive() : RequestKind({.receives = true}) {}

  int start(Job& job, Request& request) const override {
    request.begin();
    if (request.arguments.peer == MPI_PROC_NULL) return MPI_SUCCESS;
    const int described =
        describe_buffer(request.function, request.arguments.receive_buffer, request.arguments.count,
                        request.arguments.datatype, request.receive.buffer);
    if (described != MPI_SUCCESS) return described;
    request.receive.context = request.communicator->context | kPartitionedContext;
    request.receive.source = part_of_partitioned(request).sender;
    request.receive.tag = request.arguments.tag;
    request.receive.has_native_twin = false;
    request.receive.owner = &request;
    job.engine->start(request.receive);
    return MPI_SUCCESS;
  }

  bool advance(Job& /*job*/, Request& request) const override {
    return advance_locked(request, [&] { return has_arrived(request); });
  }

  int read_status(Job& job, Request& request, MPI_Status* status) const override {
    if (request.arguments.peer == MPI_PROC_NULL) {
      set_empty_status(status, MPI_PROC_NULL);
      return MPI_SUCCESS;
    }
    const int code = read_engine_receive(job, request, status);
    if (status != MPI_STATUS_IGNORE) status->MPI_SOURCE = request.arguments.peer;
    return code;
  }

  int cancel(Job& /*job*/, Request& request) const override {
    return raise(request.comm(), MPI_ERR_REQUEST, "MPI_Cancel",
                 "partitioned communication cannot be cancelled");
  }

  bool waits_in_vendor(Request& /*request*/) const override { return false; }

  static bool has_arrived(const Request& request) {
    return request.arguments.peer == MPI_PROC_NULL || request.receive.complete();
  }
};

const RequestKind& partitioned_send() {
  static constexpr PartitionedSend kind;
  return kind;
}

const RequestKind& partitioned_receive() {
  static constexpr PartitionedReceive kind;
  return kind;
}

/// The type of a list of partitions: MPICH 4.0.2 declares it without const.
template <class Function>
struct ListOf;
template <class List>
struct ListOf<int (*)(int, List, MPI_Request)> {
  using Type = List;
};
using PartitionList = ListOf<decltype(vendor::pointers::Pready_list)::value_type>::Type;

/// The arguments that both ends have.
struct Partitions {
  int number;
  MPI_Count count;
  MPI_Datatype datatype;
};

/// Computes the number of elements of all partitions. Returns the code of an error that was raised.
int count_elements(const Communicator& communicator, const char* function,
                   const Partitions& partitions, std::int64_t& elements) {
  if (partitions.number <= 0) {
    return raise(communicator.handle, MPI_ERR_ARG, function,
                 fmt::format("{} partitions", partitions.number));
  }
  if (partitions.count < 0 ||
      __builtin_mul_overflow(static_cast<std::int64_t>(partitions.count),
                             static_cast<std::int64_t>(partitions.number), &elements)) {
    return raise(communicator.handle, MPI_ERR_COUNT, function,
                 fmt::format("count {}", partitions.count));
  }
  return MPI_SUCCESS;
}

Request& make_partitioned(Communicator& communicator, const char* function, const RequestKind& kind,
                          const Partitions& partitions, std::int64_t elements, int peer, int tag) {
  const bool sends = &kind == &partitioned_send();
  const std::uint64_t number = communicator.partitioned.next(
      sends ? InitializationNumbers::Side::kSend : InitializationNumbers::Side::kReceive, peer,
      tag);
  const auto senders = static_cast<std::int32_t>(sends ? communicator.own_group().size()
                                                       : communicator.members.size());
  Request& request = request_pool().acquire(&communicator, function);
  request.kind = &kind;
  request.arguments.count = elements;
  request.arguments.datatype = partitions.datatype;
  request.arguments.peer = peer;
  request.arguments.tag = tag;
  request.part = std::make_shared<PartitionedPart>(
      partitions.number, numbered_rank(sends ? communicator.rank : peer, number, senders));
  request.make_persistent();
  return request;
}

int raise_partition(const Request& request, const char* function, std::string_view text) {
  return raise(request.comm(), MPI_ERR_ARG, function, text);
}

/// Marks a partition as ready, and sends the message behind the last one.
int make_ready(Job& job, Request& request, int partition, const char* function) {
  PartitionedPart& part = part_of_partitioned(request);
  if (partition < 0 || static_cast<std::size_t>(partition) >= part.ready.size()) {
    return raise_partition(request, function,
                           fmt::format("partition {} of {}", partition, part.ready.size()));
  }
  if (part.ready[static_cast<std::size_t>(partition)].exchange(true, std::memory_order_acq_rel)) {
    return raise_partition(request, function,
                           fmt::format("partition {} is ready already", partition));
  }
  if (part.ready_count.fetch_add(1, std::memory_order_acq_rel) + 1 < part.ready.size())
    return MPI_SUCCESS;
  if (request.arguments.peer != MPI_PROC_NULL) {
    address_send(*request.communicator, request.arguments.peer, request.arguments.tag,
                 SendKind::kStandard, request.send);
    request.send.context |= kPartitionedContext;
    request.send.source_rank = part.sender;
    job.engine->start(request.send);
  }
  part.sent.store(true, std::memory_order_release);
  return MPI_SUCCESS;
}

/// Returns the active partitioned send of a handle of ours. Returns null if it is none: an error
/// was raised, with the code that is set.
Request* active_send(MPI_Request handle, const char* function, int& code) {
  Request& request = request_pool().at(handle);
  if (request.kind == &partitioned_send() && request.active) return &request;
  code = raise(request.comm(), MPI_ERR_REQUEST, function,
               "the request is no active one of MPI_Psend_init");
  return nullptr;
}

}  // namespace

namespace calls {

int Psend_init(Job& job, const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
               int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* handle) {
  constexpr const char* kFunction = "MPI_Psend_init";
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor::Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, handle);
  const Partitions described{partitions, count, datatype};
  std::int64_t elements = 0;
  int code = check_send(job, *communicator, kFunction, 0, datatype, dest, tag);
  if (code == MPI_SUCCESS) code = count_elements(*communicator, kFunction, described, elements);
  if (code != MPI_SUCCESS) return code;
  const int local = dest == MPI_PROC_NULL ? -1 : communicator->local_rank(dest);
  if (local >= 0)
    return vendor::Psend_init(buf, partitions, count, datatype, local, tag, comm, info, handle);
  Request& request = make_partitioned(*communicator, kFunction, partitioned_send(), described,
                                      elements, dest, tag);
  request.arguments.send_buffer = buf;
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

int Precv_init(Job& job, void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
               int source, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* handle) {
  constexpr const char* kFunction = "MPI_Precv_init";
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor::Precv_init(buf, partitions, count, datatype, source, tag, comm, info, handle);
  const Partitions described{partitions, count, datatype};
  std::int64_t elements = 0;
  // Wildcards are not allowed, so the checks of a send are the right ones.
  int code = check_send(job, *communicator, kFunction, 0, datatype, source, tag);
  if (code == MPI_SUCCESS) code = count_elements(*communicator, kFunction, described, elements);
  if (code != MPI_SUCCESS) return code;
  const int local = source == MPI_PROC_NULL ? -1 : communicator->local_rank(source);
  if (local >= 0 && vendor_request_serves(job, *communicator)) {
    code = vendor::Precv_init(buf, partitions, count, datatype, local, tag, comm, info, handle);
    if (code == MPI_SUCCESS) job.receive_sources.put_to_stay(*handle, source - local);
    return code;
  }
  Request& request = make_partitioned(*communicator, kFunction,
                                      local >= 0 ? vendor_receive() : partitioned_receive(),
                                      described, elements, source, tag);
  request.arguments.receive_buffer = buf;
  if (local >= 0) {
    code = vendor::Precv_init(buf, partitions, count, datatype, local, tag, comm, info,
                              &request.vendor.persistent);
    if (code != MPI_SUCCESS) {
      request_pool().release(request);
      return code;
    }
  }
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

int Pready(Job& job, int partition, MPI_Request handle) {
  constexpr const char* kFunction = "MPI_Pready";
  if (!is_own_request(handle)) return vendor::Pready(partition, handle);
  int code = MPI_SUCCESS;
  Request* request = active_send(handle, kFunction, code);
  return request == nullptr ? code : make_ready(job, *request, partition, kFunction);
}

int Pready_range(Job& job, int low, int high, MPI_Request handle) {
  constexpr const char* kFunction = "MPI_Pready_range";
  if (!is_own_request(handle)) return vendor::Pready_range(low, high, handle);
  int code = MPI_SUCCESS;
  Request* request = active_send(handle, kFunction, code);
  if (request == nullptr) return code;
  if (low > high)
    return raise_partition(*request, kFunction, fmt::format("partitions {} to {}", low, high));
  for (int partition = low; partition <= high && code == MPI_SUCCESS; ++partition)
    code = make_ready(job, *request, partition, kFunction);
  return code;
}

int Pready_list(Job& job, int length, PartitionList partitions, MPI_Request handle) {
  constexpr const char* kFunction = "MPI_Pready_list";
  if (!is_own_request(handle)) return vendor::Pready_list(length, partitions, handle);
  int code = MPI_SUCCESS;
  Request* request = active_send(handle, kFunction, code);
  if (request == nullptr) return code;
  if (length < 0) return raise_partition(*request, kFunction, fmt::format("length {}", length));
  for (int i = 0; i < length && code == MPI_SUCCESS; ++i)
    code = make_ready(job, *request, partitions[i], kFunction);
  return code;
}

int Parrived(Job& job, MPI_Request handle, int partition, int* flag) {
  constexpr const char* kFunction = "MPI_Parrived";
  if (!is_own_request(handle)) return vendor::Parrived(handle, partition, flag);
  Request& request = request_pool().at(handle);
  const bool in_vendor =
      request.kind == &vendor_receive() && request.vendor.persistent != MPI_REQUEST_NULL;
  if (in_vendor) {
    *flag = 1;
    return !request.active || test_request(job, request)
               ? MPI_SUCCESS
               : vendor::Parrived(request.vendor.persistent, partition, flag);
  }
  if (request.kind != &partitioned_receive()) {
    return raise(request.comm(), MPI_ERR_REQUEST, kFunction,
                 "the request is none of MPI_Precv_init");
  }
  const PartitionedPart& part = part_of_partitioned(request);
  if (partition < 0 || static_cast<std::size_t>(partition) >= part.ready.size()) {
    return raise_partition(request, kFunction,
                           fmt::format("partition {} of {}", partition, part.ready.size()));
  }
  if (request.active && !PartitionedReceive::has_arrived(request)) progress_once(job, true);
  *flag = !request.active || PartitionedReceive::has_arrived(request) ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim

#endif
