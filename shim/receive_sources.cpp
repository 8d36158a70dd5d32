#include "shim/receive_sources.hpp"

#include <algorithm>
#include <span>

namespace impishim::shim {

void ReceiveSources::leave_row() {
  for (std::size_t i = row_begin_; i < row_end_; ++i) {
    const std::uintptr_t request = to_bits(row_requests_[i]);
    Kept& place = places_[place_of(request)];
    if (place.request == MPI_Request{}) {
      place = {row_requests_[i], row_sources_[i]};
    } else {
      crowded_.emplace(request, row_sources_[i]);
    }
  }
  placed_ += row_end_ - row_begin_;
  row_begin_ = row_end_ = 0;
}

void ReceiveSources::put_in_new_row(MPI_Request request, std::int32_t source) {
  leave_row();
  put(request, source);
}

std::int32_t ReceiveSources::find(MPI_Request request) {
  leave_row();
  const Kept& place = places_[place_of(to_bits(request))];
  if (place.request == request) return place.source;
  const auto found = crowded_.find(to_bits(request));
  return found == crowded_.end() ? kNone : found->second;
}

std::int32_t ReceiveSources::take_out_of_turn(MPI_Request request) {
  if (empty()) return kNone;
  leave_row();
  Kept& place = places_[place_of(to_bits(request))];
  std::int32_t source = kNone;
  if (place.request == request) {
    source = place.source;
    place = {};
  } else if (const auto found = crowded_.find(to_bits(request)); found != crowded_.end()) {
    source = found->second;
    crowded_.erase(found);
  }
  if (source != kNone) --placed_;
  return source;
}

void ReceiveSources::take_all(const MPI_Request* requests, std::span<std::int32_t> sources) {
  const std::span row = std::span(row_requests_).subspan(row_begin_, std::min(sources.size(), row_end_ - row_begin_));
  // Most are all in turn, which takes few instructions to find out.
  const bool in_turn = std::equal(row.begin(), row.end(), requests);
  const auto differs = in_turn ? row.end() : std::mismatch(row.begin(), row.end(), requests).first;
  auto i = static_cast<std::size_t>(differs - row.begin());
  std::copy_n(row_sources_.begin() + static_cast<std::ptrdiff_t>(row_begin_), i, sources.begin());
  row_begin_ += i;
  if (row_begin_ == row_end_) row_begin_ = row_end_ = 0;
  for (; i < sources.size(); ++i) sources[i] = take(requests[i]);
}

CompletingSources::CompletingSources(ReceiveSources& sources, int count, const MPI_Request* requests)
    : sources_(sources), requests_(requests), taken_(sources.empty() ? 0 : static_cast<std::size_t>(std::max(count, 0))) {
  sources_.take_all(requests_, taken_.all());
}

CompletingSources::~CompletingSources() {
  if (!given_back_) give_back();
}

void CompletingSources::give_back() {
  const MPI_Request* request = requests_;
  for (const std::int32_t source : taken_.all()) {
    if (*request != MPI_REQUEST_NULL && source != ReceiveSources::kNone) sources_.put(*request, source);
    ++request;
  }
}

void CompletingSources::name(std::int32_t source, MPI_Status& status) {
  // A persistent request that is inactive has the empty status, from MPI_ANY_SOURCE.
  if (source != ReceiveSources::kNone && status.MPI_SOURCE >= 0) status.MPI_SOURCE = source;
}

void CompletingSources::name(int index, MPI_Status* status) const {
  const auto i = static_cast<std::size_t>(index);  // MPI_UNDEFINED is more than any
  if (status != MPI_STATUS_IGNORE && i < taken_.all().size()) name(taken_.all()[i], *status);
}

void CompletingSources::name_all(MPI_Status* statuses) {
  int living = 0;
  for (std::size_t i = 0; i < taken_.all().size(); ++i) living += requests_[i] != MPI_REQUEST_NULL ? 1 : 0;
  given_back_ = living == 0;  // none lives on, as persistent ones do
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (const std::int32_t source : taken_.all()) name(source, *statuses++);
}

void CompletingSources::name_any(const int* index, MPI_Status* status) const {
  if (!taken_.all().empty() && index != nullptr) name(*index, status);
}

void CompletingSources::name_some(const int* outcount, const int* indices, MPI_Status* statuses) const {
  if (taken_.all().empty() || outcount == nullptr || indices == nullptr || statuses == MPI_STATUSES_IGNORE) return;
  const int count = std::min(*outcount, static_cast<int>(taken_.all().size()));
  for (int i = 0; i < count; ++i) name(indices[i], &statuses[i]);
}

}  // namespace impishim::shim
