// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/monitor_thread.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/server_stream.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {
namespace {

constexpr int kConnectMs = 5000;
constexpr int kRetryMs = 5000;
/// The server is silent until a program asks.
constexpr std::chrono::hours kForever{24 * 365};

}  // namespace

MonitorThread::MonitorThread(std::string server, const MonitorHello& hello, Describe describe)
    : server_(std::move(server)), hello_(hello), describe_(std::move(describe)) {
  thread_ = quiet_thread("impishim-watch", [this] { run(); });
}

MonitorThread::~MonitorThread() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    // A thread that waits for a question sees the end of the stream.
    if (const int socket = socket_.load(); socket >= 0) shutdown(socket, SHUT_RDWR);
  }
  changed_.notify_all();
  thread_.join();
}

void MonitorThread::close_in_forked_child() {
  if (const int socket = socket_.load(); socket >= 0) close(socket);
}

bool MonitorThread::stopped_within(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  const MutexLock lock(mutex_);
  while (!stop_ && changed_.wait_until(mutex_, end) != std::cv_status::timeout) {
  }
  return stop_;
}

void MonitorThread::run() {
  while (!stopped_within(0)) {
    const auto served = serve();
    if (stopped_within(0)) return;
    const std::string text = fmt::format("this process cannot be watched (IMPISHIM_MONITOR): {}{}",
                                         served ? "the server has gone" : served.error().text,
                                         refused_ ? "" : "; trying again");
    if (!std::exchange(told_, true))
      log_line(LogArea::kStartup, LogLevel::kWarn, text);
    else
      log(LogArea::kStartup, LogLevel::kDebug, "{}", text);
    if (refused_ || stopped_within(kRetryMs)) return;
  }
}

/// Makes a connection and answers until it ends.
Result<void> MonitorThread::serve() {
  auto methods = AuthenticationMethods::from_environment();
  if (!methods) return methods.error();
  ServerPatience patience;
  auto stream =
      address_server(server_, *methods, encode_startup(StartupCommand::kMonitor, encode(hello_)),
                     kConnectMs, patience);
  if (!stream) return stream.error();
  {
    const MutexLock lock(mutex_);
    if (stop_) return {};
    socket_.store((*stream)->socket());
  }
  auto accepted = (*stream)->await(StartupCommand::kMonitor);
  Result<void> served = accepted ? Result<void>() : accepted.error();
  // A server that has said why will say it again.
  if (!accepted && (*stream)->ours() && !(*stream)->ended_without_reason()) refused_ = true;
  if (accepted) {
    log(LogArea::kStartup, LogLevel::kInfo, "this process can be watched at {}", server_);
    (*stream)->be_patient(kForever);
  }
  while (served) {
    auto message = (*stream)->message();
    served = message ? answer(**stream, *message) : message.error();
  }
  const MutexLock lock(mutex_);
  socket_.store(-1);
  return served;
}

Result<void> MonitorThread::answer(ServerStream& stream, const StartupMessage& message) {
  if (message.command != static_cast<std::uint32_t>(StartupCommand::kQuestion)) return {};
  const auto question = decode_monitor_question(message.payload);
  if (!question) return Error{ErrorKind::kProtocol, "the server asked what cannot be read"};
  return stream.send(encode_startup(StartupCommand::kAnswer,
                                    encode_answer(question->number, describe_(question->wants))));
}

}  // namespace impishim::wire
