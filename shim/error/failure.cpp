// SPDX-License-Identifier: Apache-2.0
#include "shim/error/failure.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {
namespace {

/// The time that a process without a message waits for its launcher to end it.
constexpr auto kSilent = std::chrono::milliseconds(1500);
/// The time that a process with a message waits for its launcher to read it, and then for the
/// launcher to forward it.
constexpr auto kRead = std::chrono::milliseconds(1000);
constexpr auto kPassedOn = std::chrono::milliseconds(100);

/// Returns the number of bytes on standard error that the reader has not read yet; 0 if this is
/// unknown.
int unread_bytes() {
  struct stat status {};
  int unread = 0;
  if (fstat(STDERR_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) return 0;
  return ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 ? unread : 0;
}

/// Prints one message for each host. The gateway or lowest process of the host prints it, and most
/// failures end the others before they would print. A process that detected the failure itself also
/// prints it if it still runs after a while: the process that should print may be the one that
/// died.
void print_once(const Job& job, const Error& failure) {
  if (failure.text.empty() || !job.speaks_for_host) std::this_thread::sleep_for(kSilent);
  if (failure.text.empty() || (failure.kind == ErrorKind::kAborted && !job.speaks_for_host)) return;
  write_final_message(failure.kind == ErrorKind::kAborted ? "the job was ended: " + failure.text
                                                          : failure.text);
}

int exit_code(const Job& job) {
  const int code = job.engine->abort_code().value_or(1);
  return code == 0 ? 1 : code;
}

}  // namespace

void let_launcher_read() {
  const auto deadline = std::chrono::steady_clock::now() + kRead;
  // A pipe wakes its writer when it has room, not when it is empty.
  while (unread_bytes() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(kPassedOn);
}

void write_final_message(const std::string& text) {
  log_line(LogArea::kShim, LogLevel::kError, text);
  write_log_buffer();
  let_launcher_read();
}

void keep_records(const Job& job) {
  write_log_buffer();
  if (const auto write = job.write_trace.load(); write != nullptr) write(job);
}

void end_after_failure(Job& job) {
  keep_records(job);
  print_once(job, *job.engine->failure());
  const int code = exit_code(job);
  vendor::Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

void exit_after_failure(const Job& job, const Error& failure) {
  keep_records(job);
  print_once(job, failure);
  _exit(exit_code(job));
}

void announce_end(Job& job, int code, const std::string& text) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kBound = std::chrono::milliseconds(500);
  const auto deadline = Clock::now() + kBound;
  job.engine->announce_abort(code, text);
  if (job.map.clients().size() < 2) return;
  // A process that receives the abort forwards it to all its peers, including the sender. The echo
  // shows that it has left.
  while (job.engine->failure() == nullptr && Clock::now() < deadline) {
    if (job.engine->poll(true) == 0) job.engine->wait_for_event(std::chrono::milliseconds(10));
  }
}

}  // namespace impishim::shim
