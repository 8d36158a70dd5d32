// SPDX-License-Identifier: Apache-2.0
/// Job files: `impirun -file job.toml`. A file in TOML describes the systems of a job, the machines
/// on which they start, and their launchers. docs/launch.md has the keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/section.hpp"

namespace impishim::launch {

/// One system of a job file.
struct JobSystem {
  std::string name;
  std::string host;              ///< where ssh goes; empty: impirun's machine
  std::vector<std::string> ssh;  ///< the command that reaches the host, without the host
  std::string impirun;           ///< path of impirun on the host
  bool tunnel = false;           ///< true: the host reaches the server through ssh
  /// How to start the processes is the section's affair: mpiexec, or its `launcher`.
  Section section;
};

struct JobFile {
  std::vector<JobSystem> systems;
  std::string server_address;  ///< for the systems; empty: determined automatically
  int server_port = 0;         ///< 0: any
  bool relay = false;
  int timeout_s = 0;  ///< 0: no limit
  bool label = false;
  std::string out_pattern;
  std::string error_pattern;
  std::string host_procs;

  /// Returns true if a system starts on another machine, or may.
  [[nodiscard]] bool leaves_this_machine() const;
};

/// Parses the text of a job file. `name` is the file's name in messages. Fails with kConfiguration;
/// the text names file, line, cause and cure.
[[nodiscard]] Result<JobFile> parse_job_file(std::string_view text, const std::string& name);

/// Reads a job file. Fails as parse_job_file() does, also if the file cannot be read.
[[nodiscard]] Result<JobFile> read_job_file(const std::string& path);

}  // namespace impishim::launch
