// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/vendor_phase.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "shim/coll/vendor_local_group.hpp"
#include "shim/datatype/element_type.hpp"
#include "shim/datatype/vendor_count.hpp"
#include "shim/vendor.hpp"
#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;

bool VendorPhase::done() {
  if (task_) return task_->step();
  if (!request_done() || !messages_done()) return false;
  if (code == MPI_SUCCESS && finish_) std::exchange(finish_, nullptr)();
  return true;
}

void VendorPhase::keep_first(int new_code) {
  if (code == MPI_SUCCESS) code = new_code;
}

/// Tests the vendor's collective. A failed one is done.
bool VendorPhase::request_done() {
  if (request == MPI_REQUEST_NULL) return true;
  int complete = 0;
  const int test_code = vendor::Test(&request, &complete, MPI_STATUS_IGNORE);
  keep_first(test_code);
  if (test_code != MPI_SUCCESS) request = MPI_REQUEST_NULL;
  return complete != 0 || test_code != MPI_SUCCESS;
}

/// Tests the messages. If one fails, the others still use their buffers until they are complete.
bool VendorPhase::messages_done() {
  while (!messages_.empty()) {
    int complete = 0;
    const int test_code = test_message(complete);
    keep_first(test_code);
    // One test progresses all messages, so the first pending message ends the round.
    if (complete == 0 && test_code == MPI_SUCCESS) return false;
    messages_.pop_back();
  }
  return true;
}

int VendorPhase::test_message(int& complete) {
  if (expected_ == 0 && told_ == nullptr)
    return vendor::Test(&messages_.back(), &complete, MPI_STATUS_IGNORE);
  MPI_Status status;
  const int test_code = vendor::Test(&messages_.back(), &complete, &status);
  if (complete == 0 && test_code == MPI_SUCCESS) return test_code;
  // No vendor reports the size of a message that is too long.
  int bytes = static_cast<int>(expected_);
  if (test_code == MPI_SUCCESS) vendor::Get_count(&status, MPI_BYTE, &bytes);
  if (told_ != nullptr) *told_ = {static_cast<std::uint64_t>(bytes), status.MPI_TAG == kPhaseTag};
  too_little_ = static_cast<std::uint64_t>(bytes) < expected_;
  return test_code;
}

void VendorPhase::send(const ConstData& data, std::int32_t to, std::int32_t tag) {
  post_send(data.base, data.count, datatype_of(*data.type), to, tag);
}

void VendorPhase::send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) {
  post_send(bytes.data(), bytes.size(), MPI_BYTE, to, tag);
}

void VendorPhase::receive(const Data& room, std::int32_t from, std::int32_t tag) {
  post_receive(room.base, room.count, datatype_of(*room.type), from, tag);
}

void VendorPhase::receive(std::span<std::byte> room, std::int32_t from, std::int32_t tag) {
  post_receive(room.data(), room.size(), MPI_BYTE, from, tag);
}

void VendorPhase::post_send(const void* base, std::uint64_t count, MPI_Datatype type, int to,
                            int tag) {
  if (code != MPI_SUCCESS) return;
  const VendorCount elements(count, type);
  code = vendor::Isend(base, elements.count(), elements.type(), to, tag, group_.companion_,
                       &messages_.emplace_back(MPI_REQUEST_NULL));
}

void VendorPhase::post_receive(void* base, std::uint64_t count, MPI_Datatype type, int from,
                               int tag) {
  if (code != MPI_SUCCESS) return;
  IMPISHIM_ASSERT(receives_ == messages_.size());
  ++receives_;
  const VendorCount elements(count, type);
  code = vendor::Irecv(base, elements.count(), elements.type(), from,
                       tag == collectives::kAnyTag ? MPI_ANY_TAG : tag, group_.companion_,
                       &messages_.emplace_back(MPI_REQUEST_NULL));
}

void VendorPhase::give_up() {
  if (team_) team_->transport.give_up();
  for (std::size_t i = 0; i < std::min(receives_, messages_.size()); ++i) {
    int complete = 0;
    if (vendor::Test(&messages_[i], &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
      vendor::Cancel(&messages_[i]);
  }
}

bool VendorPhase::is_quiet() {
  if (team_ && !team_->transport.is_quiet()) return false;
  if (!request_done()) return false;
  const std::size_t number = std::min(receives_, messages_.size());
  return std::all_of(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(number),
                     [](MPI_Request& message) {
                       int complete = 0;
                       const int test_code = vendor::Test(&message, &complete, MPI_STATUS_IGNORE);
                       return complete != 0 || test_code != MPI_SUCCESS;
                     });
}

Result<void> VendorPhase::outcome() {
  const int outcome_code = team_ ? team_->transport.first_code() : code;
  Result<void> of_task = task_ ? task_->outcome() : Result<void>();
  if (too_little_) {
    of_task =
        Error{ErrorKind::kTooLittle,
              "message sizes do not match across processes: less has come than was asked for"};
  }
  if (group_.first_code_ == MPI_SUCCESS) group_.first_code_ = outcome_code;
  group_.phases_.erase(place);  // destroys this object
  if (outcome_code == MPI_SUCCESS) return of_task;
  return Error{ErrorKind::kSystem, "the phase inside this system failed"};
}

}  // namespace impishim::shim
