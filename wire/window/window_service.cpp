// SPDX-License-Identifier: Apache-2.0
#include "wire/window/window_service.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/incoming_requests.hpp"
#include "wire/window/lock_queue.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {
namespace {

using Kind = WindowRequestKind;

Error broken(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

}  // namespace

WindowService::WindowService(WindowChannel& remote, WindowChannel* local, IsLocal is_local)
    : remote_(remote), local_(local), is_local_(std::move(is_local)) {}

void WindowService::add(WindowId window, WindowTarget& target) {
  const MutexLock lock(mutex_);
  windows_.emplace(window, std::make_unique<Window>(target));
}

void WindowService::remove(WindowId window) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  IMPISHIM_ASSERT(found != windows_.end());
  windows_.erase(found);
}

/// Returns data as it travels to a process; nothing of a long put, which goes from memory to
/// memory.
Result<std::vector<std::byte>> WindowService::pack(WorldRank target, const WindowRequest& request,
                                                   const ConstBuffer& data) const {
  std::vector<std::byte> bytes;
  if (data.layout == nullptr) return bytes;
  PackCursor cursor(data, channel_to(target).format_of(target));
  const bool in_place = request.kind == Kind::kPut && cursor.total() > WindowChannel::kInlineBytes;
  if (in_place && channel_to(target).format_of(target) != Format::kExternal32) return bytes;
  bytes.resize(cursor.total());
  const auto packed = cursor.pack(bytes);
  if (!packed) return packed.error();
  if (in_place) bytes.clear();
  return bytes;
}

/// Sends a request that has its ticket, with its data behind it if that is long. `packed` is what
/// pack() has returned.
void WindowService::send_request(WorldRank target, WindowRequest& request, const ConstBuffer& data,
                                 std::vector<std::byte> packed) {
  WindowChannel& channel = channel_to(target);
  request.data_bytes = data.layout == nullptr ? 0 : data.packed_size(channel.format_of(target));
  if (request.data_bytes <= WindowChannel::kInlineBytes)
    return channel.send(target, encode_request(request, packed));
  request.data_follows = true;
  channel.send(target, encode_request(request, {}));
  Outgoing& outgoing = outgoing_[request.ticket];
  outgoing.target = target;
  // A put goes from memory to memory, and the engine converts it. Operands are combined from the
  // bytes in which they travel.
  ConstBuffer source = data;
  if (request.kind != Kind::kPut) {
    outgoing.packed = std::move(packed);
    source = {outgoing.packed.data(), outgoing.packed.size(), &TypeLayout::basic(BasicType::kByte)};
  }
  outgoing.transfer = channel.send_data(target, DataOf::kRequest, request.ticket, source);
}

Result<std::uint64_t> WindowService::send(WorldRank target, WindowRequest request,
                                          const ConstBuffer& data) {
  auto packed = pack(target, request, data);
  if (!packed) return packed.error();
  const MutexLock lock(mutex_);
  request.ticket = next_ticket_++;
  send_request(target, request, data, std::move(*packed));
  return request.ticket;
}

Result<void> WindowService::ask(WorldRank target, WindowRequest request, const ConstBuffer& data,
                                const MutableBuffer& result, WindowAnswer& answer) {
  auto packed = pack(target, request, data);
  if (!packed) return packed.error();
  const MutexLock lock(mutex_);
  answer.status_ = WindowStatus::kDone;
  answer.target_ = target;
  answer.result_ = result;
  // A get's long data is converted by the engine; fetched values come as they travel.
  answer.packed_ = request.kind != Kind::kGet;
  answer.complete_.store(failed_.load(std::memory_order_relaxed), std::memory_order_release);
  if (answer.complete()) return {};
  request.ticket = next_ticket_++;
  answers_.emplace(request.ticket, &answer);
  send_request(target, request, data, std::move(*packed));
  return {};
}

void WindowService::tell(WorldRank target, const WindowRequest& request) {
  const MutexLock lock(mutex_);
  channel_to(target).send(target, encode_request(request, {}));
}

bool WindowService::sent(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  const auto found = outgoing_.find(ticket);
  if (found == outgoing_.end()) return true;
  if (!found->second.transfer->complete()) return false;
  outgoing_.erase(found);
  return true;
}

WindowStatus WindowService::take_error(WindowId window) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  return found == windows_.end() ? WindowStatus::kNoWindow
                                 : std::exchange(found->second->error, WindowStatus::kDone);
}

std::uint64_t WindowService::told(WindowId window, WorldRank source, WindowRequestKind kind) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  return found == windows_.end() ? 0 : found->second->told[{source, kind}];
}

std::uint64_t WindowService::applied(WindowId window, WorldRank source) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  return found == windows_.end() ? 0 : incoming_of(*found->second, source).applied();
}

IncomingRequests& WindowService::incoming_of(Window& window, WorldRank source) {
  return window.incoming.try_emplace(source, window.target, channel_to(source), source)
      .first->second;
}

std::size_t WindowService::progress(Caller caller) {
  if (!mutex_.try_lock()) return 0;
  const AdoptedLock lock(mutex_);
  std::size_t handled = take_requests(remote_);
  if (caller == Caller::kVendorsThread && local_ != nullptr) handled += take_requests(*local_);
  if (failed_.load(std::memory_order_relaxed)) return handled;
  for (auto& [id, window] : windows_) {
    for (auto& [source, incoming] : window->incoming) {
      if (!incoming.idle() && may_serve(caller, source)) handled += advance(*window, id, source);
    }
  }
  return handled + finish_answers(caller);
}

/// Handles the requests that have arrived on a channel. Returns their number.
std::size_t WindowService::take_requests(WindowChannel& channel) {
  std::size_t handled = 0;
  while (!failed_.load(std::memory_order_relaxed)) {
    auto arrived = channel.take();
    if (!arrived) {
      fail(arrived.error());
      break;
    }
    if (!*arrived) break;
    const auto content = decode_request((*arrived)->message);
    if (!content) {
      fail(content.error());
      break;
    }
    handle((*arrived)->source, *content);
    ++handled;
  }
  return handled;
}

void WindowService::handle(WorldRank source, const ArrivedRequest& arrived) {
  const WindowRequest& request = arrived.request;
  if (request.kind == Kind::kAnswer) return handle_answer(source, arrived);
  const auto found = windows_.find(request.window);
  if (found == windows_.end())
    return fail(broken("a request for a window that this process does not have"));
  Window& window = *found->second;
  switch (request.kind) {
    case Kind::kLock:
      return handle_lock(window, source, request);
    case Kind::kPost:
      ++window.told[{source, request.kind}];
      return;
    default:
      incoming_of(window, source).arrived(request, arrived.data);
      advance(window, request.window, source);
  }
}

/// Applies what can be of a process's requests, and acts on the ends of epochs among them. Returns
/// the number of requests that are over.
std::size_t WindowService::advance(Window& window, WindowId id, WorldRank source) {
  std::vector<WindowRequest> ended;
  const std::size_t over = incoming_of(window, source).advance(ended);
  for (const WindowRequest& request : ended) {
    if (request.kind == Kind::kComplete) {
      ++window.told[{source, request.kind}];
      continue;
    }
    window.lock_tickets.erase(source);
    reply(source, id, request.ticket);
    grant(window, id, window.lock.release(source));
  }
  return over;
}

void WindowService::reply(WorldRank origin, WindowId window, std::uint64_t ticket) {
  WindowRequest answer;
  answer.kind = Kind::kAnswer;
  answer.window = window;
  answer.ticket = ticket;
  channel_to(origin).send(origin, encode_request(answer, {}));
}

void WindowService::handle_lock(Window& window, WorldRank source, const WindowRequest& request) {
  if (!window.lock_tickets.emplace(source, request.ticket).second)
    return fail(broken("a second request for a lock"));
  grant(window, request.window,
        window.lock.request(source, request.exclusive ? LockKind::kExclusive : LockKind::kShared));
}

/// Tells origins that they hold the lock.
void WindowService::grant(Window& window, WindowId id, const std::vector<WorldRank>& origins) {
  for (const WorldRank origin : origins) reply(origin, id, window.lock_tickets.at(origin));
}

void WindowService::handle_answer(WorldRank source, const ArrivedRequest& arrived) {
  const WindowRequest& reply = arrived.request;
  const auto found = answers_.find(reply.ticket);
  if (found == answers_.end()) {
    // A put or an accumulate that failed.
    const auto window = windows_.find(reply.window);
    if (window == windows_.end() || reply.status == WindowStatus::kDone)
      return fail(broken("an answer to a request that was never made"));
    if (window->second->error == WindowStatus::kDone) window->second->error = reply.status;
    return;
  }
  WindowAnswer& answer = *found->second;
  answers_.erase(found);
  answer.status_ = reply.status;
  const std::uint64_t expected =
      reply.status != WindowStatus::kDone || answer.result_.layout == nullptr
          ? 0
          : answer.result_.packed_size(channel_to(source).format_of(source));
  if (expected == 0) return finish(answer);
  if (reply.data_bytes > 0) {
    if (reply.data_bytes != expected)
      return fail(broken("an answer of another size than asked for"));
    UnpackCursor cursor(answer.result_, channel_to(source).format_of(source));
    if (!cursor.unpack(arrived.data)) answer.status_ = WindowStatus::kBadRequest;
    return finish(answer);
  }
  MutableBuffer room = answer.result_;
  if (answer.packed_) {
    answer.bytes_.resize(expected);
    room = {answer.bytes_.data(), answer.bytes_.size(), &TypeLayout::basic(BasicType::kByte)};
  }
  answer.receive_ = channel_to(source).receive_data(source, DataOf::kAnswer, reply.ticket, room);
  receiving_.push_back(&answer);
}

/// Completes the answers whose long data has arrived. Returns their number.
std::size_t WindowService::finish_answers(Caller caller) {
  return std::erase_if(receiving_, [&](WindowAnswer* answer) {
    if (!may_serve(caller, answer->target_) || !answer->receive_->complete()) return false;
    if (answer->packed_ && !answer->receive_->failed()) {
      UnpackCursor cursor(answer->result_, channel_to(answer->target_).format_of(answer->target_));
      if (!cursor.unpack(answer->bytes_)) answer->status_ = WindowStatus::kBadRequest;
    }
    finish(*answer);
    return true;
  });
}

void WindowService::finish(WindowAnswer& answer) {
  answer.bytes_ = {};
  answer.receive_.reset();
  answer.complete_.store(true, std::memory_order_release);
}

/// Ends the service: the job cannot go on. Completes all answers.
void WindowService::fail(const Error& error) {
  if (failed_.load(std::memory_order_relaxed)) return;
  failure_ = error;
  failed_.store(true, std::memory_order_release);
  // Transfers end with the engine, which fails as well.
  for (const auto& [ticket, answer] : answers_) finish(*answer);
  answers_.clear();
}

}  // namespace impishim::wire
