// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/rank_request.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::launch {
namespace {

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

}  // namespace

std::vector<std::string> RankOutputRequest::words() const {
  std::vector<std::string> words = {fmt::format("system={}", system)};
  if (!socket.empty()) words.push_back("socket=" + socket);
  if (first_rank >= 0) words.push_back(fmt::format("first={}", first_rank));
  if (label) words.emplace_back("label");
  if (!out_pattern.empty()) words.push_back("out=" + out_pattern);
  if (!error_pattern.empty()) words.push_back("err=" + error_pattern);
  words.emplace_back("--");
  return words;
}

Result<RankOutputRequest> RankOutputRequest::parse(const std::vector<std::string>& words,
                                                   std::size_t& taken) {
  RankOutputRequest request;
  for (taken = 0; taken < words.size(); ++taken) {
    const std::string& word = words[taken];
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word == "--") {
      ++taken;
      return request;
    }
    if (name == "label") {
      request.label = true;
    } else if (name == "socket") {
      request.socket = value;
    } else if (name == "out") {
      request.out_pattern = value;
    } else if (name == "err") {
      request.error_pattern = value;
    } else if (const auto number = parse_number<int>(value.c_str()); name == "system" && number) {
      request.system = *number;
    } else if (name == "first" && number) {
      request.first_rank = *number;
    } else {
      break;
    }
  }
  return configuration("-rank-output is for impirun's own use; see impirun -help");
}

int native_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* text = secure_getenv(name);
    const auto rank = text == nullptr ? std::nullopt : parse_number<int>(text);
    if (rank && *rank >= 0) return *rank;
  }
  return -1;
}

Result<void> check_output_pattern(std::string_view pattern, bool joined_rank_known, bool several) {
  bool distinguishes = false;
  for (std::size_t at = pattern.find('%'); at != std::string_view::npos;
       at = pattern.find('%', at + 2)) {
    const char what = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (what == 'r' && !joined_rank_known)
      return configuration(fmt::format(
          "{}: ranks of the joined job are not known before all systems have joined; use "
          "%n, the rank in its system, or %s, the system",
          pattern));
    distinguishes = distinguishes || what == 'r' || what == 'n';
    if (std::string_view("rsnh%").find(what) == std::string_view::npos || what == '\0')
      return configuration(
          fmt::format("{}: behind % stands r (joined rank), s (system), n (rank in its system), h "
                      "(host) or %",
                      pattern));
  }
  if (several && !pattern.empty() && !distinguishes)
    return configuration(fmt::format(
        "{}: several processes would write this file; put %r or %n into its name", pattern));
  return {};
}

Result<std::string> expand_output_pattern(std::string_view pattern,
                                          const RankOutputRequest& request, int native,
                                          std::string_view host) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%' || at + 1 == pattern.size()) {
      name += pattern[at];
      continue;
    }
    const char what = pattern[++at];
    if (native < 0 && (what == 'r' || what == 'n'))
      return configuration(fmt::format(
          "{}: the launcher does not tell its processes their ranks (PMI_RANK, "
          "OMPI_COMM_WORLD_RANK, PMIX_RANK or SLURM_PROCID), and without them all would write the "
          "same file; use %h and %s, or the launcher's own option",
          pattern));
    switch (what) {
      case 'r':
        name += std::to_string(request.first_rank + native);
        break;
      case 's':
        name += std::to_string(request.system);
        break;
      case 'n':
        name += std::to_string(native);
        break;
      case 'h':
        name += host;
        break;
      default:
        name += '%';
    }
  }
  return name;
}

}  // namespace impishim::launch
