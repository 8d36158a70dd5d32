// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/access.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/completion/wait.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/rma/element_kind.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/own_access.hpp"
#include "shim/rma/rma_request.hpp"
#include "shim/rma/synchronisation.hpp"
#include "shim/rma/vendor_access.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_layout.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/layout_codec.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {
namespace {

using wire::WindowRequestKind;

/// Requests that may be sent behind one for a lock before it is granted: the target keeps them.
constexpr std::size_t kMostHeldBack = 64;

int raise_here(const AccessCall& call, int error_class, std::string_view text) {
  return raise_on_window(call.window.handle, error_class, call.function, text);
}

int check_elements(const AccessCall& call, MPI_Count count, MPI_Datatype datatype) {
  if (count < 0) return raise_here(call, MPI_ERR_COUNT, fmt::format("count {}", count));
  if (datatype == MPI_DATATYPE_NULL)
    return raise_here(call, MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  return MPI_SUCCESS;
}

/// Whether an access is permitted.
struct Permission {
  int code = MPI_SUCCESS;  ///< of an error that has been raised
  /// The vendor may carry out the access at once: outstanding requests tell of it.
  bool vendor_begun = false;
};

/// What the epochs of a window say about an access.
struct EpochsSay {
  bool permitted = false;
  bool passive = false;
  bool vendor_begun = false;
};

/// Asks the epochs about a target. If the vendor shall carry out the access and nothing has to be
/// waited for, notes that it does.
EpochsSay ask_epochs(Window& window, std::int32_t target, bool by_vendor) {
  const MutexLock lock(window.mutex);
  EpochsSay say{window.epochs.may_access(target), window.epochs.is_passive(target)};
  say.vendor_begun =
      by_vendor && say.permitted && window.locking.empty() && !window.epochs.is_lock_due(target);
  if (say.vendor_begun) window.outstanding.use_vendor(target);
  return say;
}

/// Checks a target's rank and whether an epoch permits the access. The rank is a member's.
Permission check_access(const AccessCall& call, const TargetElements& target, bool by_vendor) {
  if (const int code = check_elements(call, target.count, target.datatype); code != MPI_SUCCESS)
    return {code};
  if (const int code = check_target(call.window, target.rank, call.function); code != MPI_SUCCESS)
    return {code};
  const EpochsSay say = ask_epochs(call.window, target.rank, by_vendor);
  if (!say.permitted) {
    return {raise_here(call, MPI_ERR_RMA_SYNC,
                       fmt::format("no epoch for access to rank {} is open: call MPI_Win_fence, "
                                   "MPI_Win_start or MPI_Win_lock before",
                                   target.rank))};
  }
  if (call.request != nullptr && !say.passive)
    return {raise_here(call, MPI_ERR_RMA_SYNC, "the function needs an epoch of MPI_Win_lock")};
  return {MPI_SUCCESS, say.vendor_begun};
}

/// The request for a target's elements, and the layout that describes them.
Result<wire::WindowRequest> describe(const AccessCall& call, WindowRequestKind kind,
                                     const TargetElements& target) {
  auto layout = layout_of(target.datatype);
  if (!layout) return layout.error();
  wire::WindowRequest request;
  request.kind = kind;
  request.window = call.window.id();
  request.displacement = target.displacement;
  request.count = static_cast<std::uint64_t>(target.count);
  const auto& blocks = layout->layout->blocks();
  if (blocks.size() == 1 && layout->layout == &wire::TypeLayout::basic(blocks.front().type)) {
    request.basic = blocks.front().type;
  } else if (layout->keep_alive != nullptr) {
    request.layout = layout->keep_alive;
  } else {
    // A predefined type's layout lives forever.
    request.layout = std::shared_ptr<const wire::TypeLayout>(
        layout->layout, [](const wire::TypeLayout* /*layout*/) {});
  }
  if (request.layout != nullptr &&
      wire::encoded_bytes(*request.layout) > wire::WindowChannel::kLayoutBytes) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("the target's datatype has {} blocks, whose description does not fit "
                             "in a request: use a datatype of fewer blocks",
                             blocks.size())};
  }
  return request;
}

/// Raises an error unless both sides have the same number of bytes.
int check_sizes(const AccessCall& call, std::uint64_t origin, const wire::WindowRequest& request) {
  const std::uint64_t there =
      request.count * request.target_layout().packed_size(wire::Format::kNative);
  if (origin == there) return MPI_SUCCESS;
  return raise_here(call, MPI_ERR_TYPE,
                    fmt::format("{} bytes at the origin and {} at the target", origin, there));
}

std::uint64_t bytes_of(const wire::ConstBuffer& data) {
  return data.layout == nullptr ? 0 : data.packed_size(wire::Format::kNative);
}

/// Waits for a lock when many requests are held back behind it.
void limit_held_back(const AccessCall& call, std::int32_t target) {
  std::shared_ptr<AskedRequest> asked;
  {
    const MutexLock lock(call.window.mutex);
    auto& locking = call.window.locking;
    const auto found = locking.find(target);
    if (found == locking.end()) return;
    if (found->second->answer.complete()) {
      locking.erase(found);
      return;
    }
    if (++found->second->held_back < kMostHeldBack) return;
    asked = found->second;
  }
  drive_until(call.job, true, [&] { return asked->answer.complete(); });
}

/// Lets a request inside this system leave, which only a thread that may call the vendor can do.
void push_local(const AccessCall& call, std::int32_t target) {
  if (call.window.is_local(target))
    one_sided(call.job).service().progress(wire::WindowService::Caller::kVendorsThread);
}

/// Carries out a request to this process's own memory.
int do_here(const AccessCall& call, const wire::WindowRequest& request,
            const wire::ConstBuffer& data, const wire::MutableBuffer& result) {
  acquire_lock(call.job, call.window, call.window.communicator.rank);
  const int code = access_own(call, request, data, result);
  if (code == MPI_SUCCESS && call.request != nullptr) make_rma_request(call, nullptr, 0);
  return code;
}

/// Returns true if the vendor has the memory of a target.
bool is_native(const AccessCall& call, const TargetElements& target) {
  return call.window.shape.native && call.window.is_local(target.rank);
}

/// Returns true if the program wants the vendor to carry out an accumulate.
bool is_native_accumulate(const AccessCall& call, const TargetElements& target) {
  return call.window.shape.vendor_accumulates && is_native(call, target);
}

/// Prepares an access by the vendor, which may have to wait for a lock.
void begin_native(const AccessCall& call, std::int32_t target, const Permission& permission) {
  if (permission.vendor_begun) return;
  acquire_lock(call.job, call.window, target);
  const MutexLock lock(call.window.mutex);
  call.window.outstanding.use_vendor(target);
}

/// Sends a request without an answer.
int send(const AccessCall& call, std::int32_t target, wire::WindowRequest request,
         const wire::ConstBuffer& data) {
  if (target == call.window.communicator.rank) return do_here(call, request, data, {});
  acquire_lock(call.job, call.window, target);
  limit_held_back(call, target);
  wire::WindowService& service = one_sided(call.job).service();
  std::uint64_t ticket = 0;
  {
    const MutexLock lock(call.window.mutex);
    const auto sent =
        service.send(call.window.communicator.world_rank(target), std::move(request), data);
    if (!sent) return raise_here(call, error_class_of(sent.error().kind), sent.error().text);
    ticket = *sent;
    call.window.outstanding.count_sent(target);
    call.window.outstanding.add_sent(target, ticket);
  }
  push_local(call, target);
  if (call.request != nullptr) make_rma_request(call, nullptr, ticket);
  return MPI_SUCCESS;
}

/// Sends a request that is answered.
int ask(const AccessCall& call, std::int32_t target, wire::WindowRequest request,
        const wire::ConstBuffer& data, const wire::MutableBuffer& result) {
  if (target == call.window.communicator.rank) return do_here(call, request, data, result);
  acquire_lock(call.job, call.window, target);
  limit_held_back(call, target);
  auto asked = std::make_shared<AskedRequest>();
  asked->target = target;
  {
    const MutexLock lock(call.window.mutex);
    const auto sent =
        one_sided(call.job).service().ask(call.window.communicator.world_rank(target),
                                          std::move(request), data, result, asked->answer);
    if (!sent) return raise_here(call, error_class_of(sent.error().kind), sent.error().text);
    call.window.outstanding.count_asked(target);
    call.window.outstanding.add(asked);
  }
  push_local(call, target);
  if (call.request != nullptr) make_rma_request(call, std::move(asked), 0);
  return MPI_SUCCESS;
}

/// Completes a call that has nothing to do.
int nothing(const AccessCall& call) {
  if (call.request != nullptr) make_rma_request(call, nullptr, 0);
  return MPI_SUCCESS;
}

/// Sets the element and the operation of an accumulate, and checks that they fit each other and the
/// target's datatype.
int set_operation(const AccessCall& call, const TargetElements& target, MPI_Op op,
                  wire::WindowRequest& request) {
  const auto kind = element_kind_of(target.datatype);
  if (!kind || !wire::consists_of(request.target_layout(), *kind)) {
    return raise_here(call, MPI_ERR_TYPE,
                      "the target's datatype does not consist of one predefined type that "
                      "accumulates support");
  }
  const auto operation = element_operation_of(op);
  if (!operation)
    return raise_here(call, MPI_ERR_OP, "accumulates have predefined operations only");
  if (wire::element_function(*operation, *kind) == nullptr) {
    return raise_here(call, MPI_ERR_OP, "the operation is not defined for the target's datatype");
  }
  request.element = *kind;
  request.operation = *operation;
  return MPI_SUCCESS;
}

/// Describes an accumulate and the origin's operands.
int prepare_accumulate(const AccessCall& call, WindowRequestKind kind, const OriginElements& origin,
                       const TargetElements& target, MPI_Op op, wire::WindowRequest& request,
                       wire::ConstBuffer& operands) {
  auto described = describe(call, kind, target);
  if (!described) return raise_here(call, MPI_ERR_TYPE, described.error().text);
  request = std::move(described).value();
  if (const int code = set_operation(call, target, op, request); code != MPI_SUCCESS) return code;
  // The origin's elements are ignored (MPI-4.0 12.3.4).
  if (request.operation == wire::ElementOperation::kNoOperation) return MPI_SUCCESS;
  if (const int code = check_elements(call, origin.count, origin.datatype); code != MPI_SUCCESS)
    return code;
  auto buffer = const_buffer(origin.address, origin.count, origin.datatype);
  if (!buffer) return raise_here(call, MPI_ERR_TYPE, buffer.error().text);
  operands = std::move(buffer).value();
  return check_sizes(call, bytes_of(operands), request);
}

}  // namespace

int put(const AccessCall& call, const OriginElements& origin, const TargetElements& target) {
  if (target.rank == MPI_PROC_NULL) return nothing(call);
  const bool native = is_native(call, target);
  const Permission permission = check_access(call, target, native);
  int code = permission.code;
  if (code == MPI_SUCCESS) code = check_elements(call, origin.count, origin.datatype);
  if (code != MPI_SUCCESS) return code;
  if (native) {
    begin_native(call, target.rank, permission);
    return native_put(call, origin, target);
  }
  auto request = describe(call, WindowRequestKind::kPut, target);
  if (!request) return raise_here(call, MPI_ERR_TYPE, request.error().text);
  auto data = const_buffer(origin.address, origin.count, origin.datatype);
  if (!data) return raise_here(call, MPI_ERR_TYPE, data.error().text);
  code = check_sizes(call, bytes_of(*data), *request);
  if (code != MPI_SUCCESS) return code;
  return bytes_of(*data) == 0 ? nothing(call)
                              : send(call, target.rank, std::move(request).value(), *data);
}

int get(const AccessCall& call, const OriginElements& result, const TargetElements& target) {
  if (target.rank == MPI_PROC_NULL) return nothing(call);
  const bool native = is_native(call, target);
  const Permission permission = check_access(call, target, native);
  int code = permission.code;
  if (code == MPI_SUCCESS) code = check_elements(call, result.count, result.datatype);
  if (code != MPI_SUCCESS) return code;
  if (native) {
    begin_native(call, target.rank, permission);
    return native_get(call, result, target);
  }
  auto request = describe(call, WindowRequestKind::kGet, target);
  if (!request) return raise_here(call, MPI_ERR_TYPE, request.error().text);
  auto room = mutable_buffer(result.address, result.count, result.datatype);
  if (!room) return raise_here(call, MPI_ERR_TYPE, room.error().text);
  const std::uint64_t bytes = room->packed_size(wire::Format::kNative);
  code = check_sizes(call, bytes, *request);
  if (code != MPI_SUCCESS) return code;
  return bytes == 0 ? nothing(call) : ask(call, target.rank, std::move(request).value(), {}, *room);
}

int accumulate(const AccessCall& call, const OriginElements& origin, const TargetElements& target,
               MPI_Op op) {
  if (target.rank == MPI_PROC_NULL) return nothing(call);
  const bool native = is_native_accumulate(call, target);
  const Permission permission = check_access(call, target, native);
  int code = permission.code;
  if (code != MPI_SUCCESS) return code;
  if (native) {
    begin_native(call, target.rank, permission);
    return native_accumulate(call, origin, target, op);
  }
  wire::WindowRequest request;
  wire::ConstBuffer operands;
  code = prepare_accumulate(call, WindowRequestKind::kAccumulate, origin, target, op, request,
                            operands);
  if (code != MPI_SUCCESS) return code;
  return bytes_of(operands) == 0 ? nothing(call)
                                 : send(call, target.rank, std::move(request), operands);
}

int get_accumulate(const AccessCall& call, const OriginElements& origin,
                   const OriginElements& result, const TargetElements& target, MPI_Op op) {
  if (target.rank == MPI_PROC_NULL) return nothing(call);
  const bool native = is_native_accumulate(call, target);
  const Permission permission = check_access(call, target, native);
  int code = permission.code;
  if (code == MPI_SUCCESS) code = check_elements(call, result.count, result.datatype);
  if (code != MPI_SUCCESS) return code;
  if (native) {
    begin_native(call, target.rank, permission);
    return native_get_accumulate(call, origin, result, target, op);
  }
  wire::WindowRequest request;
  wire::ConstBuffer operands;
  code = prepare_accumulate(call, WindowRequestKind::kGetAccumulate, origin, target, op, request,
                            operands);
  if (code != MPI_SUCCESS) return code;
  auto room = mutable_buffer(result.address, result.count, result.datatype);
  if (!room) return raise_here(call, MPI_ERR_TYPE, room.error().text);
  const std::uint64_t bytes = room->packed_size(wire::Format::kNative);
  code = check_sizes(call, bytes, request);
  if (code != MPI_SUCCESS) return code;
  return bytes == 0 ? nothing(call) : ask(call, target.rank, std::move(request), operands, *room);
}

int compare_and_swap(const AccessCall& call, const void* origin, const void* compare, void* result,
                     const TargetElements& target) {
  if (target.rank == MPI_PROC_NULL) return MPI_SUCCESS;
  const bool native = is_native_accumulate(call, target);
  const Permission permission = check_access(call, target, native);
  if (permission.code != MPI_SUCCESS) return permission.code;
  if (native) {
    begin_native(call, target.rank, permission);
    return native_compare_and_swap(call, origin, compare, result, target);
  }
  auto request = describe(call, WindowRequestKind::kCompareAndSwap, target);
  if (!request) return raise_here(call, MPI_ERR_TYPE, request.error().text);
  const auto kind = element_kind_of(target.datatype);
  if (!kind || !wire::may_compare(*kind) || request->target_layout().basic_count() != 1) {
    return raise_here(call, MPI_ERR_TYPE,
                      "the datatype is no predefined integer, logical or byte type");
  }
  request->element = *kind;
  const std::size_t size = wire::element_bytes(*kind);
  std::vector<std::byte> operands(2 * size);
  std::memcpy(operands.data(), compare, size);
  std::memcpy(operands.data() + size, origin, size);
  const wire::TypeLayout& layout = wire::element_layout(*kind);
  return ask(call, target.rank, std::move(request).value(), {operands.data(), 2, &layout},
             {static_cast<std::byte*>(result), 1, &layout});
}

}  // namespace impishim::shim
