// SPDX-License-Identifier: Apache-2.0
// What becomes of receives from a client that is lost.
#include <atomic>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/message/early_message.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/message/operation.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns true if the message's rest will never arrive, since its sender is lost.
bool ReceivePath::is_cut_off(const Message& message) const {
  if (!parts_.state.lost.contains(client_of(message.source))) return false;
  if (message.early != nullptr) return message.early->arrival.result.error.has_value();
  return message.payload_bytes < message.message_bytes;
}

/// Ends a receive that was posted, but may not wait.
void ReceivePath::end_closed(ReceiveOperation& operation, const Error& error) {
  // A message that waits for the end of a contest may still be for it.
  if (!queue_.remove(operation)) return;
  operation.has_native_twin = false;
  complete_with(operation, error);
}

/// Drops the packets that are arriving from the client or for it.
void ReceivePath::drop_arrivals_from(std::int32_t client, std::set<ReceiveOperation*>& ended) {
  const auto leads_there = [&](const Link& link) {
    return link.remote_host >= 0 && parts_.settings.job.host(link.remote_host).client == client;
  };
  for (const auto& link : parts_.peers.links()) {
    Arrival& arrival = link->arrival;
    link->latest_route = {};
    if (arrival.receive != nullptr && client_of(arrival.source) == client) {
      if (!arrival.receive->early_) ended.insert(arrival.receive);
      arrival.receive = nullptr;
      link->input.drop_payload();
    }
    const bool comes = arrival.source >= 0 && client_of(arrival.source) == client;
    const bool goes = arrival.relay_to != nullptr && leads_there(*arrival.relay_to);
    if (comes || goes) arrival.relay_to = link.get();
  }
}

/// Ends the early messages of the client that have not arrived whole.
void ReceivePath::end_early_from(std::int32_t client) {
  std::vector<EarlyMessage*> cut_off;
  early_.for_each([&](EarlyMessage& message) {
    if (!message.arrival.complete() && client_of(message.arrival.sender_) == client)
      cut_off.push_back(&message);
  });
  for (EarlyMessage* message : cut_off) {
    message->arrival.result.error = parts_.state.lost.error(client);
    early_arrived(*message);
  }
}

void ReceivePath::forget_messages_from(std::int32_t client) {
  auto forgotten = queue_.remove_if([&](const Message& message) {
    return client_of(message.source) == client && is_cut_off(message);
  });
  for (Message& message : forgotten) {
    parts_.state.buffers.put(std::move(message.payload));
    if (message.early != nullptr) early_.forget(*message.early);
  }
}

void ReceivePath::lose(std::int32_t client) {
  std::set<ReceiveOperation*> ended;
  drop_arrivals_from(client, ended);
  std::erase_if(receives_, [&](const auto& each) {
    ReceiveOperation& operation = *each.second;
    if (client_of(operation.sender_) != client) return false;
    if (!operation.early_) ended.insert(&operation);
    return true;
  });
  end_early_from(client);
  forget_messages_from(client);
  for (ReceiveOperation* operation : ended) {
    if (!operation->complete()) complete_with(*operation, parts_.state.lost.error(client));
  }
}

void ReceivePath::close(ContextId context, const ClosedSources& sources) {
  if (parts_.failure.happened()) return;
  for (ReceiveOperation* operation : queue_.close(context, sources))
    complete_with(*operation, *sources.error);
  parts_.flags.contested.store(queue_.contested(), std::memory_order_release);
  arrivals_.wake();
}

}  // namespace impishim::wire
