// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/own_access.hpp"

#include <cstddef>
#include <vector>

#include "shim/rma/access.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::shim {
namespace {

using wire::Format;
using wire::WindowStatus;

std::vector<std::byte> packed(const wire::ConstBuffer& data) {
  std::vector<std::byte> bytes;
  if (data.layout == nullptr) return bytes;
  wire::PackCursor cursor(data, Format::kNative);
  bytes.resize(cursor.total());
  // The native form holds every value.
  static_cast<void>(cursor.pack(bytes));
  return bytes;
}

WindowStatus carry_out(wire::WindowTarget& target, const wire::WindowRequest& request,
                       const std::vector<std::byte>& data, std::vector<std::byte>& answer) {
  switch (request.kind) {
    case wire::WindowRequestKind::kPut:
      return target.put(request, data, Format::kNative);
    case wire::WindowRequestKind::kGet:
      return target.get(request, Format::kNative, answer);
    case wire::WindowRequestKind::kAccumulate:
      return target.accumulate(request, data, Format::kNative, nullptr);
    case wire::WindowRequestKind::kGetAccumulate:
      return target.accumulate(request, data, Format::kNative, &answer);
    case wire::WindowRequestKind::kCompareAndSwap:
      return target.compare_and_swap(request, data, Format::kNative, answer);
    default:
      return WindowStatus::kBadRequest;
  }
}

}  // namespace

int access_own(const AccessCall& call, const wire::WindowRequest& request,
               const wire::ConstBuffer& data, const wire::MutableBuffer& result) {
  const std::vector<std::byte> bytes = packed(data);
  wire::WindowRequest own = request;
  own.data_bytes = bytes.size();
  std::vector<std::byte> answer;
  const WindowStatus status = carry_out(call.window.target, own, bytes, answer);
  if (status != WindowStatus::kDone) return raise_status(call.window.handle, status, call.function);
  if (answer.empty()) return MPI_SUCCESS;
  wire::UnpackCursor cursor(result, Format::kNative);
  static_cast<void>(cursor.unpack(answer));
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
