// SPDX-License-Identifier: Apache-2.0
/// Puts and gets inside this system: the vendor's.
#pragma once

#include "shim/rma/access.hpp"

namespace impishim::shim {

/// Puts to, and gets from, a target in this system. Return codes of the vendor that have been
/// raised.
int native_put(const AccessCall& call, const OriginElements& origin, const TargetElements& target);
int native_get(const AccessCall& call, const OriginElements& result, const TargetElements& target);

}  // namespace impishim::shim
