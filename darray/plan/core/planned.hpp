// SPDX-License-Identifier: Apache-2.0
/// What plans of one exchange have in common.
#pragma once

#include <memory>
#include <span>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

class PlannedExchange;

/// A plan that runs one execution at a time. Derived classes start it.
class Planned {
 public:
  ~Planned();
  Planned(Planned&&) noexcept;
  Planned& operator=(Planned&&) noexcept;

  /// Advances the execution in progress. Returns true if it is complete, or if there is none. These
  /// throw the errors of Schedule::test().
  bool test();
  void wait();
  /// Returns the statistics of this rank for a forward execution of one array; see total().
  [[nodiscard]] const Statistics& statistics() const;

 protected:
  explicit Planned(std::unique_ptr<PlannedExchange> exchange);
  [[nodiscard]] PlannedExchange& exchange() { return *exchange_; }
  void execute(std::span<const void* const> sources, std::span<void* const> destinations);
  void start(const void* source, void* destination);

 private:
  std::unique_ptr<PlannedExchange> exchange_;
};

}  // namespace impishim::darray
