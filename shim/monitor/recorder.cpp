// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/recorder.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/group/group.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/monitor/call_record.hpp"
#include "shim/monitor/recorded_call.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"
#include "wire/base/hash.hpp"
#include "wire/base/mutex.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Marks the numbers of communicators inside this system; those of others are context ids.
constexpr std::uint64_t kNativeGroup = 1ULL << 63U;

/// Returns the same number in all members: a hash of their world ranks, and of how many
/// communicators with the same members there were before.
std::uint64_t number_of_group(const wire::RankList& members, std::uint64_t count) {
  Fnv1a hash;
  for (const auto& [first, last] : members) {
    hash.add(static_cast<std::uint64_t>(first));
    hash.add(static_cast<std::uint64_t>(last));
  }
  hash.add(count);
  return hash.value() | kNativeGroup;
}

/// How a function makes a communicator of another one, for its name.
std::string_view way_of(std::string_view function) {
  constexpr std::pair<std::string_view, std::string_view> kWays[] = {
      {"dup", "dup"},     {"split_type", "split by type"},
      {"split", "split"}, {"Cart_sub", "subgrid"},
      {"Cart", "grid"},   {"raph", "graph"},
      {"merge", "merge"}, {"Intercomm", "intercommunicator"},
      {"create", "part"}, {"shrink", "survivors"},
  };
  for (const auto& [piece, way] : kWays) {
    if (function.find(piece) != std::string_view::npos) return way;
  }
  return "communicator";
}

/// The record of a thread, which ends with the thread.
struct ThreadRecord {
  const Recorder* owner = nullptr;
  CallRecord* record = nullptr;
  ~ThreadRecord() {
    if (record != nullptr) record->release();
  }
};
thread_local ThreadRecord thread_record;

bool is_complete(MPI_Request request) {
  if (is_own_request(request)) return request_pool().at(request).done.load();
  int flag = 0;
  return vendor::Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag != 0;
}

wire::MonitoredCall call_of(const RecordedContent& content, std::int64_t now_ns) {
  constexpr std::int64_t kMillisecond = 1000000;
  wire::MonitoredCall call;
  call.inside = content.inside;
  call.any_ends = content.any_ends;
  call.function = content.function;
  call.age_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - content.since_ns, 0) /
                                           kMillisecond);
  if (!content.inside) return call;
  call.awaited_count = content.count;
  for (std::size_t i = 0; i < content.listed(); ++i) {
    const RecordedWait& wait = content.waits[i];
    call.awaited.push_back({static_cast<wire::AwaitedKind>(wait.kind), wait.peer, wait.tag,
                            wait.group, wait.number,
                            wait.function == nullptr ? "" : wait.function});
  }
  return call;
}

}  // namespace

Recorder::Recorder(Job& job, bool answers, CallTimer* timer)
    : job_(job), answers_(answers), timer_(timer), trace_(job.trace) {
  const bool split = job.world == nullptr && job.joined_world != MPI_COMM_WORLD;
  insert(MPI_COMM_WORLD, split ? fmt::format("world of system {}", job.client) : "world");
  if (split) insert(job.joined_world, "joined world");
  insert(MPI_COMM_SELF, "self");
}

CallRecord* Recorder::record_of_thread() {
  if (thread_record.owner == this) [[likely]]
    return thread_record.record;
  if (thread_record.record != nullptr) thread_record.record->release();
  const MutexLock lock(mutex_);
  auto found = std::ranges::find_if(records_, [](CallRecord& each) { return each.take(); });
  CallRecord* record = found == records_.end() ? nullptr : &*found;
  if (record == nullptr && records_.size() < wire::kMostCalls) {
    record = &records_.emplace_back();
    static_cast<void>(record->take());
  }
  thread_record.owner = this;
  thread_record.record = record;
  return record;
}

RecordedGroup& Recorder::group(MPI_Comm comm) {
  RecordedGroup* known = by_handle_.find(comm);
  return known != nullptr ? *known : insert(comm, "communicator");
}

RecordedGroup& Recorder::insert(MPI_Comm comm, std::string name) {
  auto made = std::make_unique<RecordedGroup>();
  made->name = std::move(name);
  std::vector<wire::WorldRank> own;
  const Communicator* communicator = spanning(&job_, comm);
  if (communicator != nullptr) {
    made->id = communicator->context + 1;  // 0 stands for none
    made->peers = communicator->members;
    own = communicator->own_group();
  } else {
    int inter = 0;
    vendor::Comm_test_inter(comm, &inter);
    static_cast<void>(members_of_native(job_, comm, inter != 0, made->peers));
    if (inter != 0) static_cast<void>(members_of_native(job_, comm, false, own));
  }
  own.insert(own.end(), made->peers.begin(), made->peers.end());
  std::erase_if(own, [](wire::WorldRank rank) { return rank < 0; });
  made->members = wire::rank_list(std::move(own));
  const MutexLock lock(mutex_);
  if (communicator == nullptr)
    made->id = number_of_group(made->members, same_members_[made->members]++);
  RecordedGroup& group = *groups_.emplace_back(std::move(made));
  by_handle_.insert(comm, group);
  return group;
}

RecordedWait Recorder::message(RecordedWait::Kind kind, MPI_Comm comm, int peer, int tag) {
  RecordedWait wait;
  if (comm == MPI_COMM_NULL || peer == MPI_PROC_NULL) return wait;
  const RecordedGroup& known = group(comm);
  wait.group = known.id;
  wait.tag = tag == MPI_ANY_TAG ? -1 : tag;
  if (peer == MPI_ANY_SOURCE) {
    wait.kind = kind;
  } else if (peer >= 0 && static_cast<std::size_t>(peer) < known.peers.size() &&
             known.peers[static_cast<std::size_t>(peer)] >= 0) {
    wait.kind = kind;
    wait.peer = known.peers[static_cast<std::size_t>(peer)];
  }
  return wait;
}

RecordedWait Recorder::collective(const char* function, MPI_Comm comm) {
  RecordedWait wait;
  if (comm == MPI_COMM_NULL) return wait;
  RecordedGroup& known = group(comm);
  known.latest.store(function, std::memory_order_relaxed);
  wait.kind = RecordedWait::Kind::kCollective;
  wait.group = known.id;
  wait.number = known.begun.fetch_add(1, std::memory_order_release) + 1;
  return wait;
}

void Recorder::started(MPI_Request request, const char* function, RecordedWait wait) {
  if (request == MPI_REQUEST_NULL) return;
  wait.function = function;
  const MutexLock lock(requests_mutex_);
  requests_[to_bits(request)] = wait;
}

std::optional<RecordedWait> Recorder::started(MPI_Request request) {
  const MutexLock lock(requests_mutex_);
  const auto found = requests_.find(to_bits(request));
  if (found == requests_.end()) return std::nullopt;
  return found->second;
}

bool Recorder::spans(const RecordedWait& wait) { return (wait.group & kNativeGroup) == 0; }

void Recorder::add_requests(RecordedContent& content, int count, const MPI_Request* requests) {
  for (int i = 0; i < count && requests != nullptr; ++i) {
    const MPI_Request request = requests[i];
    if (request == MPI_REQUEST_NULL) continue;
    if (count > 1 && is_complete(request)) continue;
    const MutexLock lock(requests_mutex_);
    const auto found = requests_.find(to_bits(request));
    content.add(found == requests_.end() ? RecordedWait() : found->second);
  }
}

std::string Recorder::name_of_new(const char* function, MPI_Comm parent) {
  const std::string way(way_of(function));
  if (parent == MPI_COMM_NULL) return way;
  RecordedGroup& of = group(parent);
  const MutexLock lock(mutex_);
  const int number = ++of.children[way];
  return number == 1 ? fmt::format("{} of {}", way, of.name)
                     : fmt::format("{} {} of {}", way, number, of.name);
}

void Recorder::made(const char* function, MPI_Comm parent, MPI_Comm made) {
  const std::string name = name_of_new(function, parent);
  if (made != MPI_COMM_NULL) insert(made, name);
}

void Recorder::named(MPI_Comm comm, const char* name) {
  RecordedGroup& known = group(comm);
  const MutexLock lock(mutex_);
  known.name = fmt::format("\"{}\"", name);
}

RecordedGroup* Recorder::detach(MPI_Comm comm) {
  RecordedGroup* const known = by_handle_.find(comm);
  if (known != nullptr) by_handle_.erase(comm);
  return known;
}

void Recorder::attach(MPI_Comm comm, RecordedGroup& group) { by_handle_.insert(comm, group); }

void Recorder::forget(const RecordedGroup& group) {
  const MutexLock lock(mutex_);
  std::erase_if(groups_, [&group](const auto& each) { return each.get() == &group; });
}

std::string Recorder::name_of(std::uint64_t id) {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(groups_, [id](const auto& each) { return each->id == id; });
  return found == groups_.end() ? "" : (*found)->name;
}

void Recorder::describe(wire::ProcessState& state) {
  const std::int64_t now = monotonic_ns();
  const MutexLock lock(mutex_);
  for (const CallRecord& record : records_) {
    if (const auto content = record.read()) state.calls.push_back(call_of(*content, now));
  }
  // The calls first: a collective is counted before its call is recorded.
  for (const auto& each : groups_) {
    const char* latest = each->latest.load(std::memory_order_relaxed);
    state.groups.push_back({each->id, each->name, each->members,
                            each->begun.load(std::memory_order_acquire),
                            latest == nullptr ? "" : latest});
  }
}

std::int64_t monotonic_ns() {
  timespec now{};
  // A few nanoseconds, and good to some milliseconds.
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  constexpr std::int64_t kSecond = 1000000000;
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace impishim::shim
