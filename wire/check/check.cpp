// SPDX-License-Identifier: Apache-2.0
#include "wire/check/check.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/joining.hpp"
#include "wire/check/options.hpp"
#include "wire/check/report.hpp"
#include "wire/check/report_codec.hpp"
#include "wire/check/report_text.hpp"

namespace impishim::check {
namespace {

constexpr int kBrokenStatus = 1;
constexpr int kUsageStatus = 2;

/// Prints to standard output, and returns `status` if that works.
int print(const std::string& text, int status) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return status;
  std::fprintf(stderr, "impirun: cannot write standard output: %s\n", std::strerror(errno));
  return kBrokenStatus;
}

}  // namespace

bool is_check(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == kCheckOption || words[0] == "--check");
}

int run_check(const std::vector<std::string>& words, const std::string& version) {
  const auto options = parse_check_options({words.begin() + 1, words.end()});
  if (!options) {
    std::fprintf(stderr, "impirun: %s\n", options.error().text.c_str());
    return kUsageStatus;
  }
  if (options->help) return print(check_help(), 0);
  const Report report = check_systems(*options, version);
  return print(options->json ? report_json(report) : report_text(report),
               passes(report) ? 0 : kBrokenStatus);
}

}  // namespace impishim::check
