/// A lack of descriptors, seen by accept4(2) alone.
#pragma once

namespace impishim::wire::test {

/// While one lives, each accept4(2) of this program fails as it does in a process without a free
/// descriptor. Link no_descriptors.cpp into the test. Other calls keep their descriptors: UBSan
/// examines a type through a pipe, and takes a process without descriptors for one with broken
/// types.
class NoDescriptors {
 public:
  NoDescriptors();
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors();
};

}  // namespace impishim::wire::test
