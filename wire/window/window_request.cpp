// SPDX-License-Identifier: Apache-2.0
#include "wire/window/window_request.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/layout_codec.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint8_t kExclusive = 1;
constexpr std::uint8_t kDataFollows = 2;

Error broken(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

/// Places of the fields in the header, in bytes.
enum Place : std::size_t {
  kKind = 0,
  kOperation = 1,
  kElement = 2,
  kStatus = 3,
  kFlags = 4,
  kBasic = 5,
  // 6 and 7 are zero
  kLayoutBytes = 8,
  kFence = 12,
  kWindow = 16,
  kTicket = 24,
  kDisplacement = 32,
  kCount = 40,
  kDataBytes = 48,
};

/// Returns true if every enumeration and flag has a defined value.
bool has_valid_numbers(const WindowRequest& request, std::uint8_t flags) {
  return request.kind < WindowRequestKind::kNumberOfKinds &&
         request.operation < ElementOperation::kNumberOfOperations &&
         request.element < ElementKind::kNumberOfKinds &&
         request.status <= WindowStatus::kConversion && request.basic < BasicType::kNumberOfTypes &&
         (flags & ~(kExclusive | kDataFollows)) == 0;
}

}  // namespace

void encode_request(const WindowRequest& request, std::span<const std::byte> data,
                    std::vector<std::byte>& message) {
  message.assign(WindowRequest::kHeaderBytes, std::byte{0});
  if (request.layout != nullptr) encode_layout(*request.layout, message);
  const std::size_t layout_bytes = message.size() - WindowRequest::kHeaderBytes;
  message.insert(message.end(), data.begin(), data.end());
  std::byte* const at = message.data();
  at[kKind] = static_cast<std::byte>(request.kind);
  at[kOperation] = static_cast<std::byte>(request.operation);
  at[kElement] = static_cast<std::byte>(request.element);
  at[kStatus] = static_cast<std::byte>(request.status);
  at[kFlags] = static_cast<std::byte>((request.exclusive ? kExclusive : 0) |
                                      (request.data_follows ? kDataFollows : 0));
  at[kBasic] = static_cast<std::byte>(request.basic);
  store_big_endian(at + kLayoutBytes, static_cast<std::uint32_t>(layout_bytes));
  store_big_endian(at + kFence, request.fence);
  store_big_endian(at + kWindow, request.window);
  store_big_endian(at + kTicket, request.ticket);
  store_big_endian(at + kDisplacement, request.displacement);
  store_big_endian(at + kCount, request.count);
  store_big_endian(at + kDataBytes, request.data_bytes);
}

Result<ArrivedRequest> decode_request(std::span<const std::byte> message) {
  if (message.size() < WindowRequest::kHeaderBytes)
    return broken("a request for a window that is too short");
  const std::byte* const at = message.data();
  ArrivedRequest arrived;
  WindowRequest& request = arrived.request;
  request.kind = static_cast<WindowRequestKind>(at[kKind]);
  request.operation = static_cast<ElementOperation>(at[kOperation]);
  request.element = static_cast<ElementKind>(at[kElement]);
  request.status = static_cast<WindowStatus>(at[kStatus]);
  request.basic = static_cast<BasicType>(at[kBasic]);
  const auto flags = static_cast<std::uint8_t>(at[kFlags]);
  if (!has_valid_numbers(request, flags)) return broken("a request for a window of no known kind");
  request.exclusive = (flags & kExclusive) != 0;
  request.data_follows = (flags & kDataFollows) != 0;
  request.fence = load_big_endian<std::uint32_t>(at + kFence);
  request.window = load_big_endian<std::uint64_t>(at + kWindow);
  request.ticket = load_big_endian<std::uint64_t>(at + kTicket);
  request.displacement = load_big_endian<std::int64_t>(at + kDisplacement);
  request.count = load_big_endian<std::uint64_t>(at + kCount);
  request.data_bytes = load_big_endian<std::uint64_t>(at + kDataBytes);
  std::span<const std::byte> rest = message.subspan(WindowRequest::kHeaderBytes);
  const std::size_t layout_bytes = load_big_endian<std::uint32_t>(at + kLayoutBytes);
  if (layout_bytes > rest.size()) return broken("a request for a window with half a datatype");
  if (layout_bytes > 0) {
    auto layout = decode_layout(rest.first(layout_bytes));
    if (!layout) return layout.error();
    request.layout = std::move(*layout);
  }
  arrived.data = rest.subspan(layout_bytes);
  const bool complete =
      request.data_follows ? arrived.data.empty() : arrived.data.size() == request.data_bytes;
  if (!complete) return broken("a request for a window with more or less data than it says");
  return arrived;
}

}  // namespace impishim::wire
