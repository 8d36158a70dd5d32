// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "darray/schedule/detail/exchange.hpp"

namespace impishim::darray {
namespace {

constexpr Index kLargestChunk = Index{1} << 30;

// Adds the messages for a peer: one, or as many as the limit of `most` elements requires.
void add_parcels(std::vector<MessagePiece>& parcels, int peer, const Selection& elements,
                 Index most) {
  if (elements.size() <= most) {
    if (!elements.empty()) parcels.push_back({peer, elements});
    return;
  }
  for (Index from = 0; from < elements.size(); from += most) {
    parcels.push_back({peer, elements.slice(from, std::min(most, elements.size() - from))});
  }
}

}  // namespace

void ScheduleOptions::require() const {
  if (chunk_bytes < 1 || chunk_bytes > kLargestChunk) {
    fail(ErrorKind::kArgument, "chunks of {} bytes: from 1 to {} are possible", chunk_bytes,
         kLargestChunk);
  }
}

Statistics& Statistics::operator+=(const Statistics& other) {
  messages += other.messages;
  bytes += other.bytes;
  received_messages += other.received_messages;
  received_bytes += other.received_bytes;
  local_bytes += other.local_bytes;
  crossing_messages += other.crossing_messages;
  crossing_bytes += other.crossing_bytes;
  peers += other.peers;
  workspace_bytes += other.workspace_bytes;
  direct_bytes += other.direct_bytes;
  return *this;
}

CombineFunction Combiner::function(const Element& element) const {
  if (function_) return function_;
  CombineFunction function = combine_function(operation_, element.scalar);
  if (!function || element.items == 1) return function;
  return [function = std::move(function), items = element.items](
             std::byte* into, const std::byte* from, Index count) {
    function(into, from, count * items);
  };
}

Schedule::Schedule(MPI_Comm comm, Element element, ScheduleOptions options)
    : Schedule(Communicator(comm), element, options) {}

Schedule::Schedule(const Communicator& communicator, Element element, ScheduleOptions options)
    : communicator_(communicator),
      element_(element),
      options_(options),
      tag_(communicator_.next_tag()) {
  options_.require();
}

Schedule::~Schedule() = default;
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;

void Schedule::require_open() const {
  if (built_) fail(ErrorKind::kArgument, "nothing can be added to a schedule after build()");
}

Schedule::Flow& Schedule::flow(int peer) {
  require_open();
  if (peer < 0 || peer >= communicator_.size()) {
    fail(ErrorKind::kArgument, "rank {} is no peer: there are {} ranks", peer,
         communicator_.size());
  }
  return flows_[peer];
}

void Schedule::add_send(int peer, Selection elements) { flow(peer).sent.add(std::move(elements)); }

void Schedule::add_receive(int peer, Selection elements) {
  flow(peer).received.add(std::move(elements));
}

void Schedule::add_local(Selection source, Selection destination) {
  require_open();
  if (source.size() != destination.size()) {
    fail(ErrorKind::kShape, "a local copy of {} elements to {}", source.size(), destination.size());
  }
  if (!source.empty()) local_.emplace_back(std::move(source), std::move(destination));
}

void Schedule::build() {
  require_open();
  check_totals();
  if (const auto self = flows_.find(communicator_.rank()); self != flows_.end()) {
    add_local(std::move(self->second.sent), std::move(self->second.received));
    flows_.erase(self);
  }
  built_ = true;
  count();
}

void Schedule::check_totals() {
  if (options_.checks == Checks::kOff) return;
  agree_on(communicator_, options_.checks, [&] {
    CollectiveCall call("schedule");
    return call.with("element", element_)
        .with("chunk_bytes", options_.chunk_bytes)
        .with("ordered", options_.ordered);
  });
  const auto size = static_cast<std::size_t>(communicator_.size());
  std::vector<Index> sent(size, 0);
  std::vector<Index> expected(size, 0);
  for (const auto& [peer, flow] : flows_) sent[static_cast<std::size_t>(peer)] = flow.sent.size();
  check_mpi(MPI_Alltoall(sent.data(), 1, MPI_INT64_T, expected.data(), 1, MPI_INT64_T,
                         communicator_.get()),
            "MPI_Alltoall");
  agreed(communicator_, options_.checks, "totals of a schedule", [&] {
    for (int peer = 0; peer < communicator_.size(); ++peer) {
      const auto found = flows_.find(peer);
      const Index received = found == flows_.end() ? 0 : found->second.received.size();
      if (received != expected[static_cast<std::size_t>(peer)]) {
        fail(ErrorKind::kLayout,
             "{} elements are expected of rank {}, which sends {}: both sides of a schedule must "
             "name as many",
             received, peer, expected[static_cast<std::size_t>(peer)]);
      }
    }
  });
}

void Schedule::count() {
  const auto bytes = [this](const Selection& elements) {
    return elements.size() * static_cast<Index>(element_.size);
  };
  const Index most = elements_per_message(1);
  for (const auto& [peer, flow] : flows_) {
    if (flow.sent.empty() && flow.received.empty()) continue;
    ++statistics_.peers;
    const Index sent = (flow.sent.size() + most - 1) / most;
    statistics_.messages += sent;
    statistics_.bytes += bytes(flow.sent);
    statistics_.received_messages += (flow.received.size() + most - 1) / most;
    statistics_.received_bytes += bytes(flow.received);
    if (communicator_.systems().crosses(communicator_.rank(), peer)) {
      statistics_.crossing_messages += sent;
      statistics_.crossing_bytes += bytes(flow.sent);
    }
  }
  for (const auto& [source, destination] : local_) statistics_.local_bytes += bytes(source);
  const Exchange& forward = exchange(false, 1, false);
  statistics_.workspace_bytes = static_cast<Index>(forward.workspace_bytes());
  statistics_.direct_bytes = static_cast<Index>(forward.direct_bytes());
}

Index Schedule::elements_per_message(int arrays) const {
  return std::max<Index>(1, options_.chunk_bytes / static_cast<Index>(element_.size) / arrays);
}

Exchange& Schedule::exchange(bool backward, int arrays, bool combining) {
  auto& known = exchanges_[{backward, arrays, combining}];
  if (known != nullptr) return *known;
  const Index most = elements_per_message(arrays);
  std::vector<MessagePiece> outgoing;
  std::vector<MessagePiece> incoming;
  for (const auto& [peer, flow] : flows_) {
    add_parcels(outgoing, peer, backward ? flow.received : flow.sent, most);
    add_parcels(incoming, peer, backward ? flow.sent : flow.received, most);
  }
  std::vector<std::pair<Selection, Selection>> back;
  if (backward) {
    for (const auto& [source, destination] : local_) back.emplace_back(destination, source);
  }
  // Values are combined in a fixed order, so that the rounding is the same each time.
  const ExchangeForm form{arrays, combining, combining || options_.ordered, options_.bounded};
  known = std::make_unique<Exchange>(communicator_, element_, tag_, form, std::move(outgoing),
                                     std::move(incoming), backward ? back : local_);
  return *known;
}

void Schedule::begin(std::span<const void* const> from, std::span<void* const> to,
                     const Combiner& combine, bool backward) {
  if (!built_) fail(ErrorKind::kArgument, "a schedule is executed before build()");
  if (active_ != nullptr)
    fail(ErrorKind::kArgument, "an execution of this schedule is in progress: wait for it first");
  if (from.size() != to.size() || from.empty()) {
    fail(ErrorKind::kArgument,
         "{} sources and {} destinations: a round needs as many of both, and at least one",
         from.size(), to.size());
  }
  const CombineFunction function = combine.function(element_);
  Exchange& chosen = exchange(backward, static_cast<int>(from.size()), static_cast<bool>(function));
  chosen.start(from, to, function);
  active_ = &chosen;
}

void Schedule::start(std::span<const void* const> sources, std::span<void* const> destinations,
                     const Combiner& combine) {
  begin(sources, destinations, combine, false);
}

void Schedule::start_backward(std::span<void* const> sources,
                              std::span<const void* const> destinations, const Combiner& combine) {
  begin(destinations, sources, combine, true);
}

bool Schedule::test() {
  if (active_ == nullptr) return true;
  // An execution that throws is complete.
  Exchange* const running = std::exchange(active_, nullptr);
  if (running->progress(false)) return true;
  active_ = running;
  return false;
}

void Schedule::wait() {
  if (active_ != nullptr) std::exchange(active_, nullptr)->progress(true);
}

void Schedule::execute(std::span<const void* const> sources, std::span<void* const> destinations,
                       const Combiner& combine) {
  start(sources, destinations, combine);
  wait();
}

void Schedule::execute_backward(std::span<void* const> sources,
                                std::span<const void* const> destinations,
                                const Combiner& combine) {
  start_backward(sources, destinations, combine);
  wait();
}

void Schedule::start(const void* source, void* destination, const Combiner& combine) {
  start(std::span(&source, 1), std::span(&destination, 1), combine);
}

void Schedule::start_backward(void* source, const void* destination, const Combiner& combine) {
  start_backward(std::span(&source, 1), std::span(&destination, 1), combine);
}

void Schedule::execute(const void* source, void* destination, const Combiner& combine) {
  start(source, destination, combine);
  wait();
}

void Schedule::execute_backward(void* source, const void* destination, const Combiner& combine) {
  start_backward(source, destination, combine);
  wait();
}

}  // namespace impishim::darray
