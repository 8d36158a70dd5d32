// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/detail/exchange.hpp"

#include <algorithm>
#include <limits>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

constexpr std::size_t kLine = 64;

// Returns the round in which this rank exchanges messages with `peer`. Every rank begins with a
// different peer.
int round_of(int rank, int size, int peer, bool receives) {
  return ((receives ? rank - peer : peer - rank) + size) % size;
}

}  // namespace

Exchange::Exchange(const Communicator& communicator, const Element& element, int tag,
                   ExchangeForm form, std::vector<MessagePiece> outgoing,
                   std::vector<MessagePiece> incoming,
                   const std::vector<std::pair<Selection, Selection>>& local)
    : communicator_(communicator), element_(element), tag_(tag), form_(form) {
  prepare(in_, std::move(incoming), true);
  prepare(out_, std::move(outgoing), false);
  requests_.assign(in_.current.size() + out_.current.size(), MPI_REQUEST_NULL);
  out_.first_request = in_.current.size();
  done_.resize(requests_.size());
  statuses_.resize(requests_.size());
  for (const auto& [source, destination] : local)
    local_.emplace_back(source, destination, element.size, form.combining);
}

Exchange::~Exchange() {
  if (!mpi_is_over()) give_up();
}

// Frees all requests. If messages are outstanding, MPI still uses the workspace, which then never
// returns to the store.
void Exchange::give_up() {
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  if (left_ > 0) workspace_.give_up();
  left_ = 0;
}

void Exchange::prepare(Direction& way, std::vector<MessagePiece> parcels, bool receives) {
  const int rank = communicator_.rank();
  const int size = communicator_.size();
  const bool by_rank = form_.ordered && (receives || form_.bounded);
  std::stable_sort(
      parcels.begin(), parcels.end(), [&](const MessagePiece& a, const MessagePiece& b) {
        if (by_rank) return a.peer < b.peer;
        return round_of(rank, size, a.peer, receives) < round_of(rank, size, b.peer, receives);
      });
  const std::size_t begin = total_;
  for (MessagePiece& parcel : parcels) {
    Message message;
    message.peer = parcel.peer;
    if (parcel.elements.size() * form_.arrays > std::numeric_limits<int>::max() / element_.items) {
      fail(ErrorKind::kUnsupported,
           "a message of {} elements of {} bytes for {} arrays has more values than an int counts",
           parcel.elements.size(), element_.size, form_.arrays);
    }
    message.packer = Packer(std::move(parcel.elements), element_.size, receives && form_.combining);
    find_direct(message, receives && (form_.combining || form_.ordered));
    const std::size_t bytes = message.packer.bytes() * static_cast<std::size_t>(form_.arrays);
    if (message.direct) {
      direct_bytes_ += bytes;
    } else {
      const std::size_t room = (bytes + kLine - 1) / kLine * kLine;
      message.buffer = form_.bounded ? begin : total_;
      total_ = form_.bounded ? std::max(total_, begin + room) : total_ + room;
    }
    way.messages.push_back(std::move(message));
  }
  const std::size_t slots =
      form_.bounded ? std::min<std::size_t>(1, way.messages.size()) : way.messages.size();
  for (std::size_t slot = 0; slot < slots; ++slot) way.current.push_back(slot);
}

// Decides whether the message needs no workspace. With `staged` it always needs one.
void Exchange::find_direct(Message& message, bool staged) const {
  if (form_.arrays > 1 || staged) return;
  const Selection& elements = message.packer.selection();
  message.direct = elements.contiguous().has_value();
  if (message.direct || !communicator_.systems().crosses(communicator_.rank(), message.peer))
    return;
  const Patch* patch = patch_of_long_runs(elements, element_);
  if (patch == nullptr) return;
  message.direct = true;
  message.type = PatchType(*patch, element_);
}

void* Exchange::address(const Message& message, bool receives) const {
  if (!message.direct) return workspace_.data() + message.buffer;
  const Selection& elements = message.packer.selection();
  const Index first =
      message.type ? std::get<Patch>(elements.pieces().front()).offset : *elements.contiguous();
  const Index offset = first * static_cast<Index>(element_.size);
  return receives ? to_[0] + offset : const_cast<std::byte*>(from_[0]) + offset;
}

void Exchange::post(Direction& way, std::size_t slot, bool receives) {
  Message& message = way.messages[way.current[slot]];
  MPI_Request& request = requests_[way.first_request + slot];
  if (!receives && !message.direct) pack(message);
  void* const data = address(message, receives);
  const MPI_Datatype type = message.type ? message.type.get() : element_.type;
  const int count = message.type ? 1
                                 : static_cast<int>(message.packer.selection().size()) *
                                       form_.arrays * element_.items;
  if (form_.bounded) {
    // A slot carries a different message each time, so its requests are not persistent.
    if (receives) {
      check_mpi(MPI_Irecv(data, count, type, message.peer, tag_, communicator_.get(), &request),
                "MPI_Irecv");
    } else {
      check_mpi(MPI_Isend(data, count, type, message.peer, tag_, communicator_.get(), &request),
                "MPI_Isend");
    }
    return;
  }
  if (request == MPI_REQUEST_NULL || message.bound != data) {
    if (request != MPI_REQUEST_NULL) check_mpi(MPI_Request_free(&request), "MPI_Request_free");
    message.bound = data;
    if (receives) {
      check_mpi(MPI_Recv_init(data, count, type, message.peer, tag_, communicator_.get(), &request),
                "MPI_Recv_init");
    } else {
      check_mpi(MPI_Send_init(data, count, type, message.peer, tag_, communicator_.get(), &request),
                "MPI_Send_init");
    }
  }
  check_mpi(MPI_Start(&request), "MPI_Start");
}

void Exchange::post_first(Direction& way, bool receives) {
  for (std::size_t slot = 0; slot < way.current.size(); ++slot) {
    way.current[slot] = slot;
    post(way, slot, receives);
  }
  way.next = way.current.size();
}

void Exchange::pack(const Message& message) {
  std::byte* out = workspace_.data() + message.buffer;
  for (const std::byte* from : from_) {
    message.packer.pack(from, out);
    out += message.packer.bytes();
  }
}

void Exchange::unpack(const Message& message) {
  if (message.direct) return;
  const std::byte* in = workspace_.data() + message.buffer;
  for (std::byte* to : to_) {
    if (combine_) {
      message.packer.unpack_combine(to, in, combine_);
    } else {
      message.packer.unpack(to, in);
    }
    in += message.packer.bytes();
  }
}

void Exchange::copy_locally() {
  copied_ = true;
  for (const LocalCopy& copy : local_) {
    for (std::size_t array = 0; array < from_.size(); ++array)
      copy.run(from_[array], to_[array], combine_);
  }
}

// Unpacks the messages that have arrived, in rank order, up to the first missing one. This rank's
// own elements are copied at their place in that order.
void Exchange::unpack_in_order() {
  for (;;) {
    const bool left = unpacked_ < in_.messages.size();
    if (!copied_ && (!left || in_.messages[unpacked_].peer > communicator_.rank())) copy_locally();
    if (!left || !in_.messages[unpacked_].arrived) return;
    unpack(in_.messages[unpacked_++]);
  }
}

void Exchange::start(std::span<const void* const> from, std::span<void* const> to,
                     const CombineFunction& combine) {
  from_.clear();
  to_.clear();
  for (const void* source : from) from_.push_back(static_cast<const std::byte*>(source));
  for (void* destination : to) to_.push_back(static_cast<std::byte*>(destination));
  combine_ = combine;
  if (workspace_.size() == 0) workspace_ = communicator_.workspace(total_);
  for (Message& message : in_.messages) message.arrived = false;
  left_ = in_.messages.size() + out_.messages.size();
  unpacked_ = 0;
  copied_ = false;
  failure_ = {};
  try {
    post_first(in_, true);
    post_first(out_, false);
  } catch (...) {
    give_up();
    throw;
  }
  if (form_.ordered) {
    failure_.guard([this] { unpack_in_order(); });
  } else {
    failure_.guard([this] { copy_locally(); });
  }
}

// Returns the number of values of the element's MPI type that have arrived, or -1 if it is not a
// whole number.
int Exchange::values_in(const Message& message, const MPI_Status& status) const {
  int count = 0;
  check_mpi(MPI_Get_count(&status, message.type ? message.type.get() : element_.type, &count),
            "MPI_Get_count");
  if (count == MPI_UNDEFINED) return -1;
  return message.type ? count * static_cast<int>(message.packer.selection().size()) * element_.items
                      : count;
}

void Exchange::received(Message& message, const MPI_Status& status) {
  const int count = values_in(message, status);
  const Index expected = message.packer.selection().size() * form_.arrays * element_.items;
  if (count != expected) {
    fail(ErrorKind::kLayout, "rank {} expects {} values of rank {}, and has got {}",
         communicator_.rank(), expected, message.peer, count);
  }
  message.arrived = true;
  if (form_.ordered) {
    unpack_in_order();
  } else {
    unpack(message);
  }
}

void Exchange::finished(std::size_t request, const MPI_Status& status, bool failed) {
  --left_;
  const bool receives = request < out_.first_request;
  Direction& way = receives ? in_ : out_;
  const std::size_t slot = request - way.first_request;
  if (failed) {
    failure_.guard([&] { check_mpi(status.MPI_ERROR, "an exchange"); });
  } else if (receives && !failure_.held()) {
    failure_.guard([&] { received(way.messages[way.current[slot]], status); });
  }
  if (way.next < way.messages.size()) {
    way.current[slot] = way.next++;
    post(way, slot, receives);
  }
}

bool Exchange::serve(bool blocking) {
  while (left_ > 0) {
    int completed = 0;
    const int count = static_cast<int>(requests_.size());
    const int code =
        blocking
            ? MPI_Waitsome(count, requests_.data(), &completed, done_.data(), statuses_.data())
            : MPI_Testsome(count, requests_.data(), &completed, done_.data(), statuses_.data());
    const bool some_failed = code == MPI_ERR_IN_STATUS;
    if (!some_failed) check_mpi(code, blocking ? "MPI_Waitsome" : "MPI_Testsome");
    if (completed == MPI_UNDEFINED)
      fail(ErrorKind::kMpi, "{} messages are left, but none is in progress", left_);
    if (completed == 0) return false;
    for (int k = 0; k < completed; ++k) {
      const MPI_Status& status = statuses_[static_cast<std::size_t>(k)];
      finished(static_cast<std::size_t>(done_[static_cast<std::size_t>(k)]), status,
               some_failed && status.MPI_ERROR != MPI_SUCCESS);
    }
  }
  return true;
}

bool Exchange::progress(bool blocking) {
  try {
    if (!serve(blocking)) return false;
  } catch (...) {
    give_up();
    throw;
  }
  failure_.rethrow();
  return true;
}

}  // namespace impishim::darray
