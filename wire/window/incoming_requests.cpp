// SPDX-License-Identifier: Apache-2.0
#include "wire/window/incoming_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {
namespace {

using Kind = WindowRequestKind;

/// Returns true if requests of this kind are ordered among each other.
bool is_ordered(Kind kind) {
  return kind == Kind::kAccumulate || kind == Kind::kGetAccumulate || kind == Kind::kCompareAndSwap;
}

/// Returns true if requests of this kind wait for all that came before.
bool waits_for_all(Kind kind) {
  return kind == Kind::kFlush || kind == Kind::kUnlock || kind == Kind::kComplete;
}

bool changes_memory(Kind kind) { return kind == Kind::kPut || is_ordered(kind); }

}  // namespace

void IncomingRequests::arrived(const WindowRequest& request, std::span<const std::byte> data) {
  Entry& entry = entries_.emplace_back();
  entry.request = request;
  // The data lies in the message, whose room is used again.
  entry.data.assign(data.begin(), data.end());
  if (request.data_follows) begin_receive(entry);
}

/// Receives data that follows: to the window's memory, or to memory of its own if it is to be
/// combined. Data of a request that cannot be carried out is dropped.
void IncomingRequests::begin_receive(Entry& entry) {
  const WindowRequest& request = entry.request;
  entry.status = target_.check(request, format_);
  if (entry.status == WindowStatus::kDone && request.kind != Kind::kPut) {
    try {
      entry.data.resize(request.data_bytes);
    } catch (const std::bad_alloc&) {
      entry.status = WindowStatus::kNoMemory;
    }
  }
  const MutableBuffer room = entry.status == WindowStatus::kDone && request.kind == Kind::kPut
                                 ? target_.buffer_of(request)
                                 : MutableBuffer{entry.data.data(), entry.data.size(),
                                                 &TypeLayout::basic(BasicType::kByte)};
  entry.receive = channel_.receive_data(origin_, DataOf::kRequest, request.ticket, room);
}

/// Returns true if the request waits for one before it.
bool IncomingRequests::blocked(Place entry) const {
  const Kind kind = entry->request.kind;
  return std::any_of(
      entries_.begin(), std::list<Entry>::const_iterator(entry), [&](const Entry& before) {
        return waits_for_all(kind) || (is_ordered(kind) && is_ordered(before.request.kind));
      });
}

std::size_t IncomingRequests::advance(std::vector<WindowRequest>& ended) {
  std::size_t over = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool done =
        entry->send != nullptr ? entry->send->complete() : !blocked(entry) && finish(*entry);
    if (!done) {
      ++entry;
      continue;
    }
    const Kind kind = entry->request.kind;
    if (kind == Kind::kUnlock || kind == Kind::kComplete) ended.push_back(entry->request);
    entry = entries_.erase(entry);
    ++over;
  }
  return over;
}

/// Applies a request if its data is here. Returns true if it is over.
bool IncomingRequests::finish(Entry& entry) {
  if (entry.receive != nullptr) {
    if (!entry.receive->complete()) return false;
    if (entry.status != WindowStatus::kDone) {
      answer(entry.request, entry.status, {});
      return true;
    }
    // A failed engine ends the job.
    if (entry.receive->failed()) return true;
  }
  return apply(entry);
}

/// Applies a request and answers it. Returns false if the answer's data is still being sent.
bool IncomingRequests::apply(Entry& entry) {
  const WindowRequest& request = entry.request;
  std::vector<std::byte> before;
  WindowStatus status = WindowStatus::kDone;
  switch (request.kind) {
    case Kind::kPut:
      if (entry.receive == nullptr) status = target_.put(request, entry.data, format_);
      break;
    case Kind::kGet:
      return apply_get(entry);
    case Kind::kAccumulate:
      status = target_.accumulate(request, entry.data, format_, nullptr);
      break;
    case Kind::kGetAccumulate:
      status = target_.accumulate(request, entry.data, format_, &before);
      break;
    case Kind::kCompareAndSwap:
      status = target_.compare_and_swap(request, entry.data, format_, before);
      break;
    default:
      break;
  }
  if (status != WindowStatus::kDone) before.clear();
  if (changes_memory(request.kind)) ++applied_;
  if (request.kind == Kind::kUnlock || request.kind == Kind::kComplete) return true;
  const bool answered = request.kind != Kind::kPut && request.kind != Kind::kAccumulate;
  if (!answered && status == WindowStatus::kDone) return true;
  if (before.size() <= WindowChannel::kInlineBytes) {
    answer(request, status, before);
    return true;
  }
  entry.data = std::move(before);
  return answer_long(entry,
                     {entry.data.data(), entry.data.size(), &TypeLayout::basic(BasicType::kByte)});
}

/// Answers a request with long data. Returns false while the data is being sent.
bool IncomingRequests::answer_long(Entry& entry, const ConstBuffer& data) {
  entry.send = channel_.send_data(origin_, DataOf::kAnswer, entry.request.ticket, data);
  // A value that does not fit its representation is found before anything leaves.
  const bool refused = entry.send->complete() && entry.send->failed();
  answer(entry.request, refused ? WindowStatus::kConversion : WindowStatus::kDone, {});
  return refused;
}

/// Answers a get. Long data is sent from the window's memory.
bool IncomingRequests::apply_get(Entry& entry) {
  const WindowRequest& request = entry.request;
  const WindowStatus status = target_.check(request, format_);
  const std::uint64_t bytes = request.count * request.target_layout().packed_size(format_);
  if (status != WindowStatus::kDone || bytes <= WindowChannel::kInlineBytes) {
    std::vector<std::byte> data;
    const WindowStatus read = target_.get(request, format_, data);
    if (read != WindowStatus::kDone) data.clear();
    answer(request, read, data);
    return true;
  }
  const MutableBuffer memory = target_.buffer_of(request);
  return answer_long(entry, {memory.base, memory.count, memory.layout, memory.keep_alive});
}

/// Answers a request. Without data here, and with some that the origin expects, the data follows.
void IncomingRequests::answer(const WindowRequest& request, WindowStatus status,
                              std::span<const std::byte> data) {
  WindowRequest reply;
  reply.kind = Kind::kAnswer;
  reply.status = status;
  reply.window = request.window;
  reply.ticket = request.ticket;
  reply.data_bytes = data.size();
  channel_.send(origin_, encode_request(reply, data));
}

}  // namespace impishim::wire
