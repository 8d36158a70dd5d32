// SPDX-License-Identifier: Apache-2.0
/// What an origin asks of a target's window, and what the target answers: the messages of one-sided
/// communication between systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"

namespace impishim::wire {

/// The values travel in messages.
enum class WindowRequestKind : std::uint8_t {
  kPut = 0,             ///< data for the target's memory
  kGet = 1,             ///< the target answers with data
  kAccumulate = 2,      ///< operands
  kGetAccumulate = 3,   ///< operands; the target answers with the values before
  kCompareAndSwap = 4,  ///< the value to compare with, then the new value; answered likewise
  kFlush = 5,           ///< the target answers when it has applied all requests before
  kLock = 6,            ///< the target answers when the origin holds its lock
  kUnlock = 7,          ///< the target answers when it has applied all requests before
  kPost = 8,            ///< the sender exposes its window to the receiver
  kComplete = 9,        ///< the sender's access epoch is over
  kAnswer = 10,         ///< to the request with this ticket
  kNumberOfKinds = 11,
};

/// The outcome of a request, which an answer carries. The values travel in messages.
enum class WindowStatus : std::uint8_t {
  kDone = 0,
  kOutOfRange = 1,  ///< the target does not expose all that the request touches
  kNoWindow = 2,    ///< the target has no such window
  kBadRequest = 3,  ///< the data does not have the size or type that it should have
  kNoMemory = 4,
  kConversion = 5,  ///< a value does not fit the representation between the two systems
};

/// One message: a header of fixed size, the target's datatype unless it is a basic type, and the
/// data unless it follows in a message of its own.
struct WindowRequest {
  static constexpr std::size_t kHeaderBytes = 56;

  WindowRequestKind kind = WindowRequestKind::kPut;
  ElementOperation operation = ElementOperation::kReplace;
  ElementKind element = ElementKind::kByte;
  WindowStatus status = WindowStatus::kDone;  ///< of an answer
  bool exclusive = false;                     ///< of a request for the lock
  /// The data follows in a message with this request's ticket as its tag.
  bool data_follows = false;
  /// The target's datatype is one of this type, unless `layout` is set.
  BasicType basic = BasicType::kByte;
  /// How many fences of the window the sender has passed, modulo 2^32. Of no answer.
  std::uint32_t fence = 0;
  std::uint64_t window = 0;       ///< the number of the window in the job
  std::uint64_t ticket = 0;       ///< the origin's number of the request
  std::int64_t displacement = 0;  ///< in units of the target
  std::uint64_t count = 0;        ///< elements of the target's datatype
  std::uint64_t data_bytes = 0;   ///< of the data as it travels
  std::shared_ptr<const TypeLayout> layout;

  /// Returns the target's datatype.
  [[nodiscard]] const TypeLayout& target_layout() const {
    return layout != nullptr ? *layout : TypeLayout::basic(basic);
  }
};

/// Writes the message to `message`, whose memory is used again: `data` stands behind the header and
/// the datatype, and is empty if it follows in a message of its own.
void encode_request(const WindowRequest& request, std::span<const std::byte> data,
                    std::vector<std::byte>& message);

/// A request that has arrived, and the data that came with it.
struct ArrivedRequest {
  WindowRequest request;
  std::span<const std::byte> data;  ///< a part of the message
};

/// Decodes a message. Fails with kProtocol if it is none that encode_request() writes.
[[nodiscard]] Result<ArrivedRequest> decode_request(std::span<const std::byte> message);

}  // namespace impishim::wire
