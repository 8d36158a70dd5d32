// SPDX-License-Identifier: Apache-2.0
/// One process's dictionaries and buffer shape as a list of integers, to be sent to the other
/// processes. Keys that the protocol does not define are not sent.
#pragma once

#include <span>
#include <vector>

#include "darray/interop/dap/validate.hpp"

namespace impishim::darray::dap {

std::vector<Index> to_words(const ProcessPiece& piece);

/// Reads what to_words() wrote. Throws Error(kProtocol) if the words have another form.
ProcessPiece piece_from_words(std::span<const Index> words);

}  // namespace impishim::darray::dap
