// SPDX-License-Identifier: Apache-2.0
/// A lack of descriptors, seen by accept4(2) alone.
#pragma once

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace impishim::wire::test {

/// While one lives, each accept4(2) of this program fails as it does in a process without a free
/// descriptor. Link no_descriptors.cpp into the test. The descriptors themselves stay: UBSan
/// examines a type through a pipe, in any thread, and takes a process without descriptors for one
/// with broken types.
class NoDescriptors {
 public:
  NoDescriptors();
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors();
  /// How many calls have failed for lack of descriptors while one lived.
  [[nodiscard]] static int failures();
};

/// A lack that ends in time: at the latest with this object.
class PassingLack {
 public:
  PassingLack() : lack_(std::in_place) {}
  /// Returns when a call has failed, and the next ones will not. Gives up after a while, so that no
  /// test hangs.
  void end_after_a_failure() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (NoDescriptors::failures() == before_ && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    lack_.reset();
  }
  [[nodiscard]] bool has_been_felt() const { return NoDescriptors::failures() > before_; }

 private:
  int before_ = NoDescriptors::failures();
  std::optional<NoDescriptors> lack_;
};

}  // namespace impishim::wire::test
