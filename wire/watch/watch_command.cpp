// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/watch_command.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"
#include "wire/watch/why_report.hpp"

namespace impishim::wire {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int complain(const Error& error, int status) {
  fmt::print(stderr, "impirun: {}\n", error.text);
  return status;
}

/// Returns true if the word is this option, with one dash or two.
bool is_option(std::string_view word, std::string_view name) {
  if (!word.starts_with('-')) return false;
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word == name;
}

struct WatchOptions {
  std::string server;
  bool json = false;
};

Result<WatchOptions> read_options(const std::vector<std::string>& words) {
  const auto bad = [](const std::string& what) {
    return Error{ErrorKind::kConfiguration, what + "; see impirun -help"};
  };
  if (words.size() < 2) return bad(fmt::format("{} needs the server's address:port", words[0]));
  auto parts = split_address_and_port(words[1]);
  if (!parts) return parts.error();
  WatchOptions options{words[1], false};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!is_option(words[i], "json"))
      return bad(fmt::format("{} does not go with {}", words[i], words[0]));
    options.json = true;
  }
  return options;
}

int print_all(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return complain(
      {ErrorKind::kSystem, fmt::format("cannot write standard output: {}", std::strerror(errno))},
      kFailed);
}

int run_why(const WatchOptions& options, MonitorSession session) {
  auto state = session.ask(kWantsCalls);
  if (!state) return complain(state.error(), kFailed);
  const WaitFindings findings = find_stuck(*state);
  const int printed =
      print_all(options.json ? why_json(*state, findings) : why_text(*state, findings));
  if (printed != 0) return printed;
  if (state->processes.empty()) return kFailed;
  return findings.stuck() ? kStuckStatus : 0;
}

}  // namespace

std::optional<int> run_watch_command(const std::vector<std::string>& words) {
  if (words.empty() || !is_option(words[0], "why")) return std::nullopt;
  auto options = read_options(words);
  if (!options) return complain(options.error(), kUsage);
  auto methods = AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsage);
  return run_why(*options, MonitorSession(options->server, *methods));
}

}  // namespace impishim::wire
