// SPDX-License-Identifier: Apache-2.0
#include "wire/port/name_service.hpp"

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/name_table.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {
namespace {

constexpr int kClientTimeoutMs = 10000;

/// Answers one client.
Result<void> answer(NameTable& table, Conversation& client) {
  client.set_timeout(kClientTimeoutMs);
  const auto message = client.receive();
  if (!message) return message.error();
  const auto request = decode_name_request(*message);
  if (!request) return request.error();
  return client.send(encode(table.handle(*request)));
}

}  // namespace

Result<void> serve_names(OpenPort& port, int watched) {
  NameTable table;
  for (;;) {
    auto client = port.accept(watched);
    if (!client) return client.error();
    if (!client->has_value()) return {};
    auto answered = answer(table, (*client)->conversation);
    if (!answered)
      log(LogArea::kStartup, LogLevel::kWarn, "name server: {}", answered.error().text);
  }
}

Result<NameAnswer> ask_name_server(const PortName& server, const NameRequest& request) {
  auto connected = connect_to_port(server);
  if (!connected) return connected.error();
  auto sent = connected->conversation.send(encode(request));
  if (!sent) return sent.error();
  const auto message = connected->conversation.receive();
  if (!message) return message.error();
  return decode_name_answer(*message);
}

}  // namespace impishim::wire
