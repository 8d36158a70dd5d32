// SPDX-License-Identifier: Apache-2.0
/// One process's dictionaries and buffer shape as a list of integers, for the way to the other
/// processes. Keys that the protocol does not know stay behind.
#pragma once

#include <span>
#include <vector>

#include "darray/interop/dap/validate.hpp"

namespace impishim::darray::dap {

std::vector<Index> to_words(const ProcessPiece& piece);

/// What to_words() wrote. Error kProtocol: anything else.
ProcessPiece piece_from_words(std::span<const Index> words);

}  // namespace impishim::darray::dap
