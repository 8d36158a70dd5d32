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

/// Returns true if requests of this kind access the window's memory.
bool accesses_memory(Kind kind) {
  return kind == Kind::kPut || kind == Kind::kGet || is_ordered(kind);
}

/// Returns true if the owner has to act on the end of a request of this kind.
bool ends_epoch(Kind kind) { return kind == Kind::kUnlock || kind == Kind::kComplete; }

}  // namespace

void IncomingRequests::arrived(const WindowRequest& request, std::span<const std::byte> data,
                               std::vector<WindowRequest>& ended) {
  Entry entry;
  entry.request = request;
  if (request.data_follows) {
    begin_receive(entry);
  } else if (!entries_.empty()) {
    // The data lies in the message, whose memory is used again.
    entry.data.assign(data.begin(), data.end());
  } else if (apply(entry, data)) {
    is_over(request, ended);
    return;
  }
  entries_.push_back(std::move(entry));
}

/// Counts a request that is over, and tells the owner if it has to act on that.
void IncomingRequests::is_over(const WindowRequest& request, std::vector<WindowRequest>& ended) {
  if (accesses_memory(request.kind)) ++applied_;
  if (ends_epoch(request.kind)) ended.push_back(request);
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
    is_over(entry->request, ended);
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
    if (entry.receive->failed()) {
      // A value does not fit this machine's type, or the job is ending.
      answer(entry.request, WindowStatus::kConversion, {});
      return true;
    }
  }
  return apply(entry, entry.data);
}

/// Applies a request and answers it. Returns false if the answer's data is still being sent.
bool IncomingRequests::apply(Entry& entry, std::span<const std::byte> data) {
  const WindowRequest& request = entry.request;
  if (request.kind == Kind::kGet) return apply_get(entry);
  if (ends_epoch(request.kind)) return true;
  values_.clear();
  // The data of a put that has followed is in its place.
  const bool in_place = request.kind == Kind::kPut && entry.receive != nullptr;
  const WindowStatus status = in_place ? WindowStatus::kDone : change(request, data, values_);
  if (status != WindowStatus::kDone) values_.clear();
  const bool answered = request.kind != Kind::kPut && request.kind != Kind::kAccumulate;
  if (!answered && status == WindowStatus::kDone) return true;
  if (values_.size() <= WindowChannel::kInlineBytes) {
    answer(request, status, values_);
    return true;
  }
  entry.data = std::exchange(values_, {});
  return answer_long(entry,
                     {entry.data.data(), entry.data.size(), &TypeLayout::basic(BasicType::kByte)});
}

/// Changes the window's memory. Appends the values before to `before` if the origin asks for them.
WindowStatus IncomingRequests::change(const WindowRequest& request, std::span<const std::byte> data,
                                      std::vector<std::byte>& before) {
  switch (request.kind) {
    case Kind::kPut:
      return target_.put(request, data, format_);
    case Kind::kAccumulate:
      return target_.accumulate(request, data, format_, nullptr);
    case Kind::kGetAccumulate:
      return target_.accumulate(request, data, format_, &before);
    case Kind::kCompareAndSwap:
      return target_.compare_and_swap(request, data, format_, before);
    default:
      return WindowStatus::kDone;
  }
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
    values_.clear();
    const WindowStatus read = target_.get(request, format_, values_);
    if (read != WindowStatus::kDone) values_.clear();
    answer(request, read, values_);
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
  encode_request(reply, data, message_);
  channel_.send(origin_, message_, Departure::kMayWait);
}

}  // namespace impishim::wire
