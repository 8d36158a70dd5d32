// SPDX-License-Identifier: Apache-2.0
// A part of the program contractions.
#pragma once

namespace checks {

/// Reductions and scans by operators that do not commute, and masks where an operator takes none.
void operators_of_users();

}  // namespace checks
