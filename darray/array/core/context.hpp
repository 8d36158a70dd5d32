// SPDX-License-Identifier: Apache-2.0
/// The data that all arrays of one communicator share: its duplicate, their layouts, the librarian.
#pragma once

#include <memory>
#include <unordered_map>

#include "darray/array/core/librarian.hpp"
#include "darray/communicator/communicator.hpp"

namespace impishim::darray {

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;
class Redistributions;

/// One object for each communicator, stored as an attribute of its duplicate.
class Context {
 public:
  /// Returns the context of a communicator. The first call for a communicator is collective; later
  /// calls are local and cheap. Throws the errors of Communicator.
  static std::shared_ptr<Context> of(MPI_Comm comm);
  Context(MPI_Comm comm, Communicator communicator, std::uint64_t group);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Returns the user's communicator.
  [[nodiscard]] MPI_Comm user() const { return user_; }
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] ArrayRegistry& librarian() { return librarian_; }
  /// Returns the cached plans of redistributions; null before the first.
  [[nodiscard]] std::shared_ptr<Redistributions>& redistributions() { return redistributions_; }

  /// Returns the cached layout with this hash for which `is_it` is true. If there is none, calls
  /// `make` and caches the layout that it returns (D2O-07).
  template <class Predicate, class Make>
  LayoutPtr layout(std::uint64_t hash, Predicate is_it, Make make) {
    const auto [first, last] = layouts_.equal_range(hash);
    for (auto found = first; found != last; ++found) {
      if (is_it(*found->second)) return found->second;
    }
    return keep(hash, make());
  }

  /// Releases the caches, whose entries refer to this context, and caches nothing afterwards.
  /// Called when the communicator is freed. Arrays may continue to exist.
  void forget();

 private:
  LayoutPtr keep(std::uint64_t hash, LayoutPtr layout);

  MPI_Comm user_;
  Communicator communicator_;
  ArrayRegistry librarian_;
  std::unordered_multimap<std::uint64_t, LayoutPtr> layouts_;
  std::shared_ptr<Redistributions> redistributions_;
  bool forgotten_ = false;
};

using ContextPtr = std::shared_ptr<Context>;

}  // namespace impishim::darray
