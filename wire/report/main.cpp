// SPDX-License-Identifier: Apache-2.0
// impishim-report: a page of the statistics that IMPISHIM_STATS has written.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "wire/base/output_file.hpp"
#include "wire/base/result.hpp"
#include "wire/report/embedded_page.hpp"
#include "wire/report/job_statistics.hpp"
#include "wire/report/report_page.hpp"

namespace impishim::report {
namespace {

int complain(const std::string& text) {
  fmt::print(stderr, "impishim-report: {}\n", text);
  return 1;
}

int write_report(const std::string& prefix, const std::string& output) {
  const auto job = read_job(prefix);
  if (!job) return complain(job.error().text);
  const std::string title = std::filesystem::path(prefix).filename().string();
  const std::string page = page_of(*job, title, embedded_page());
  auto written = write_file(output, page);
  if (!written) return complain(fmt::format("cannot write {}: {}", output, written.error().text));
  if (!job->missing.empty())
    fmt::print(stderr, "impishim-report: {} of {} ranks have no file; the page says which\n",
               job->missing.size(), job->size);
  fmt::print("{}\n", output);
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Makes one HTML page of the statistics of a run (IMPISHIM_STATS).",
               "impishim-report");
  app.set_version_flag("--version", std::string("impishim-report " IMPISHIM_VERSION));
  std::string prefix;
  std::string output;
  app.add_option("prefix", prefix, "what IMPISHIM_STATS was: the files are PREFIX.RANK.json")
      ->required();
  app.add_option("-o,--output", output, "the page; PREFIX.html without it");
  CLI11_PARSE(app, argc, argv);
  if (output.empty()) output = prefix + ".html";
  return write_report(prefix, output);
}

}  // namespace
}  // namespace impishim::report

int main(int argc, char** argv) {
  try {
    return impishim::report::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "impishim-report: %s\n", error.what());
    return 1;
  }
}
