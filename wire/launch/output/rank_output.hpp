// SPDX-License-Identifier: Apache-2.0
/// Output of the ranks on one machine, received directly because a launcher would mix their lines.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output/rank_label.hpp"
#include "wire/launch/output/rank_request.hpp"

namespace impishim::launch {

/// A socket in a folder that only this user can enter. Ranks hand over the read ends of their
/// outputs through it.
class RankOutput {
 public:
  /// One stream of a rank.
  struct Stream {
    Descriptor source;
    int target = -1;                   ///< STDOUT_FILENO or STDERR_FILENO
    std::shared_ptr<RankLabel> label;  ///< of the rank, for both streams
  };

  /// Creates the socket. Fails with kSystem if the socket cannot be created or if `path` is too
  /// long for a socket's name.
  [[nodiscard]] static Result<RankOutput> open(const std::filesystem::path& path);
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Returns the streams that ranks have handed over since the last call. Does not block.
  [[nodiscard]] std::vector<Stream> take() const;

 private:
  Descriptor socket_;
};

/// Replaces this process's standard output and error with streams whose other ends go to the
/// RankOutput at `request.socket`. A terminal is replaced with a terminal, because programs then
/// print each line immediately; anything else is replaced with a pipe. Returns false if there is no
/// RankOutput, for example on another machine; then the outputs stay unchanged.
bool hand_over_output(const RankOutputRequest& request);

}  // namespace impishim::launch
