// SPDX-License-Identifier: Apache-2.0
#include "shim/survive/agreement.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "shim/comm/communicator_make.hpp"
#include "shim/comm/named_meeting.hpp"
#include "shim/completion/wait.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/request/arguments.hpp"
#include "shim/values/survivor_agreement.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kAgreement = "an agreement of survivors";

/// Returns the name of the letters of one agreement inside a system.
MeetingName name_of(const Communicator& communicator, std::uint64_t number) {
  MeetingName hash = 0xcbf29ce484222325U;
  for (const std::uint64_t word : {std::uint64_t{communicator.context}, number})
    hash = (hash ^ word) * 0x100000001b3U;
  return hash ^ hash >> 56U;
}

/// The messages between the first members of the systems.
class Exchange {
 public:
  Exchange(Job& job, const Communicator& communicator, std::uint64_t number,
           const AgreedWords& words)
      : job_(job),
        communicator_(communicator),
        tag_(static_cast<std::int32_t>(number % 0x40000000U)),
        agreement_(job.client, systems(), words) {
    for (const std::int32_t master : communicator_.masters) {
      if (communicator_.world_rank(master) == job_.here) continue;
      Partner& partner = partners_.emplace_back();
      partner.rank = master;
      partner.system = system_of(master);
    }
    for (Partner& partner : partners_) post(partner);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  /// The engine must not use an operation any more.
  ~Exchange() {
    for (Partner& partner : partners_) {
      if (!partner.receive.complete()) job_.engine->cancel(partner.receive);
    }
    const auto over = [](const wire::Operation& operation) { return operation.complete(); };
    drive_until(job_, false, [&] {
      return std::ranges::all_of(sends_, over, &Outgoing::send) &&
             std::ranges::all_of(partners_, over, &Partner::receive);
    });
  }

  AgreedWords run() {
    drive_until(job_, false, [&] {
      look_for_losses();
      for (Partner& partner : partners_) take_from(partner);
      send_all();
      return agreement_.decision().has_value();
    });
    return *agreement_.decision();
  }

 private:
  struct Partner {
    std::int32_t rank = 0;
    std::int32_t system = 0;
    AgreementBytes bytes{};
    wire::ReceiveOperation receive;
  };
  struct Outgoing {
    AgreementBytes bytes{};
    wire::SendOperation send;
  };

  [[nodiscard]] std::int32_t system_of(std::int32_t rank) const {
    return job_.map.proc(communicator_.world_rank(rank)).client;
  }
  [[nodiscard]] std::vector<std::int32_t> systems() const {
    std::vector<std::int32_t> systems;
    for (const std::int32_t master : communicator_.masters) systems.push_back(system_of(master));
    return systems;
  }
  /// Odd, as no other context of the meetings of a parent's members.
  [[nodiscard]] wire::ContextId context() const {
    return (communicator_.context | kGroupMeeting) + 1;
  }

  void post(Partner& partner) {
    // Cannot fail: a basic type has a layout.
    static_cast<void>(describe_buffer(kAgreement, partner.bytes.data(),
                                      static_cast<std::int64_t>(partner.bytes.size()), MPI_UINT64_T,
                                      partner.receive.buffer));
    partner.receive.context = context();
    partner.receive.source = partner.rank;
    partner.receive.tag = tag_;
    job_.engine->start(partner.receive);
  }

  void take_from(Partner& partner) {
    while (job_.engine->carried_out(partner.receive)) {
      if (partner.receive.result.error) return;  // lost, or it has sent something else
      if (const auto message = decode_agreement(partner.bytes))
        agreement_.receive(partner.system, *message);
      post(partner);
    }
  }

  void look_for_losses() {
    const std::uint64_t lost = job_.lost_systems.load(std::memory_order_acquire);
    if (lost == lost_seen_) return;
    lost_seen_ = lost;
    agreement_.lose(lost_in(job_, communicator_));
  }

  void send_all() {
    for (const auto& [system, message] : agreement_.take_messages()) {
      const auto partner = std::ranges::find(partners_, system, &Partner::system);
      Outgoing& outgoing = sends_.emplace_back();
      outgoing.bytes = encode(message);
      static_cast<void>(describe_buffer(kAgreement, static_cast<const void*>(outgoing.bytes.data()),
                                        static_cast<std::int64_t>(outgoing.bytes.size()),
                                        MPI_UINT64_T, outgoing.send.buffer));
      outgoing.send.destination = communicator_.world_rank(partner->rank);
      outgoing.send.context = context();
      outgoing.send.source_rank = communicator_.rank;
      outgoing.send.tag = tag_;
      job_.engine->start(outgoing.send);
    }
  }

  Job& job_;
  const Communicator& communicator_;
  const std::int32_t tag_;
  SurvivorAgreement agreement_;
  std::uint64_t lost_seen_ = 0;
  std::deque<Partner> partners_;
  std::deque<Outgoing> sends_;
};

}  // namespace

MeetingName latest_agreement(const Communicator& communicator) {
  return name_of(communicator, communicator.agreements.load());
}

int agree_among_survivors(Job& job, Communicator& communicator, AgreedWords& words) {
  const std::uint64_t number = communicator.agreements.fetch_add(1) + 1;
  const MeetingName name = name_of(communicator, number);
  const std::vector<int> native = native_members(job, communicator.members);
  std::array<std::uint64_t, 4> all{words.flags, words.acknowledged, words.context, words.lost};
  const auto words_of = [](std::span<const std::uint64_t> from) {
    return AgreedWords{from[0], from[1], from[2], from[3]};
  };
  const auto put = [](const AgreedWords& from, std::span<std::uint64_t> to) {
    to[0] = from.flags;
    to[1] = from.acknowledged;
    to[2] = from.context;
    to[3] = from.lost;
  };
  int code =
      collect_words(job, native, name, all,
                    [&](std::span<std::uint64_t> mine, std::span<const std::uint64_t> theirs) {
                      AgreedWords combined = words_of(mine);
                      combined.combine(words_of(theirs));
                      put(combined, mine);
                    });
  if (code != MPI_SUCCESS) return code;
  if (native.front() == native_rank(job, job.here)) {
    Exchange exchange(job, communicator, number, words_of(all));
    put(exchange.run(), all);
  }
  code = distribute_words(job, native, name, all);
  words = words_of(all);
  return code;
}

}  // namespace impishim::shim
