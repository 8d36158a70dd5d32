// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/named_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/job/letter_box.hpp"
#include "shim/request/arguments.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kMeeting = "the meeting of a group";
/// A tag that every MPI supports and handshake_tag() never returns. The one above it is that of
/// failure notices.
constexpr int kLetterTag = 32766;

/// Letters that this process sends. Each lives until the vendor has sent it.
class OutgoingLetters {
 public:
  explicit OutgoingLetters(Job& job) : job_(job) {}

  int send(int to, const Letter& letter) {
    const Letter& kept = letters_.emplace_back(letter);
    return vendor::Isend(&kept, 2, MPI_UINT64_T, to, kLetterTag, job_.private_comm,
                         &requests_.emplace_back(MPI_REQUEST_NULL));
  }
  int wait() {
    int code = MPI_SUCCESS;
    for (const MPI_Request request : requests_) {
      const int ended = poll_native(job_, request);
      if (code == MPI_SUCCESS) code = ended;
    }
    requests_.clear();
    return code;
  }

 private:
  Job& job_;
  std::deque<Letter> letters_;
  std::vector<MPI_Request> requests_;
};

/// Waits for the letter with this name from native rank `sender`. Meanwhile it may receive letters
/// for other threads, and other threads may receive this one.
int receive_letter(Job& job, int sender, MeetingName name, std::uint64_t& value) {
  Letter letter{};
  MPI_Request request = MPI_REQUEST_NULL;
  bool receiving = false;
  int code = MPI_SUCCESS;
  drive_until(job, true, [&] {
    if (receiving) {
      int flag = 0;
      code = vendor::Test(&request, &flag, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) return true;
      if (flag == 0) return false;
      job.letters.deliver(sender, letter);
    }
    const auto taken = job.letters.take(sender, name, receiving);
    if (taken) value = *taken;
    if (receiving)
      code =
          vendor::Irecv(&letter, 2, MPI_UINT64_T, sender, kLetterTag, job.private_comm, &request);
    return taken.has_value() || code != MPI_SUCCESS;
  });
  return code;
}

/// Returns a service's context: members may belong to jobs that number them differently.
wire::ContextId context_of(MeetingName name) {
  return wire::kServiceContexts | kNamedMeeting | (name & (kNamedMeeting - 1) & ~std::uint64_t{1});
}

/// Messages to and from processes of other systems. They are complete after wait().
class RemoteLetters {
 public:
  RemoteLetters(Job& job, MeetingName name) : job_(job), context_(context_of(name)) {}

  void send(wire::WorldRank to, const std::uint64_t& value) {
    wire::SendOperation& operation = sends_.emplace_back();
    static_cast<void>(describe_buffer(kMeeting, &value, 1, MPI_UINT64_T,
                                      operation.buffer));  // cannot fail: a basic type has a layout
    operation.destination = to;
    operation.context = context_;
    operation.source_rank = job_.here;
    operation.tag = 0;
    job_.engine->start(operation);
  }
  void receive(wire::WorldRank from, std::uint64_t& value) {
    wire::ReceiveOperation& operation = receives_.emplace_back();
    static_cast<void>(describe_buffer(kMeeting, &value, 1, MPI_UINT64_T, operation.buffer));
    operation.context = context_;
    operation.source = from;
    operation.tag = 0;
    job_.engine->start(operation);
  }
  int wait() {
    const auto over = [](const wire::Operation& operation) { return operation.complete(); };
    drive_until(job_, false, [&] {
      if (job_.engine->lost_count() != 0) end_if_one_is_lost();
      return std::ranges::all_of(sends_, over) && std::ranges::all_of(receives_, over);
    });
    const auto failed = [](const wire::Operation& operation) {
      return operation.result.error.has_value();
    };
    const bool any = std::ranges::any_of(sends_, failed) || std::ranges::any_of(receives_, failed);
    return any ? raise(job_.private_comm, MPI_ERR_OTHER, kMeeting, "a message was lost")
               : MPI_SUCCESS;
  }

 private:
  /// Ends the job if a message is to come from a lost system: the meeting has no communicator, so
  /// the engine cannot end the receive.
  void end_if_one_is_lost() {
    for (const std::int32_t client : job_.engine->lost_clients()) {
      const auto waits_for_it = [&](const wire::ReceiveOperation& each) {
        return !each.complete() && job_.map.proc(each.source).client == client;
      };
      if (std::ranges::any_of(receives_, waits_for_it))
        end_job(1, fmt::format("{}: the group has processes of a lost system: {}", kMeeting,
                               job_.engine->loss_text(client)));
    }
  }

  Job& job_;
  wire::ContextId context_;
  std::deque<wire::SendOperation> sends_;
  std::deque<wire::ReceiveOperation> receives_;
};

/// Collects at the first of `native` the maximum of all of them, for first_distributes().
int first_collects(Job& job, const std::vector<int>& native, MeetingName name,
                   std::uint64_t& value) {
  if (native.front() != native_rank(job, job.here)) {
    OutgoingLetters letters(job);
    const int code = letters.send(native.front(), {name, value});
    return code == MPI_SUCCESS ? letters.wait() : code;
  }
  for (std::size_t i = 1; i < native.size(); ++i) {
    std::uint64_t theirs = 0;
    if (const int code = receive_letter(job, native[i], name, theirs); code != MPI_SUCCESS)
      return code;
    value = std::max(value, theirs);
  }
  return MPI_SUCCESS;
}

int first_distributes(Job& job, const std::vector<int>& native, MeetingName name,
                      std::uint64_t& value) {
  if (native.front() != native_rank(job, job.here))
    return receive_letter(job, native.front(), name, value);
  OutgoingLetters letters(job);
  for (std::size_t i = 1; i < native.size(); ++i) {
    if (const int code = letters.send(native[i], {name, value}); code != MPI_SUCCESS) return code;
  }
  return letters.wait();
}

/// Returns the first member of each system, in the order of `members`.
RankList firsts_of_systems(const Job& job, const RankList& members) {
  RankList firsts;
  std::vector<bool> seen(job.map.clients().size(), false);
  for (const wire::WorldRank rank : members) {
    const auto client = static_cast<std::size_t>(job.map.proc(rank).client);
    if (!seen[client]) firsts.push_back(rank);
    seen[client] = true;
  }
  return firsts;
}

/// Replaces `value` by the maximum over `firsts`, of which this process is one.
int greatest_of_firsts(Job& job, const RankList& firsts, MeetingName name, std::uint64_t& value) {
  RemoteLetters letters(job, name);
  if (firsts.front() != job.here) {
    const std::uint64_t mine = value;
    letters.send(firsts.front(), mine);
    letters.receive(firsts.front(), value);
    return letters.wait();
  }
  std::vector<std::uint64_t> values(firsts.size());
  for (std::size_t i = 1; i < firsts.size(); ++i) letters.receive(firsts[i], values[i]);
  if (const int code = letters.wait(); code != MPI_SUCCESS) return code;
  for (const std::uint64_t each : values) value = std::max(value, each);
  for (std::size_t i = 1; i < firsts.size(); ++i) letters.send(firsts[i], value);
  return letters.wait();
}

}  // namespace

MeetingName meeting_name(MeetingPurpose purpose, std::string_view stringtag) {
  // FNV-1a: the same on all systems.
  MeetingName hash = 0xcbf29ce484222325U;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  add(static_cast<std::uint8_t>(purpose));
  for (const char letter : stringtag) add(static_cast<std::uint8_t>(letter));
  return hash ^ hash >> 56U;
}

int collect_words(Job& job, const std::vector<int>& native, MeetingName name,
                  std::span<std::uint64_t> words, const CombineWords& combine) {
  const int here = native_rank(job, job.here);
  OutgoingLetters letters(job);
  if (native.front() != here) {
    for (const std::uint64_t word : words) {
      if (const int code = letters.send(native.front(), {name, word}); code != MPI_SUCCESS)
        return code;
    }
    return letters.wait();
  }
  std::vector<std::uint64_t> theirs(words.size());
  for (std::size_t i = 1; i < native.size(); ++i) {
    for (std::uint64_t& word : theirs) {
      if (const int code = receive_letter(job, native[i], name, word); code != MPI_SUCCESS)
        return code;
    }
    combine(words, theirs);
  }
  return MPI_SUCCESS;
}

int distribute_words(Job& job, const std::vector<int>& native, MeetingName name,
                     std::span<std::uint64_t> words) {
  OutgoingLetters letters(job);
  int code = MPI_SUCCESS;
  for (std::uint64_t& word : words) {
    if (native.front() != native_rank(job, job.here)) {
      code = receive_letter(job, native.front(), name, word);
    } else {
      for (std::size_t i = 1; i < native.size() && code == MPI_SUCCESS; ++i)
        code = letters.send(native[i], {name, word});
    }
    if (code != MPI_SUCCESS) return code;
  }
  return letters.wait();
}

std::vector<int> native_members(const Job& job, const RankList& members) {
  std::vector<int> native;
  for (const wire::WorldRank rank : members) {
    if (job.map.proc(rank).client == job.client) native.push_back(native_rank(job, rank));
  }
  return native;
}

int greatest_by_letters(Job& job, const std::vector<int>& native, MeetingName name,
                        std::uint64_t& value) {
  const int code = first_collects(job, native, name, value);
  return code == MPI_SUCCESS ? first_distributes(job, native, name, value) : code;
}

int greatest_of_group(Job& job, const RankList& members, MeetingName name, std::uint64_t& value) {
  const std::vector<int> native = native_members(job, members);
  const RankList firsts = firsts_of_systems(job, members);
  int code = first_collects(job, native, name, value);
  if (code == MPI_SUCCESS && firsts.size() > 1 && native.front() == native_rank(job, job.here))
    code = greatest_of_firsts(job, firsts, name, value);
  return code == MPI_SUCCESS ? first_distributes(job, native, name, value) : code;
}

int swap_values(Job& job, wire::WorldRank other, MeetingName name, std::uint64_t mine,
                std::uint64_t& theirs) {
  if (job.map.proc(other).client != job.client) {
    RemoteLetters letters(job, name);
    letters.send(other, mine);
    letters.receive(other, theirs);
    return letters.wait();
  }
  OutgoingLetters letters(job);
  int code = letters.send(native_rank(job, other), {name, mine});
  if (code == MPI_SUCCESS) code = receive_letter(job, native_rank(job, other), name, theirs);
  return code == MPI_SUCCESS ? letters.wait() : code;
}

}  // namespace impishim::shim
