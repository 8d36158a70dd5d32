// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/hydra_exit_codes.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace impishim::launch {
namespace {

constexpr std::string_view kBegin = "[mpiexec@";
constexpr std::string_view kCodes = "] Exit codes: ";

/// Returns how well the end of a process explains the failure of the job. The order, from best to
/// worst: a signal, an exit status of its own, status 1 (which a process has that lost others), and
/// the signals with which Hydra ends the other processes.
int weight(int wait_status) {
  if (WIFEXITED(wait_status))
    return WEXITSTATUS(wait_status) == 0 ? 0 : WEXITSTATUS(wait_status) == 1 ? 2 : 3;
  const int signal = WTERMSIG(wait_status);
  return signal == SIGKILL || signal == SIGTERM ? 1 : 4;
}

}  // namespace

std::size_t HydraExitCodes::begin(std::string_view line) {
  const auto codes = line.find(kCodes);
  if (codes == std::string_view::npos) return line.size();
  const auto begin = line.rfind(kBegin, codes);
  return begin == std::string_view::npos ? line.size() : begin;
}

void HydraExitCodes::read(std::string_view words) {
  words.remove_prefix(std::min(words.size(), words.find(kCodes) + kCodes.size()));
  int told = 0;
  bool inside_name = false;  // for text such as "[node] 0,0 [other] 0,9"
  for (const char* at = words.data(); at != words.data() + words.size(); ++at) {
    if (*at == '[' || *at == ']') inside_name = *at == '[';
    int code = 0;
    const auto parsed = std::from_chars(at, words.data() + words.size(), code);
    if (inside_name || parsed.ec != std::errc() || code < 0) continue;
    if (weight(code) > weight(told)) told = code;
    at = parsed.ptr - 1;
  }
  status = WIFSIGNALED(told) ? 128 + WTERMSIG(told) : WEXITSTATUS(told);
}

}  // namespace impishim::launch
