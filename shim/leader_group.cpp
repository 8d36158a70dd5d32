#include "shim/leader_group.hpp"

#include <algorithm>
#include <cassert>

#include "shim/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "shim/vendor_count.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::Pending;

namespace {

template <class List, class Leaders>
auto& append(List& list, Leaders& leaders) {
  auto& message = list.emplace_back(leaders, list);
  message.place = std::prev(list.end());
  return message;
}

template <class List>
bool all_done(List& list) {
  return std::ranges::all_of(list, [](auto& message) { return message.done(); });
}

/// Ends all messages of a list; the first error stays.
template <class List>
void end_all(List& list, Result<void>& first) {
  while (!list.empty()) {
    const auto ended = list.front().outcome();
    if (first.ok() && !ended.ok()) first = ended;
  }
}

Result<void> result_of(const wire::Operation& operation) {
  if (operation.result.error) return *operation.result.error;
  return {};
}

/// Plain bytes: what a wire buffer to one's own client holds.
std::uint64_t plain_bytes(const wire::TypeLayout& layout, std::uint64_t count) {
  assert(layout.contiguous(count));
  return count * layout.packed_size(wire::Format::kNative);
}

MPI_Datatype type_of(const collectives::ElementType& type) { return from_bits<MPI_Datatype>(type.native_handle); }

}  // namespace

Pending& EngineLeaders::post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) {
  if (const int local = local_rank(to); local >= 0) {
    return send_inside(local, tag, data.base + data.layout->first_offset(), plain_bytes(*data.layout, data.count), MPI_BYTE);
  }
  Sent& sent = append(sent_, *this);
  sent.operation.destination = communicator_.members[static_cast<std::size_t>(to)];
  sent.operation.context = communicator_.context + 1;
  sent.operation.source_rank = communicator_.rank;
  sent.operation.tag = tag;
  sent.operation.buffer = data;
  engine_.start(sent.operation);
  return sent;
}

Pending& EngineLeaders::post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) {
  if (const int local = local_rank(from); local >= 0) {
    return receive_inside(local, tag, room.base + room.layout->first_offset(), plain_bytes(*room.layout, room.count), MPI_BYTE);
  }
  Received& received = append(received_, *this);
  received.operation.context = communicator_.context + 1;
  received.operation.source = from;
  received.operation.tag = tag;
  received.operation.buffer = room;
  engine_.start(received.operation);
  return received;
}

Pending& EngineLeaders::post_send(std::int32_t to, std::int32_t tag, const ConstData& data) {
  if (const int local = local_rank(to); local >= 0) {
    return send_inside(local, tag, data.base, data.count, type_of(*data.type));
  }
  return post_send(to, tag, data.buffer());
}

Pending& EngineLeaders::post_receive(std::int32_t from, std::int32_t tag, const Data& room) {
  if (const int local = local_rank(from); local >= 0) {
    return receive_inside(local, tag, room.base, room.count, type_of(*room.type));
  }
  return post_receive(from, tag, room.buffer());
}

Pending& EngineLeaders::send_inside(int to, std::int32_t tag, const void* base, std::uint64_t count, MPI_Datatype type) {
  Local& message = append(local_, *this);
  const VendorCount elements(count, type);
  message.code = vendor::Isend(base, elements.count(), elements.type(), to, tag, communicator_.companion, &message.request);
  return message;
}

Pending& EngineLeaders::receive_inside(int from, std::int32_t tag, void* base, std::uint64_t count, MPI_Datatype type) {
  Local& message = append(local_, *this);
  const VendorCount elements(count, type);
  message.code = vendor::Irecv(base, elements.count(), elements.type(), from, tag, communicator_.companion, &message.request);
  return message;
}

Result<void> EngineLeaders::Sent::ended() { return result_of(operation); }

Result<void> EngineLeaders::Received::ended() { return result_of(operation); }

bool EngineLeaders::Local::done() {
  if (request == MPI_REQUEST_NULL || code != MPI_SUCCESS) return true;
  int complete = 0;
  code = vendor::Test(&request, &complete, MPI_STATUS_IGNORE);
  return complete != 0 || code != MPI_SUCCESS;
}

Result<void> EngineLeaders::Local::ended() {
  if (code == MPI_SUCCESS) return {};
  if (leaders_.first_code_ == MPI_SUCCESS) leaders_.first_code_ = code;
  return Error{ErrorKind::kSystem, "a message inside this system failed"};
}

bool EngineLeaders::Everything::done() {
  return all_done(leaders_.received_) && all_done(leaders_.sent_) && all_done(leaders_.local_);
}

Result<void> EngineLeaders::Everything::outcome() {
  Result<void> first;
  end_all(leaders_.sent_, first);
  end_all(leaders_.received_, first);
  end_all(leaders_.local_, first);
  return first;
}

}  // namespace impishim::shim
