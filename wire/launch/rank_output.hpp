/// What the ranks of one machine print, past a launcher that mixes their lines.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {

/// Where ranks hand over the ends of their outputs: a socket in a folder that only this user can
/// enter.
class RankOutput {
 public:
  /// One stream of a rank.
  struct Stream {
    Descriptor source;
    int target = -1;  ///< STDOUT_FILENO or STDERR_FILENO
  };

  /// kSystem: `path` cannot be had, or is too long for a socket's name.
  [[nodiscard]] static Result<RankOutput> open(const std::filesystem::path& path);
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Returns what ranks have handed over since the last call. Does not block.
  [[nodiscard]] std::vector<Stream> take() const;

 private:
  Descriptor socket_;
};

/// Replaces this process's standard output and error by streams whose other ends go to the
/// RankOutput at `path`: a terminal where there was one, since programs then print each line at
/// once, and a pipe otherwise. Where there is no RankOutput, as on another machine, they stay as
/// they are.
void hand_over_output(const std::string& path);

}  // namespace impishim::launch
