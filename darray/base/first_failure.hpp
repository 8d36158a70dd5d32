// SPDX-License-Identifier: Apache-2.0
/// Work that must come to its end whatever goes wrong in it: others wait for what is left of it.
#pragma once

#include <exception>
#include <utility>

namespace impishim::darray {

/// Keeps the first of several exceptions, to be thrown when all is over.
class FirstFailure {
 public:
  /// Runs `body`; what it throws is kept, or forgotten if something is kept already.
  template <class Body>
  void guard(const Body& body) {
    try {
      body();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  [[nodiscard]] bool held() const { return first_ != nullptr; }
  /// Throws what is kept, if anything, and forgets it.
  void rethrow() {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::exception_ptr first_;
};

}  // namespace impishim::darray
