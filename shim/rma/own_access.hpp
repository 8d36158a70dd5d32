// SPDX-License-Identifier: Apache-2.0
/// Accesses of a process to its own memory in a window: no message is sent.
#pragma once

#include "shim/rma/access.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::shim {

/// Carries a request out at once. `data` is what it sends, `result` where its answer goes. Returns
/// a code that has been raised.
int access_own(const AccessCall& call, const wire::WindowRequest& request,
               const wire::ConstBuffer& data, const wire::MutableBuffer& result);

}  // namespace impishim::shim
