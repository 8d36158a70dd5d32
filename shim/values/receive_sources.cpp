// SPDX-License-Identifier: Apache-2.0
#include "shim/values/receive_sources.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include "shim/handle/handle_bits.hpp"

namespace impishim::shim {
namespace {

/// Returns true if any request is not null. The loop counts them and has no early exit, so that it
/// becomes vector instructions.
bool any_lives(std::size_t count, const MPI_Request* requests) {
  int living = 0;
  for (std::size_t i = 0; i < count; ++i) living += requests[i] != MPI_REQUEST_NULL ? 1 : 0;
  return living != 0;
}

}  // namespace

void ReceiveSources::put_in_place(MPI_Request request, std::int32_t offset) {
  const std::uintptr_t bits = to_bits(request);
  Kept& place = places_[place_of(bits)];
  if (place.request == MPI_Request{}) {
    place = {request, offset};
  } else {
    crowded_.emplace(bits, offset);
  }
  ++placed_;
}

void ReceiveSources::leave_row() {
  for (std::size_t i = row_begin_; i < row_end_; ++i) put_in_place(row_[i], row_offset_);
  row_begin_ = row_end_ = 0;
}

void ReceiveSources::put_in_new_row(MPI_Request request) {
  leave_row();
  put_of_world(request);
}

std::int32_t ReceiveSources::find(MPI_Request request) {
  leave_row();
  const Kept& place = places_[place_of(to_bits(request))];
  if (place.request == request) return place.offset;
  const auto found = crowded_.find(to_bits(request));
  return found == crowded_.end() ? kNone : found->second;
}

std::int32_t ReceiveSources::take_out_of_turn(MPI_Request request) {
  if (empty()) return kNone;
  leave_row();
  Kept& place = places_[place_of(to_bits(request))];
  std::int32_t offset = kNone;
  if (place.request == request) {
    offset = place.offset;
    place = {};
  } else if (const auto found = crowded_.find(to_bits(request)); found != crowded_.end()) {
    offset = found->second;
    crowded_.erase(found);
  }
  if (offset != kNone) --placed_;
  return offset;
}

bool ReceiveSources::take_in_turn(int count, const MPI_Request* requests) {
  // A negative count becomes larger than any row.
  const auto wanted = static_cast<std::size_t>(count);
  if (wanted == 0 || wanted > row_end_ - row_begin_) return false;
  if (!std::equal(requests, requests + wanted,
                  row_.begin() + static_cast<std::ptrdiff_t>(row_begin_)))
    return false;
  row_begin_ += wanted;
  forget_empty_row();
  return true;
}

CompletingSources::CompletingSources(ReceiveSources& sources, int count,
                                     const MPI_Request* requests)
    : sources_(sources),
      requests_(requests),
      taken_(sources.empty() ? 0 : static_cast<std::size_t>(std::max(count, 0))) {
  for (std::int32_t& offset : taken_.all()) offset = sources_.take(*requests++);
}

CompletingSources::~CompletingSources() {
  if (!given_back_) give_back();
}

void CompletingSources::give_back() {
  const MPI_Request* request = requests_;
  for (const std::int32_t offset : taken_.all()) {
    if (*request != MPI_REQUEST_NULL) sources_.put_to_stay(*request, offset);
    ++request;
  }
}

void CompletingSources::name(int index, MPI_Status* status) const {
  const auto i = static_cast<std::size_t>(index);  // MPI_UNDEFINED becomes larger than any index
  if (status != MPI_STATUS_IGNORE && i < taken_.all().size()) name_source(taken_.all()[i], *status);
}

void CompletingSources::name_all(MPI_Status* statuses) {
  // No request stays alive, as a persistent one does.
  given_back_ = !any_lives(taken_.all().size(), requests_);
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (const std::int32_t offset : taken_.all()) name_source(offset, *statuses++);
}

void CompletingSources::name_any(const int* index, MPI_Status* status) const {
  if (!taken_.all().empty() && index != nullptr) name(*index, status);
}

void CompletingSources::name_some(const int* outcount, const int* indices,
                                  MPI_Status* statuses) const {
  if (taken_.all().empty() || outcount == nullptr || indices == nullptr ||
      statuses == MPI_STATUSES_IGNORE)
    return;
  const int count = std::min(*outcount, static_cast<int>(taken_.all().size()));
  for (int i = 0; i < count; ++i) name(indices[i], &statuses[i]);
}

void finish_in_turn(int code, ReceiveSources& sources, int count, const MPI_Request* requests,
                    MPI_Status* statuses) {
  const auto size = static_cast<std::size_t>(count);
  const std::int32_t offset = sources.world_offset();
  if (code != MPI_SUCCESS) [[unlikely]] {
    for (const MPI_Request request : std::span(requests, size)) {
      if (request != MPI_REQUEST_NULL) sources.put_to_stay(request, offset);
    }
  }
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (MPI_Status& status : std::span(statuses, size)) name_source(offset, status);
}

}  // namespace impishim::shim
