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

/// Returns when a request leaves: one that a process waits for, or that ends an epoch, at once,
/// with the accesses before it. Answers leave together when all that has arrived is handled.
Departure departure_of(Kind kind) {
  switch (kind) {
    case Kind::kFlush:
    case Kind::kUnlock:
    case Kind::kPost:
    case Kind::kComplete:
      return Departure::kAtOnce;
    default:
      return Departure::kMayWait;
  }
}

}  // namespace

WindowService::WindowService(WindowChannel& remote, WindowChannel* local, IsLocal is_local)
    : remote_(remote), local_(local), is_local_(std::move(is_local)) {}

void WindowService::add(WindowId window, WindowTarget& target) {
  const MutexLock lock(mutex_);
  windows_.emplace(window, std::make_unique<Window>(target));
}

void WindowService::pass_fence(WindowId window) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  IMPISHIM_ASSERT(found != windows_.end());
  ++found->second->fences;
  for (const auto& [origin, messages] : found->second->held_back)
    granted_.emplace_back(window, origin);
  handle_held_back();
  remote_.push();
}

void WindowService::remove(WindowId window) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  IMPISHIM_ASSERT(found != windows_.end());
  windows_.erase(found);
}

/// Packs data as it travels to a process into `packed_`; nothing of a long put, which goes from
/// memory to memory.
Result<void> WindowService::pack(WorldRank target, const WindowRequest& request,
                                 const ConstBuffer& data) {
  packed_.clear();
  if (data.layout == nullptr) return {};
  const Format format = channel_to(target).format_of(target);
  PackCursor cursor(data, format);
  const bool in_place = request.kind == Kind::kPut && cursor.total() > WindowChannel::kInlineBytes;
  if (in_place && format != Format::kExternal32) return {};
  packed_.resize(cursor.total());
  const auto packed = cursor.pack(packed_);
  if (!packed) return packed.error();
  if (in_place) packed_.clear();
  return {};
}

void WindowService::send_message(WorldRank target, WindowRequest& request,
                                 std::span<const std::byte> data) {
  if (const auto found = windows_.find(request.window); found != windows_.end())
    request.fence = found->second->fences;
  encode_request(request, data, message_);
  channel_to(target).send(target, message_, departure_of(request.kind));
}

/// Sends a request that has its ticket, and whose data pack() has packed.
void WindowService::send_request(WorldRank target, WindowRequest& request,
                                 const ConstBuffer& data) {
  WindowChannel& channel = channel_to(target);
  request.data_bytes = data.layout == nullptr ? 0 : data.packed_size(channel.format_of(target));
  request.data_follows = request.data_bytes > WindowChannel::kInlineBytes;
  if (!request.data_follows) return send_message(target, request, packed_);
  send_message(target, request, {});
  Outgoing& outgoing = outgoing_[request.ticket];
  outgoing.to = target;
  // A put goes from memory to memory, and the engine converts it. Operands are combined from the
  // bytes in which they travel.
  ConstBuffer source = data;
  if (request.kind != Kind::kPut) {
    outgoing.packed = std::exchange(packed_, {});
    source = {outgoing.packed.data(), outgoing.packed.size(), &TypeLayout::basic(BasicType::kByte)};
  }
  outgoing.transfer = channel.send_data(target, DataOf::kRequest, request.ticket, source);
}

Result<std::uint64_t> WindowService::send(WorldRank target, WindowRequest request,
                                          const ConstBuffer& data) {
  const MutexLock lock(mutex_);
  auto packed = pack(target, request, data);
  if (!packed) return packed.error();
  request.ticket = next_ticket_++;
  send_request(target, request, data);
  return request.ticket;
}

Result<void> WindowService::ask(WorldRank target, WindowRequest request, const ConstBuffer& data,
                                const MutableBuffer& result, WindowAnswer& answer) {
  const MutexLock lock(mutex_);
  auto packed = pack(target, request, data);
  if (!packed) return packed;
  answer.status_ = WindowStatus::kDone;
  answer.target_ = target;
  answer.result_ = result;
  // A get's long data is converted by the engine; fetched values come as they travel.
  answer.packed_ = request.kind != Kind::kGet;
  answer.complete_.store(failed_.load(std::memory_order_relaxed), std::memory_order_release);
  if (answer.complete()) return {};
  request.ticket = next_ticket_++;
  answers_.emplace(request.ticket, &answer);
  send_request(target, request, data);
  if (request.data_follows) asked_data_.push_back(request.ticket);
  return {};
}

void WindowService::tell(WorldRank target, WindowRequest request) {
  const MutexLock lock(mutex_);
  send_message(target, request, {});
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
  if (!had_error_.load(std::memory_order_acquire)) return WindowStatus::kDone;
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

std::uint64_t WindowService::applied(WindowId window) {
  const MutexLock lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end()) return 0;
  std::uint64_t sum = 0;
  for (const auto& [source, incoming] : found->second->incoming) sum += incoming.applied();
  return sum;
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
  if (waiting_requests_) handled += advance_all(caller);
  if (!asked_data_.empty()) forget_asked_data(caller);
  if (handled > 0) remote_.push();  // answers
  return handled + finish_answers(caller);
}

/// Applies what can be of the requests that wait. Returns the number of requests that are over.
std::size_t WindowService::advance_all(Caller caller) {
  std::size_t over = 0;
  waiting_requests_ = false;
  for (auto& [id, window] : windows_) {
    for (auto& [source, incoming] : window->incoming) {
      if (incoming.idle()) continue;
      ended_.clear();
      if (may_serve(caller, source)) over += incoming.advance(ended_);
      end_epochs(*window, id, source, ended_);
      waiting_requests_ = waiting_requests_ || !incoming.idle();
    }
  }
  handle_held_back();
  return over;
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
    handle_message((*arrived)->source, (*arrived)->message);
    handle_held_back();
    ++handled;
  }
  return handled;
}

void WindowService::handle_message(WorldRank source, std::span<const std::byte> message) {
  const auto content = decode_request(message);
  if (!content) return fail(content.error());
  if (!hold_back(source, content->request, message)) handle(source, *content);
}

/// Keeps a request whose origin waits for the lock, has passed more fences, or has others that are
/// held back. Returns false for any other.
bool WindowService::hold_back(WorldRank source, const WindowRequest& request,
                              std::span<const std::byte> message) {
  if (request.kind == Kind::kAnswer || request.kind == Kind::kPost) return false;
  const auto found = windows_.find(request.window);
  if (found == windows_.end()) return false;
  Window& window = *found->second;
  const auto held = window.held_back.find(source);
  const bool waits = window.lock_tickets.contains(source) && !window.lock.holds(source);
  const bool ahead = static_cast<std::int32_t>(request.fence - window.fences) > 0;
  if (held == window.held_back.end() && !waits && !ahead) return false;
  window.held_back[source].emplace_back(message.begin(), message.end());
  return true;
}

/// Handles what origins have sent behind the request for a lock that they hold now, or behind a
/// fence that this process has passed.
void WindowService::handle_held_back() {
  while (!granted_.empty()) {
    const auto [id, origin] = granted_.back();
    granted_.pop_back();
    auto held = windows_.at(id)->held_back.extract(origin);
    if (held.empty()) continue;
    for (const auto& message : held.mapped()) handle_message(origin, message);
  }
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
      break;
  }
  IncomingRequests& incoming = incoming_of(window, source);
  ended_.clear();
  incoming.arrived(request, arrived.data, ended_);
  end_epochs(window, request.window, source, ended_);
  waiting_requests_ = waiting_requests_ || !incoming.idle();
}

/// Acts on the ends of epochs of a process: everything before them has been applied.
void WindowService::end_epochs(Window& window, WindowId id, WorldRank source,
                               const std::vector<WindowRequest>& ended) {
  for (const WindowRequest& request : ended) {
    if (request.kind == Kind::kComplete) {
      ++window.told[{source, request.kind}];
      continue;
    }
    if (!window.lock.holds(source))
      return fail(broken("an unlock of a lock that it does not hold"));
    window.lock_tickets.erase(source);
    reply(source, id, request.ticket);
    grant(window, id, window.lock.release(source));
  }
}

void WindowService::reply(WorldRank origin, WindowId window, std::uint64_t ticket) {
  WindowRequest answer;
  answer.kind = Kind::kAnswer;
  answer.window = window;
  answer.ticket = ticket;
  send_message(origin, answer, {});
}

void WindowService::handle_lock(Window& window, WorldRank source, const WindowRequest& request) {
  if (!window.lock_tickets.emplace(source, request.ticket).second)
    return fail(broken("a second request for a lock"));
  grant(window, request.window,
        window.lock.request(source, request.exclusive ? LockKind::kExclusive : LockKind::kShared));
}

/// Tells origins that they hold the lock.
void WindowService::grant(Window& window, WindowId id, const std::vector<WorldRank>& origins) {
  for (const WorldRank origin : origins) {
    reply(origin, id, window.lock_tickets.at(origin));
    if (window.held_back.contains(origin)) granted_.emplace_back(id, origin);
  }
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
    had_error_.store(true, std::memory_order_release);
    return;
  }
  WindowAnswer& answer = *found->second;
  if (answer.target_ != source)
    return fail(broken("an answer to a request that another process was asked"));
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
    if (!cursor.unpack(arrived.data)) answer.status_ = WindowStatus::kConversion;
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
    bool arrived = !answer->receive_->failed();
    if (arrived && answer->packed_) {
      UnpackCursor cursor(answer->result_, channel_to(answer->target_).format_of(answer->target_));
      arrived = cursor.unpack(answer->bytes_).ok();
    }
    if (!arrived) answer->status_ = WindowStatus::kConversion;
    finish(*answer);
    return true;
  });
}

/// Frees the operands of ask() that have left.
void WindowService::forget_asked_data(Caller caller) {
  std::size_t kept = 0;
  for (const std::uint64_t ticket : asked_data_) {
    const auto found = outgoing_.find(ticket);
    if (may_serve(caller, found->second.to) && found->second.transfer->complete()) {
      outgoing_.erase(found);
    } else {
      asked_data_[kept++] = ticket;
    }
  }
  asked_data_.resize(kept);
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
