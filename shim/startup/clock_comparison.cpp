// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/clock_comparison.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shim/completion/wait.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/base/bytes.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/trace/clock_line.hpp"
#include "wire/trace/trace.hpp"  // IWYU pragma: keep

namespace impishim::shim {
namespace {

/// The tag of these messages inside a system, on the library's own communicator.
constexpr int kClockTag = 3;
/// The number of questions to the first process. The answer that takes the shortest time counts.
constexpr std::size_t kQuestions = 10;

constexpr std::size_t kTimeBytes = 8;
using TimeBytes = std::array<std::byte, kTimeBytes>;

/// Returns true if processes may be missing: a collective of all was given up, or a system is lost.
/// All processes learn of it, not at the same time, so each wait ends with it.
bool is_given_up(const Job& job) {
  const Communicator* const all = job.communicators.find(job.joined_world);
  return job.lost_systems.load() != 0 || (all != nullptr && all->broken.load());
}

/// Exchanges times with one process.
class TimeExchange {
 public:
  TimeExchange(Job& job, wire::WorldRank peer) : job_(job), peer_(peer) {}

  /// Sends a time. Returns false if that fails.
  [[nodiscard]] bool send(std::int64_t time);
  /// Receives a time into `time`. Returns false if that fails.
  [[nodiscard]] bool receive(std::int64_t& time);

 private:
  [[nodiscard]] bool is_near() const { return job_.map.proc(peer_).client == job_.client; }
  [[nodiscard]] int native_rank() const { return peer_ - job_.map.client(job_.client).first_proc; }
  [[nodiscard]] bool complete(MPI_Request request);
  [[nodiscard]] bool receive_bytes(TimeBytes& bytes);

  Job& job_;
  wire::WorldRank peer_;
};

/// Completes a request of the vendor's, or cancels it when the comparison is given up. Returns true
/// if it carried a message.
bool TimeExchange::complete(MPI_Request request) {
  int code = MPI_SUCCESS;
  bool cancelled = false;
  drive_until(job_, true, [&] {
    if (!cancelled && is_given_up(job_)) {
      cancelled = true;
      vendor::Cancel(&request);
    }
    int flag = 0;
    code = vendor::Test(&request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag != 0;
  });
  return code == MPI_SUCCESS && !cancelled;
}

bool TimeExchange::send(std::int64_t time) {
  ByteWriter writer;
  writer.put(time);
  const std::vector<std::byte> bytes = writer.take();
  if (is_near()) {
    MPI_Request request = MPI_REQUEST_NULL;
    vendor::Isend(bytes.data(), static_cast<int>(kTimeBytes), MPI_BYTE, native_rank(), kClockTag,
                  job_.private_comm, &request);
    return poll_native(job_, request) == MPI_SUCCESS;
  }
  wire::SendOperation operation;
  operation.destination = peer_;
  operation.context = wire::kClockContext;
  operation.source_rank = job_.here;
  operation.buffer = {bytes.data(), kTimeBytes, &wire::TypeLayout::basic(wire::BasicType::kByte)};
  job_.engine->start(operation);
  drive_until(job_, false, [&] { return operation.complete(); });
  return !operation.result.error;
}

bool TimeExchange::receive_bytes(TimeBytes& bytes) {
  if (is_near()) {
    MPI_Request request = MPI_REQUEST_NULL;
    vendor::Irecv(bytes.data(), static_cast<int>(kTimeBytes), MPI_BYTE, native_rank(), kClockTag,
                  job_.private_comm, &request);
    return complete(request);
  }
  wire::ReceiveOperation operation;
  operation.context = wire::kClockContext;
  operation.source = peer_;
  operation.tag = wire::kAnyTag;
  operation.buffer = {bytes.data(), kTimeBytes, &wire::TypeLayout::basic(wire::BasicType::kByte)};
  job_.engine->start(operation);
  drive_until(job_, false, [&] {
    if (!operation.complete() && is_given_up(job_)) job_.engine->cancel(operation);
    return operation.complete();
  });
  return !operation.result.error && !operation.result.cancelled;
}

bool TimeExchange::receive(std::int64_t& time) {
  TimeBytes bytes{};
  if (!receive_bytes(bytes)) return false;
  ByteReader reader(bytes);
  const auto value = reader.get<std::int64_t>();
  time = *value;
  return true;
}

/// Answers the questions of one process with this process's time.
void answer(Job& job, wire::WorldRank rank) {
  TimeExchange exchange(job, rank);
  std::int64_t asked = 0;
  bool works = exchange.send(0);  // its turn
  for (std::size_t i = 0; i < kQuestions && works; ++i)
    works = exchange.receive(asked) && exchange.send(job.trace->now_ns());
}

/// Asks the first process, when it is this one's turn.
void ask(Job& job, wire::WorldRank first) {
  TimeExchange exchange(job, first);
  std::int64_t turn = 0;
  bool works = exchange.receive(turn);
  std::vector<wire::ClockAnswer> answers;
  for (std::size_t i = 0; i < kQuestions && works; ++i) {
    wire::ClockAnswer answer;
    answer.asked_ns = job.trace->now_ns();
    works = exchange.send(answer.asked_ns) && exchange.receive(answer.answered_ns);
    answer.heard_ns = job.trace->now_ns();
    if (works) answers.push_back(answer);
  }
  if (const auto sample = wire::compare_clocks(answers)) job.trace->measured(*sample);
}

/// Answers the questions of all other processes that trace, one after the other.
void answer_all(Job& job) {
  const std::int64_t now = job.trace->now_ns();
  job.trace->measured({now, 0, 0});
  for (const wire::Client& client : job.map.at_start().clients()) {
    if (!client.traits.traces) continue;
    for (std::int32_t i = 0; i < client.proc_count; ++i) {
      if (client.first_proc + i != job.here) answer(job, client.first_proc + i);
    }
  }
}

}  // namespace

void compare_clocks(Job& job) {
  const wire::JobMap& map = job.map.at_start();
  if (job.trace == nullptr || !map.client(job.client).traits.traces || is_given_up(job)) return;
  const auto& clients = map.clients();
  const wire::WorldRank first = std::ranges::find_if(clients, [](const wire::Client& each) {
                                  return each.traits.traces;
                                })->first_proc;
  if (job.here == first) {
    answer_all(job);
  } else {
    ask(job, first);
  }
}

}  // namespace impishim::shim
