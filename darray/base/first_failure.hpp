// SPDX-License-Identifier: Apache-2.0
/// Work that must continue to its end after a failure, because other processes wait for the rest of
/// it.
#pragma once

#include <exception>
#include <utility>

namespace impishim::darray {

/// Keeps the first of several exceptions, and throws it when all work is done.
class FirstFailure {
 public:
  /// Runs `body`. Keeps an exception that it throws if none is kept yet, or else drops it.
  template <class Body>
  void guard(const Body& body) {
    try {
      body();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  [[nodiscard]] bool held() const { return first_ != nullptr; }
  /// Throws the kept exception, if there is one, and forgets it.
  void rethrow() {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::exception_ptr first_;
};

}  // namespace impishim::darray
