// SPDX-License-Identifier: Apache-2.0
/// What the kernel knows about a connection.
#pragma once

#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {

/// Stores where a connected TCP socket goes, over which interface, with which MTU and congestion
/// control. `interfaces` are those of this machine.
void describe_socket(const Descriptor& socket, const std::vector<Interface>& interfaces,
                     Road& road);

}  // namespace impishim::check
