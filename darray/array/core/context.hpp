/// What the arrays of one communicator share: its duplicate, their layouts, the librarian.
#pragma once

#include <memory>
#include <unordered_map>

#include "darray/array/core/librarian.hpp"
#include "darray/schedule/communicator.hpp"

namespace impishim::darray {

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;
class Redistributions;

/// One for each communicator, kept as an attribute of its duplicate.
class Context {
 public:
  /// Collective when it is the first for this communicator, else local and cheap. @throws as
  /// Communicator.
  static std::shared_ptr<Context> of(MPI_Comm comm);
  Context(MPI_Comm comm, Communicator communicator, std::uint64_t group);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The user's own communicator.
  [[nodiscard]] MPI_Comm user() const { return user_; }
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Librarian& librarian() { return librarian_; }
  /// The plans of redistributions that have been made; null before the first.
  [[nodiscard]] std::shared_ptr<Redistributions>& redistributions() { return redistributions_; }

  /// The layout with that hash for which `is_it` is true, or the one that `make` gives, which is
  /// kept (D2O-07).
  template <class Predicate, class Make>
  LayoutPtr layout(std::uint64_t hash, Predicate is_it, Make make) {
    const auto [first, last] = layouts_.equal_range(hash);
    for (auto found = first; found != last; ++found) {
      if (is_it(*found->second)) return found->second;
    }
    return keep(hash, make());
  }

  /// Lets go of what is kept for later, all of which holds this context, and keeps nothing from
  /// then on: when its communicator is freed. Arrays may go on without it.
  void forget();

 private:
  LayoutPtr keep(std::uint64_t hash, LayoutPtr layout);

  MPI_Comm user_;
  Communicator communicator_;
  Librarian librarian_;
  std::unordered_multimap<std::uint64_t, LayoutPtr> layouts_;
  std::shared_ptr<Redistributions> redistributions_;
  bool forgotten_ = false;
};

using ContextPtr = std::shared_ptr<Context>;

}  // namespace impishim::darray
