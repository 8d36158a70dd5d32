#include "shim/receive_sources.hpp"

#include <algorithm>
#include <utility>

namespace impishim::shim {

std::size_t ReceiveSources::place_of(MPI_Request request) const {
  std::size_t place = home_of(request);
  while (slots_[place].request != 0 && slots_[place].request != to_bits(request)) place = behind(place);
  return place;
}

void ReceiveSources::put(MPI_Request request, std::int32_t source) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  slots_[place_of(request)] = {to_bits(request), source};
  ++used_;
}

std::int32_t ReceiveSources::find(MPI_Request request) const {
  if (used_ == 0) return kNone;
  return slots_[place_of(request)].source;
}

std::int32_t ReceiveSources::take(MPI_Request request) {
  if (used_ == 0) return kNone;
  const std::size_t place = place_of(request);
  const std::int32_t source = slots_[place].source;
  if (slots_[place].request == 0) return kNone;
  --used_;
  close_gap(place);
  return source;
}

/// Moves what stands behind a gap into it, unless that would be before its home.
void ReceiveSources::close_gap(std::size_t gap) {
  for (std::size_t place = behind(gap); slots_[place].request != 0; place = behind(place)) {
    const std::size_t home = home_of(from_bits<MPI_Request>(slots_[place].request));
    const std::size_t mask = slots_.size() - 1;
    if (((place - home) & mask) < ((place - gap) & mask)) continue;
    slots_[gap] = slots_[place];
    gap = place;
  }
  slots_[gap] = {};
}

void ReceiveSources::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(std::max(kFirstSlots, 2 * slots_.size())));
  for (const Slot& slot : old) {
    if (slot.request != 0) slots_[place_of(from_bits<MPI_Request>(slot.request))] = slot;
  }
}

CompletingSources::CompletingSources(ReceiveSources& sources, int count, const MPI_Request* requests)
    : sources_(sources), requests_(requests), taken_(sources.empty() ? 0 : static_cast<std::size_t>(std::max(count, 0))) {
  std::ranges::transform(requests_, requests_ + taken_.all().size(), taken_.all().begin(),
                         [&](MPI_Request request) { return sources_.take(request); });
}

CompletingSources::~CompletingSources() {
  const MPI_Request* request = requests_;
  for (const std::int32_t source : taken_.all()) {
    if (source != ReceiveSources::kNone && *request != MPI_REQUEST_NULL) sources_.put(*request, source);
    ++request;
  }
}

void CompletingSources::name(int index, MPI_Status* status) const {
  const auto i = static_cast<std::size_t>(index);  // MPI_UNDEFINED is more than any
  if (status == MPI_STATUS_IGNORE || i >= taken_.all().size() || taken_.all()[i] == ReceiveSources::kNone) return;
  // A persistent request that is inactive has the empty status, from MPI_ANY_SOURCE.
  if (status->MPI_SOURCE >= 0) status->MPI_SOURCE = taken_.all()[i];
}

void CompletingSources::name_all(MPI_Status* statuses) const {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (int i = 0; i < static_cast<int>(taken_.all().size()); ++i) name(i, &statuses[i]);
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
