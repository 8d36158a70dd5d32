// SPDX-License-Identifier: Apache-2.0
// Monitoring through a rendezvous server: connections of processes that can be asked, and of those
// that ask (wire/monitor).
#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>

#include "wire/monitor/monitor_hub.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/startup/startup_server.hpp"

namespace impishim::wire {

/// Takes a connection that says, instead of IMPI, that it belongs to a process of the job.
void StartupServer::begin_monitor(int id, Connection& connection, const StartupMessage& message) {
  const auto hello = decode_monitor_hello(message.payload);
  if (!hello || hello->client >= clients_)
    return turn_away(id, connection, "it wants to be monitored as a process that does not exist");
  if (!begun_)
    return turn_away(id, connection, "it wants to be monitored before the job has begun");
  if (!monitors_.add_process(id, *hello)) {
    // Of a large job, all others come as well: that is nothing for the server's user.
    say_and_close(id, fmt::format("rank {} cannot be monitored: at most {} processes of a job can",
                                  hello->rank, MonitorHub::kMostProcesses));
    connection.stage = Stage::kTurnedAway;
    return;
  }
  connection.stage = Stage::kMonitor;
  send(id, encode_startup(StartupCommand::kMonitor, {}));
}

/// Handles what connections of monitoring say.
void StartupServer::handle_monitoring(int id, Connection& connection,
                                      const StartupMessage& message) {
  const auto command = static_cast<StartupCommand>(message.command);
  if (connection.stage == Stage::kMonitor) {
    if (command == StartupCommand::kAnswer && !monitors_.answer(id, message.payload)) {
      monitors_.remove(id);
      turn_away(id, connection, "it told its state in bytes that cannot be read");
    }
  } else if (command == StartupCommand::kQuestion) {
    const auto question = decode_monitor_question(message.payload);
    if (!question || !monitors_.ask(id, question->wants, now_)) {
      monitors_.remove(id);
      turn_away(id, connection, "it asked a question that cannot be answered now");
    }
  }
  act_for_monitors();
}

void StartupServer::act_for_monitors() {
  for (MonitorAction& action : monitors_.take_actions()) {
    const StartupCommand command =
        action.kind == MonitorAction::Kind::kQuestion ? StartupCommand::kQuestion
        : action.kind == MonitorAction::Kind::kAnswer ? StartupCommand::kAnswer
                                                      : StartupCommand::kAnswered;
    send(action.connection, encode_startup(command, action.payload));
  }
}

/// Forgets a connection of monitoring that has ended. Returns false if it is none.
bool StartupServer::end_monitoring(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() ||
      (found->second.stage != Stage::kMonitor && found->second.stage != Stage::kAsker))
    return false;
  monitors_.remove(id);
  connections_.erase(found);
  act_for_monitors();
  return true;
}

}  // namespace impishim::wire
