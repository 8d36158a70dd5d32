// SPDX-License-Identifier: Apache-2.0
#include "wire/check/check.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "wire/check/joining.hpp"
#include "wire/check/options.hpp"
#include "wire/check/report/report.hpp"
#include "wire/check/report/report_codec.hpp"
#include "wire/check/report/report_text.hpp"

namespace impishim::check {
namespace {

constexpr int kBrokenStatus = 1;

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

int run_check(const CheckOptions& options, const std::string& version) {
  const Report report = check_systems(options, version);
  const bool met = std::ssize(report.systems) == report.systems_wanted;
  if (options.part && met) return 0;
  return print(options.json ? report_json(report) : report_text(report),
               passes(report) ? 0 : kBrokenStatus);
}

}  // namespace impishim::check
