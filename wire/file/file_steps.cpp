// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/file/file_message.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {

std::optional<FileStep> FileSteps::next() {
  FileStep step;
  const std::uint64_t most = std::min<std::uint64_t>(left_, FileRequest::kMostData);
  if (view_->pieces(first_, most, FileRequest::kMostPieces, step.pieces) == 0) return std::nullopt;
  const std::uint64_t stripe = step.pieces.front().offset / kStripe;
  step.server = stripe % servers_;
  std::size_t kept = 0;
  for (FilePiece& piece : step.pieces) {
    // With one server there is nothing to divide.
    if (servers_ > 1 && piece.offset / kStripe != stripe) break;
    ++kept;
    const std::uint64_t room = kStripe - piece.offset % kStripe;
    const bool cut = servers_ > 1 && piece.bytes > room;
    if (cut) piece.bytes = room;
    step.bytes += piece.bytes;
    if (cut) break;
  }
  step.pieces.resize(kept);
  first_ += step.bytes;
  left_ -= step.bytes;
  return step;
}

}  // namespace impishim::wire
