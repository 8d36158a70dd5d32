// SPDX-License-Identifier: Apache-2.0
/// The beginning of a labelled line: which process has written it.
#pragma once

#include <string>

#include "wire/base/descriptor.hpp"

namespace impishim::launch {

/// Text "[SYSTEM:RANK] " with the rank in the joined job. Where that is not yet known, the rank in
/// the system stands there, with a plus sign: "[1:+0] ".
class RankLabel {
 public:
  /// `first_rank` is the joined rank of the system's first process, or -1. `native` is the rank in
  /// the system, or -1. `told` is a pipe from which the joined rank can be read when the process
  /// has joined; it may be invalid.
  RankLabel(int system, int first_rank, int native, Descriptor told);

  /// Returns the label. Does not block.
  [[nodiscard]] std::string text();

 private:
  void read_rank();

  int system_;
  int native_;
  int rank_;  ///< in the joined job; -1: not known
  Descriptor told_;
  std::string begun_;  ///< what has been read of the number
};

/// Makes a pipe for the joined rank and sets wire::kRankPipeVariable for programs that this process
/// executes (wire/startup/rank_pipe.hpp). Returns the end to read from, or an invalid descriptor on
/// failure.
[[nodiscard]] Descriptor open_rank_pipe();

}  // namespace impishim::launch
