#include "shim/creation_order.hpp"

#include "shim/job.hpp"
#include "shim/vendor.hpp"
#include "shim/wait.hpp"

namespace impishim::shim {

bool CreationOrder::begin_duplication() {
  const std::lock_guard lock(mutex_);
  if (holders_ != 0) return false;
  ++under_way_;
  return true;
}

void CreationOrder::end_duplication() {
  const std::lock_guard lock(mutex_);
  --under_way_;
}

std::uint64_t CreationOrder::hold() {
  const std::lock_guard lock(mutex_);
  ++holders_;
  return under_way_;
}

void CreationOrder::release() {
  const std::lock_guard lock(mutex_);
  --holders_;
}

bool CreationOrder::none_under_way() {
  const std::lock_guard lock(mutex_);
  return under_way_ == 0;
}

int greatest_among(Job& job, MPI_Comm among, std::uint64_t& value) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = vendor::Iallreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, among, &request);
  return code == MPI_SUCCESS ? poll_native(job, request) : code;
}

BlockingCreation::BlockingCreation(Job& job, const GreatestOfLocal& greatest) : job_(job) { enter(greatest); }

BlockingCreation::BlockingCreation(Job& job, const Communicator& parent) : job_(job) {
  const MPI_Comm among = parent.inter == nullptr ? parent.companion : parent.inter->both->handle;
  enter([&job, among](std::uint64_t& value) { return greatest_among(job, among, value); });
}

BlockingCreation::~BlockingCreation() { job_.creation_order.release(); }

/// While a duplication of some process is waited for, all others must be free to begin theirs: it may be the same one. So they
/// are held up only while the processes ask each other, and once the answer is that there is none.
void BlockingCreation::enter(const GreatestOfLocal& greatest) {
  CreationOrder& order = job_.creation_order;
  for (;;) {
    std::uint64_t under_way = order.hold();
    code_ = greatest(under_way);
    if (code_ != MPI_SUCCESS || under_way == 0) return;
    order.release();
    drive_until(job_, true, [&order] { return order.none_under_way(); });
    std::uint64_t nothing = 0;
    code_ = greatest(nothing);
    if (code_ == MPI_SUCCESS) continue;
    static_cast<void>(order.hold());  // for the destructor
    return;
  }
}

}  // namespace impishim::shim
