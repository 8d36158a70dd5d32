// SPDX-License-Identifier: Apache-2.0
/// Contractions by the types of elements.
#pragma once

namespace checks {

/// Every element type, and what NaN does.
void contracted_types();
/// Of arrays that differ in their types and their ghosts, and of flags.
void dot_products();
/// With a fraction, of elements that have none.
void means();

}  // namespace checks
