// SPDX-License-Identifier: Apache-2.0
/// Keys for arrays of labels, masks of some axes, values that lie in the array's own memory, arrays
/// without axes.
#pragma once

namespace key_corners {

void labels();
void masks_of_some_axes();
void memory_in_common();
void no_axes();

}  // namespace key_corners
