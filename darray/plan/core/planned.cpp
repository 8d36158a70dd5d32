// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/planned.hpp"

#include <memory>
#include <span>
#include <utility>

#include "darray/plan/core/detail/planned_exchange.hpp"

namespace impishim::darray {

Planned::Planned(std::unique_ptr<PlannedExchange> exchange) : exchange_(std::move(exchange)) {}
Planned::~Planned() = default;
Planned::Planned(Planned&&) noexcept = default;
Planned& Planned::operator=(Planned&&) noexcept = default;

bool Planned::test() { return exchange_->test(); }
void Planned::wait() { exchange_->wait(); }
const Statistics& Planned::statistics() const { return exchange_->statistics(); }

void Planned::execute(std::span<const void* const> sources, std::span<void* const> destinations) {
  exchange_->execute(sources, destinations, {});
}
void Planned::start(const void* source, void* destination) {
  exchange_->start(std::span(&source, 1), std::span(&destination, 1), {});
}

}  // namespace impishim::darray
