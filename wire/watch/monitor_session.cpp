// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/monitor_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/startup/server_stream.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {
namespace {

constexpr int kConnectMs = 5000;
/// Longer than the server waits for the processes.
constexpr std::chrono::milliseconds kAnswer{10000};

/// Makes texts of other processes fit for a terminal.
void make_printable(ProcessState& state) {
  state.host = printable(state.host);
  for (MonitoredGroup& group : state.groups) {
    group.name = printable(group.name);
    group.latest = printable(group.latest);
  }
  for (MonitoredCall& call : state.calls) {
    call.function = printable(call.function);
    for (Awaited& each : call.awaited) each.function = printable(each.function);
  }
}

}  // namespace

Result<void> MonitorSession::send(std::uint32_t wants) {
  const auto question =
      encode_startup(StartupCommand::kQuestion, encode(MonitorQuestion{0, wants}));
  if (stream_) return stream_->send(question);
  ServerPatience patience;
  patience.answer = kAnswer;
  patience.report = 2 * kAnswer;
  auto stream = address_server(server_, methods_, question, kConnectMs, patience);
  if (!stream) return stream.error();
  stream_ = std::move(*stream);
  return {};
}

Result<JobState> MonitorSession::receive() {
  JobState state;
  stream_->begin(ServerStream::Phase::kMethod);
  for (;;) {
    auto message = stream_->message();
    if (!message) {
      if (stream_->ours()) return message.error();
      return Error{message.error().kind,
                   message.error().text + "; only an impirun of this version can be asked"};
    }
    const auto command = static_cast<StartupCommand>(message->command);
    if (command == StartupCommand::kAnswer) {
      auto process = decode_process_state(message->payload);
      if (!process) return process.error();
      make_printable(*process);
      state.processes.push_back(std::move(*process));
    } else if (command == StartupCommand::kAnswered) {
      auto end = decode_monitor_end(message->payload);
      if (!end) return Error{ErrorKind::kProtocol, "the server's answer cannot be read"};
      state.size = end->size;
      state.silent = std::move(end->silent);
      return state;
    }
  }
}

Result<JobState> MonitorSession::ask(std::uint32_t wants) {
  auto sent = send(wants);
  auto state = sent ? receive() : Result<JobState>(sent.error());
  if (!state) {
    stream_.reset();
    return state.error();
  }
  std::ranges::sort(state->processes, {}, &ProcessState::rank);
  std::set<std::int32_t> known(state->silent.begin(), state->silent.end());
  for (const ProcessState& each : state->processes) known.insert(each.rank);
  for (std::int32_t rank = 0; rank < state->size; ++rank) {
    if (!known.contains(rank)) state->unwatched.push_back(rank);
  }
  return state;
}

}  // namespace impishim::wire
