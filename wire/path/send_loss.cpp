// SPDX-License-Identifier: Apache-2.0
// What becomes of sends to a client that is lost.
#include <cstdint>
#include <set>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/operation.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Drops what waits on the links to the client's hosts, and the long messages to it on other links.
/// Short packets to it on other links leave: the process that passes them on drops them.
void SendPath::drop_output_to(std::int32_t client, std::set<SendOperation*>& dropped) {
  const JobMap& job = parts_.settings.job;
  const auto goes_there = [&](SendOperation* operation) {
    if (job.proc(operation->destination).client != client) return false;
    dropped.insert(operation);
    return true;
  };
  for (const auto& link : parts_.peers.links()) {
    std::erase_if(link->output.streams, goes_there);
    std::erase_if(link->output.awaiting_credit, goes_there);
    if (link->remote_host < 0 || job.host(link->remote_host).client != client) continue;
    link->output.forgive_relayed();
    const auto operations =
        link->input_ended ? link->output.drop_all() : link->output.drop_all_but_aborts();
    for (SendOperation* operation : operations) {
      operation->packets_queued_ = 0;
      dropped.insert(operation);
    }
  }
}

/// Forgets the sends to the client that wait for credit or an answer.
void SendPath::forget_sends_to(std::int32_t client, std::set<SendOperation*>& dropped) {
  const JobMap& job = parts_.settings.job;
  const Client& lost = job.client(client);
  for (WorldRank rank = lost.first_proc; rank < lost.first_proc + lost.proc_count; ++rank) {
    Peer& peer = parts_.peers.peer(rank);
    dropped.insert(peer.held.begin(), peer.held.end());
    dropped.insert(peer.stalled.begin(), peer.stalled.end());
    peer.held.clear();
    peer.stalled.clear();
    peer.send_credit.exhaust();
  }
  std::erase_if(sends_, [&](const auto& each) {
    if (job.proc(each.second->destination).client != client) return false;
    dropped.insert(each.second);
    return true;
  });
  std::erase_if(questions_,
                [&](const auto& each) { return job.proc(each.second).client == client; });
}

void SendPath::lose(std::int32_t client) {
  std::set<SendOperation*> dropped;
  drop_output_to(client, dropped);
  forget_sends_to(client, dropped);
  const Error& error = parts_.state.lost.error(client);
  for (SendOperation* operation : dropped) {
    if (operation->complete()) continue;
    if (operation->packets_queued_ == 0) {
      complete(*operation, error);
      continue;
    }
    // The rest of a packet leaves from the user's memory; packet_left() then completes it.
    operation->result.error = error;
    operation->cancelling_ = false;
    operation->phase_ = SendOperation::Phase::kQueued;
  }
}

}  // namespace impishim::wire
