// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/vendor_transport.hpp"

#include <cstdint>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "shim/datatype/element_type.hpp"
#include "shim/datatype/vendor_count.hpp"
#include "shim/vendor.hpp"
#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::Pending;

namespace {

/// Returns the size in bytes of a wire buffer without gaps. The vendor can send it as plain bytes,
/// since both peers use the same vendor.
std::uint64_t plain_bytes(const wire::TypeLayout& layout, std::uint64_t count) {
  IMPISHIM_ASSERT(layout.contiguous(count));
  return count * layout.packed_size(wire::Format::kNative);
}

}  // namespace

Pending& VendorTransport::post_send(std::int32_t to, std::int32_t tag,
                                    const wire::ConstBuffer& data) {
  return send(to, tag, collectives::moved(data.base, data.layout->first_offset()),
              plain_bytes(*data.layout, data.count), MPI_BYTE);
}

Pending& VendorTransport::post_receive(std::int32_t from, std::int32_t tag,
                                       const wire::MutableBuffer& room) {
  return receive(from, tag, collectives::moved(room.base, room.layout->first_offset()),
                 plain_bytes(*room.layout, room.count), MPI_BYTE);
}

Pending& VendorTransport::post_send(std::int32_t to, std::int32_t tag, const ConstData& data) {
  return send(to, tag, data.base, data.count, datatype_of(*data.type));
}

Pending& VendorTransport::post_receive(std::int32_t from, std::int32_t tag, const Data& room) {
  return receive(from, tag, room.base, room.count, datatype_of(*room.type));
}

Pending& VendorTransport::post_receive(std::int32_t from, std::int32_t tag,
                                       const wire::MutableBuffer& room,
                                       collectives::Arrival& arrival) {
  IMPISHIM_ASSERT(tag != collectives::kAnyTag);
  arrival = {tag, plain_bytes(*room.layout, room.count)};
  return post_receive(from, tag, room);
}

Pending& VendorTransport::send(int to, std::int32_t tag, const void* base, std::uint64_t count,
                               MPI_Datatype type) {
  Message& message = messages_.add(first_code_);
  const VendorCount elements(count, type);
  message.code = vendor::Isend(base, elements.count(), elements.type(), to, first_tag_ + tag,
                               companion_, &message.request);
  return message;
}

Pending& VendorTransport::receive(int from, std::int32_t tag, void* base, std::uint64_t count,
                                  MPI_Datatype type) {
  Message& message = messages_.add(first_code_);
  message.receives = true;
  const VendorCount elements(count, type);
  message.code = vendor::Irecv(base, elements.count(), elements.type(), from, first_tag_ + tag,
                               companion_, &message.request);
  return message;
}

bool VendorTransport::Message::done() {
  if (request == MPI_REQUEST_NULL || code != MPI_SUCCESS) return true;
  int complete = 0;
  code = vendor::Test(&request, &complete, MPI_STATUS_IGNORE);
  return complete != 0 || code != MPI_SUCCESS;
}

Result<void> VendorTransport::Message::ended() {
  if (code == MPI_SUCCESS) return {};
  if (first_code_ == MPI_SUCCESS) first_code_ = code;
  return Error{ErrorKind::kSystem, "a message inside this system failed"};
}

void VendorTransport::give_up() {
  messages_.for_each([](Message& message) {
    if (message.receives && !message.done()) vendor::Cancel(&message.request);
  });
}

bool VendorTransport::is_quiet() {
  bool quiet = true;
  messages_.for_each(
      [&](Message& message) { quiet = quiet && (!message.receives || message.done()); });
  return quiet;
}

bool VendorTransport::Everything::done() { return messages_.messages_.all_done(); }

Result<void> VendorTransport::Everything::outcome() {
  Result<void> first;
  messages_.messages_.end_all(first);
  return first;
}

}  // namespace impishim::shim
