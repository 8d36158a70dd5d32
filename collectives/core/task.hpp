// SPDX-License-Identifier: Apache-2.0
/// A collective operation as a coroutine that is resumed by polling, without threads or callbacks.
///
/// The same coroutine serves a blocking call (stepped until it is done) and a nonblocking call
/// (stepped whenever progress is made). It starts with the first step(). When it awaits something
/// that is not done, step() returns, and the next step() continues there.
///
/// A failed operation does not end the coroutine. It continues to its end, so that no other process
/// waits for it forever, and reports the first error then.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "wire/base/result.hpp"

namespace impishim::collectives {

/// An operation in progress that a Task can await. Its owner keeps it alive until it is done.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  /// Polls for completion, and may drive the operation. Must stay true after it was true once.
  virtual bool done() = 0;
  /// Returns the result of the operation. Called once, after done().
  virtual Result<void> outcome() = 0;
  /// Returns true if the operation completes inside the vendor's MPI, which has no descriptor to
  /// sleep on.
  [[nodiscard]] virtual bool in_vendor() const = 0;

 protected:
  ~Pending() = default;
};

/// A collective operation or a part of one. Move-only; destroying it destroys the coroutine.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  /// Continues as far as possible. Returns true if the task is done. Only for the outermost task.
  bool step();
  [[nodiscard]] bool done() const { return coroutine_.done(); }
  /// Returns the operation that the task is waiting for, or null if the task has not started or is
  /// done.
  [[nodiscard]] Pending* awaited() const;
  /// Returns how often the task has begun to wait: it grows with all progress. The address of what
  /// is awaited does not tell, since the next operation can lie where the last one was.
  [[nodiscard]] std::uint64_t waits() const;
  /// Returns the first error, or success. Call it when the task is done.
  [[nodiscard]] Result<void> outcome() const;

 private:
  /// State shared by an outermost task and all tasks that it awaits.
  struct Chain {
    Pending* awaited = nullptr;
    std::uint64_t waits = 0;
    std::coroutine_handle<> innermost;
    std::optional<Error> first_error;
  };
  struct PendingAwaiter;
  struct TaskAwaiter;
  struct FinalAwaiter;

  explicit Task(Handle coroutine) : coroutine_(coroutine) {}

  Handle coroutine_;
};

struct Task::PendingAwaiter {
  Pending& pending;
  Chain& chain;

  [[nodiscard]] bool await_ready() const { return pending.done(); }
  void await_suspend(std::coroutine_handle<> waiting) const {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as in await_transform()
    chain.awaited = &pending;
    ++chain.waits;
    chain.innermost = waiting;
  }
  void await_resume() const {
    chain.awaited = nullptr;
    if (auto outcome = pending.outcome(); !outcome && !chain.first_error)
      chain.first_error = outcome.error();
  }
};

/// Runs a task as a part of the task that awaits it.
struct Task::TaskAwaiter {
  Handle inner;

  [[nodiscard]] bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const;
  void await_resume() const {}
};

struct Task::FinalAwaiter {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(Handle ended) const noexcept;
  void await_resume() const noexcept {}
};

struct Task::promise_type {
  Chain own_chain;
  Chain* chain = &own_chain;
  std::coroutine_handle<> awaited_by;

  Task get_return_object() {
    const Handle coroutine = Handle::from_promise(*this);
    own_chain.innermost = coroutine;
    return Task(coroutine);
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void return_void() {}
  void unhandled_exception() { std::terminate(); }  // only memory exhaustion throws here

  PendingAwaiter await_transform(Pending& pending) { return {pending, *chain}; }
  /// Does not wait. An error becomes the error of the task.
  std::suspend_never await_transform(const Result<void>& result) {
    if (!result && !chain->first_error) chain->first_error = result.error();
    return {};
  }
  TaskAwaiter await_transform(Task&& task) {
    // clang 14 does not see that coroutines construct their promise.
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
    task.coroutine_.promise().chain = chain;
    return {task.coroutine_};
  }
};

inline std::coroutine_handle<> Task::TaskAwaiter::await_suspend(
    std::coroutine_handle<> waiting) const {
  inner.promise().awaited_by = waiting;
  return inner;
}

inline std::coroutine_handle<> Task::FinalAwaiter::await_suspend(Handle ended) const noexcept {
  const std::coroutine_handle<> next = ended.promise().awaited_by;
  return next ? next : std::noop_coroutine();
}

inline bool Task::step() {
  if (coroutine_.done()) return true;
  Chain& chain = coroutine_.promise().own_chain;
  if (chain.awaited != nullptr && !chain.awaited->done()) return false;
  chain.innermost.resume();
  return coroutine_.done();
}

inline Pending* Task::awaited() const { return coroutine_.promise().own_chain.awaited; }

inline std::uint64_t Task::waits() const { return coroutine_.promise().own_chain.waits; }

inline Result<void> Task::outcome() const {
  const auto& error = coroutine_.promise().own_chain.first_error;
  if (error) return *error;
  return {};
}

/// Returns a task that does nothing, for processes without a part in an operation.
inline Task no_op() { co_return; }

}  // namespace impishim::collectives
