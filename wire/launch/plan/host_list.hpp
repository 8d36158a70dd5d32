// SPDX-License-Identifier: Apache-2.0
/// Lists of hosts: -hosts, and files of hosts in the forms of Hydra and of Open MPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

struct HostEntry {
  std::string name;
  int processes = 0;  ///< at most so many processes there; 0: not said
};

/// Parses "a,b:4". Fails with kConfiguration.
[[nodiscard]] Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// Reads a file of hosts. Each line has a name, or `name:N`, or `name slots=N`; # begins a comment.
/// Fails with kConfiguration; the text names file and line.
[[nodiscard]] Result<std::vector<HostEntry>> read_host_file(const std::string& path);

/// Returns "a,b:4", which Hydra and Open MPI both read.
[[nodiscard]] std::string host_list_text(const std::vector<HostEntry>& hosts);

}  // namespace impishim::launch
