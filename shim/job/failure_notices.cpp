// SPDX-License-Identifier: Apache-2.0
#include "shim/job/failure_notices.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// The tag of notices on the private communicator. Other messages there have lower ones.
constexpr int kNoticeTag = 32767;
/// Limits of the notices that a process holds. A process that reaches them fails without pause, and
/// nothing waits for it but itself.
constexpr std::size_t kMostSent = 1024;
constexpr std::size_t kMostKept = 4096;

}  // namespace

void FailureNotices::tell(Job& job, const Communicator& communicator, const FailureNotice& notice) {
  const MutexLock lock(mutex_);
  // Reading keeps the number of messages small that wait here while all members fail again and
  // again.
  receive_from_engine(job);
  receive_from_vendor(job);
  drop_sent();
  const FailureNoticeBytes bytes = encode(notice);
  const auto send_to_all = [&](const std::vector<wire::WorldRank>& group)
                               IMPISHIM_REQUIRES(mutex_) {
                                 for (const wire::WorldRank member : group) {
                                   const bool here = job.map.proc(member).client == job.client;
                                   if (here || notice.kind != FailureNotice::Kind::kLeft)
                                     send(job, member, bytes);
                                 }
                               };
  send_to_all(communicator.members);
  if (communicator.inter != nullptr) send_to_all(communicator.inter->local->members);
}

void FailureNotices::send(Job& job, wire::WorldRank to, const FailureNoticeBytes& bytes) {
  const std::int32_t client = job.map.proc(to).client;
  if (to == job.here || sent_.size() >= kMostSent) return;
  Outgoing& outgoing = sent_.emplace_back();
  outgoing.bytes = bytes;
  if (client == job.client) {
    const Communicator& all = *job.communicators.find(job.joined_world);
    vendor::Isend(outgoing.bytes.data(), static_cast<int>(kFailureNoticeSize), MPI_BYTE,
                  all.local_rank(to), kNoticeTag, job.private_comm, &outgoing.request);
    return;
  }
  outgoing.send.destination = to;
  outgoing.send.context = wire::kLibraryContext;
  outgoing.send.source_rank = job.here;
  outgoing.send.buffer = {outgoing.bytes.data(), kFailureNoticeSize,
                          &wire::TypeLayout::basic(wire::BasicType::kByte)};
  job.engine->start(outgoing.send);
}

void FailureNotices::drop_sent() {
  std::erase_if(sent_, [](Outgoing& outgoing) {
    int complete = 1;
    if (outgoing.request != MPI_REQUEST_NULL &&
        vendor::Test(&outgoing.request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return true;
    return complete != 0 && outgoing.send.complete();
  });
}

void FailureNotices::poll(Job& job) {
  const MutexLock lock(mutex_);
  receive_from_engine(job);
  receive_from_vendor(job);
}

void FailureNotices::post_receive(Job& job) {
  incoming_->bytes = {};
  incoming_->receive.context = wire::kLibraryContext;
  incoming_->receive.source = wire::kAnySource;
  incoming_->receive.tag = wire::kAnyTag;
  incoming_->receive.buffer = {incoming_->bytes.data(), kFailureNoticeSize,
                               &wire::TypeLayout::basic(wire::BasicType::kByte)};
  job.engine->start(incoming_->receive);
}

void FailureNotices::receive_from_engine(Job& job) {
  if (stopped_) return;
  if (incoming_ == nullptr) {
    incoming_ = std::make_unique<Incoming>();
    post_receive(job);
  }
  while (job.engine->carried_out(incoming_->receive)) {
    if (!incoming_->receive.result.error) keep_notice(job, incoming_->bytes);
    post_receive(job);
  }
}

void FailureNotices::receive_from_vendor(const Job& job) {
  FailureNoticeBytes bytes;
  for (;;) {
    int arrived = 0;
    MPI_Status status;
    if (vendor::Iprobe(MPI_ANY_SOURCE, kNoticeTag, job.private_comm, &arrived, &status) !=
            MPI_SUCCESS ||
        arrived == 0)
      return;
    if (vendor::Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, status.MPI_SOURCE,
                     kNoticeTag, job.private_comm, MPI_STATUS_IGNORE) == MPI_SUCCESS)
      keep_notice(job, bytes);
  }
}

void FailureNotices::keep_notice(const Job& job, const FailureNoticeBytes& bytes) {
  auto notice = decode_failure_notice(bytes);
  if (!notice || notices_.size() + left_.size() + revocations_.size() >= kMostKept) return;
  if (notice->kind == FailureNotice::Kind::kLeft) {
    const bool known = notice->origin >= 0 && notice->origin < job.map.size();
    if (known && job.map.proc(notice->origin).client == job.client) left_.insert(notice->context);
    return;
  }
  auto& kept = notice->kind == FailureNotice::Kind::kRevoked ? revocations_ : notices_;
  kept.push_back(std::move(*notice));
}

bool FailureNotices::was_left(Job& job, wire::ContextId context) {
  const MutexLock lock(mutex_);
  receive_from_engine(job);
  receive_from_vendor(job);
  return left_.contains(context);
}

std::vector<FailureNotice> FailureNotices::take_revocations() {
  const MutexLock lock(mutex_);
  return std::exchange(revocations_, {});
}

std::vector<FailureNotice> FailureNotices::take(wire::ContextId context) {
  const MutexLock lock(mutex_);
  const auto others =
      std::stable_partition(notices_.begin(), notices_.end(),
                            [&](const FailureNotice& notice) { return notice.context == context; });
  std::vector<FailureNotice> taken(std::make_move_iterator(notices_.begin()),
                                   std::make_move_iterator(others));
  notices_.erase(notices_.begin(), others);
  return taken;
}

void FailureNotices::put_back(FailureNotice revocation) {
  const MutexLock lock(mutex_);
  revocations_.push_back(std::move(revocation));
}

void FailureNotices::forget(wire::ContextId context) {
  const MutexLock lock(mutex_);
  const auto is_for_it = [&](const FailureNotice& notice) { return notice.context == context; };
  std::erase_if(notices_, is_for_it);
  std::erase_if(revocations_, is_for_it);
  left_.erase(context);
}

void FailureNotices::keep(std::shared_ptr<const void> given_up) {
  const MutexLock lock(mutex_);
  given_up_.push_back(std::move(given_up));
}

void FailureNotices::stop(Job& job) {
  const MutexLock lock(mutex_);
  receive_from_vendor(job);  // MPICH complains of messages that nothing has received
  stopped_ = true;
  if (incoming_ != nullptr) job.engine->cancel(incoming_->receive);
}

}  // namespace impishim::shim
