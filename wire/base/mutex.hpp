// SPDX-License-Identifier: Apache-2.0
/// A mutex and its locks that clang's thread-safety analysis understands (-Wthread-safety).
///
/// std::mutex of libstdc++ has no annotations. A member that a mutex protects is declared with
/// IMPISHIM_GUARDED_BY, a function that needs the mutex held with IMPISHIM_REQUIRES. Other
/// compilers ignore them. Source: clang.llvm.org/docs/ThreadSafetyAnalysis.html.
#pragma once

#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define IMPISHIM_ANNOTATION(x) __attribute__((x))  // NOLINT(cppcoreguidelines-macro-usage)
#else
#define IMPISHIM_ANNOTATION(x)  // NOLINT(cppcoreguidelines-macro-usage)
#endif
// NOLINTBEGIN(cppcoreguidelines-macro-usage): attributes can only be written by macros.
#define IMPISHIM_CAPABILITY(name) IMPISHIM_ANNOTATION(capability(name))
#define IMPISHIM_SCOPED_CAPABILITY IMPISHIM_ANNOTATION(scoped_lockable)
#define IMPISHIM_GUARDED_BY(mutex) IMPISHIM_ANNOTATION(guarded_by(mutex))
#define IMPISHIM_REQUIRES(...) IMPISHIM_ANNOTATION(requires_capability(__VA_ARGS__))
#define IMPISHIM_EXCLUDES(...) IMPISHIM_ANNOTATION(locks_excluded(__VA_ARGS__))
#define IMPISHIM_ACQUIRE(...) IMPISHIM_ANNOTATION(acquire_capability(__VA_ARGS__))
#define IMPISHIM_TRY_ACQUIRE(...) IMPISHIM_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define IMPISHIM_RELEASE(...) IMPISHIM_ANNOTATION(release_capability(__VA_ARGS__))
#define IMPISHIM_ASSERT_HELD(...) IMPISHIM_ANNOTATION(assert_capability(__VA_ARGS__))
#define IMPISHIM_RETURN_CAPABILITY(x) IMPISHIM_ANNOTATION(lock_returned(x))
#define IMPISHIM_NO_THREAD_SAFETY_ANALYSIS IMPISHIM_ANNOTATION(no_thread_safety_analysis)
// NOLINTEND(cppcoreguidelines-macro-usage)

namespace impishim {

/// A mutual exclusion lock. Not recursive.
class IMPISHIM_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() IMPISHIM_ACQUIRE() { mutex_.lock(); }
  void unlock() IMPISHIM_RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() IMPISHIM_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  /// Tells the analysis that the caller holds the mutex, where it cannot see that: in the code of a
  /// callback that runs under it.
  void assert_held() const IMPISHIM_ASSERT_HELD() {}

 private:
  friend class Condition;
  std::mutex mutex_;
};

/// Holds a Mutex for the life of the object, but for the time between unlock() and lock().
class IMPISHIM_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) IMPISHIM_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() IMPISHIM_RELEASE() {
    if (held_) mutex_.unlock();
  }
  void lock() IMPISHIM_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() IMPISHIM_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Releases a Mutex that try_lock() has taken, at the end of its life.
class IMPISHIM_SCOPED_CAPABILITY AdoptedLock {
 public:
  explicit AdoptedLock(Mutex& mutex) IMPISHIM_REQUIRES(mutex) : mutex_(mutex) {}
  AdoptedLock(const AdoptedLock&) = delete;
  AdoptedLock& operator=(const AdoptedLock&) = delete;
  ~AdoptedLock() IMPISHIM_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// A condition variable for a Mutex. Waits in a loop that asks for the condition, since the
/// analysis does not look into predicates.
class Condition {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  /// Blocks until it is notified, or spuriously. The caller holds `mutex` before and after.
  void wait(Mutex& mutex) IMPISHIM_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Like wait(), but at most until `deadline`. Returns std::cv_status::timeout when that is past.
  template <class Clock, class Duration>
  std::cv_status wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& deadline)
      IMPISHIM_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status;
  }
  /// Like wait(), but for at most `duration`.
  template <class Rep, class Period>
  std::cv_status wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& duration)
      IMPISHIM_REQUIRES(mutex) {
    return wait_until(mutex, std::chrono::steady_clock::now() + duration);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace impishim
