// SPDX-License-Identifier: Apache-2.0
/// What impirun asks of the process that stands in front of a rank's program: to hand over its
/// outputs, to label them, or to write them to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// The words between `-rank-output` and the program's command.
struct RankOutputRequest {
  std::string socket;         ///< of the RankOutput on impirun's machine; empty if there is none
  int system = 0;             ///< number of the rank's system
  int first_rank = -1;        ///< in the joined job, of the system's first process; -1: not known
  bool label = false;         ///< true: each line begins with a RankLabel
  std::string out_pattern;    ///< name of the file for standard output; empty if there is none
  std::string error_pattern;  ///< the same for standard error

  /// Returns the words, which end with "--".
  [[nodiscard]] std::vector<std::string> words() const;

  /// Parses words() and returns the number of words that it has taken. Fails with kConfiguration.
  [[nodiscard]] static Result<RankOutputRequest> parse(const std::vector<std::string>& words,
                                                       std::size_t& taken);
};

/// Returns the rank of this process in its own system, which its launcher has put into the
/// environment, or -1.
[[nodiscard]] int native_rank();

/// Checks the pattern of a file's name. `joined_rank_known` is true if %r can be replaced;
/// `several` is true if the system has several processes, each of which needs a file of its own.
/// Fails with kConfiguration.
[[nodiscard]] Result<void> check_output_pattern(std::string_view pattern, bool joined_rank_known,
                                                bool several);

/// Returns the name of the file for the rank `native`: %r is the rank in the joined job, %s the
/// system, %n the rank there, %h the host, %% a percent sign. Fails with kConfiguration if a rank
/// is needed and `native` is -1, because several processes would then write one file.
[[nodiscard]] Result<std::string> expand_output_pattern(std::string_view pattern,
                                                        const RankOutputRequest& request,
                                                        int native, std::string_view host);

}  // namespace impishim::launch
