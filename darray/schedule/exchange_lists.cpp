// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/exchange_lists.hpp"

#include <algorithm>
#include <cstring>

namespace impishim::darray {
namespace {

// Longer lists are sent in pieces, so that no count exceeds an int.
constexpr std::size_t kPiece = std::size_t{64} << 20;

// Calls `post(bytes, values)` for each piece of a list.
template <class Byte, class Post>
void for_each_piece(std::span<Byte> list, const Element& element, Post post) {
  const std::size_t most = std::max<std::size_t>(1, kPiece / element.size) * element.size;
  for (std::size_t from = 0; from < list.size(); from += most) {
    const auto piece = list.subspan(from, std::min(most, list.size() - from));
    post(piece.data(), static_cast<int>(piece.size() / element.size) * element.items);
  }
}

// The outstanding requests, and what owns their buffers. An error may leave active ones. The
// destructor neither cancels them nor waits: the peers may still wait for the messages, and an MPI
// that has failed may never complete them. It frees the requests, and leaks the buffers on purpose,
// because MPI still uses them.
class Requests {
 public:
  explicit Requests(std::shared_ptr<const void> buffers) : buffers_(std::move(buffers)) {}
  ~Requests() {
    if (mpi_is_over()) return;
    bool active = false;
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      active = true;
      MPI_Request_free(&request);
    }
    if (active) static_cast<void>(new std::shared_ptr<const void>(std::move(buffers_)));
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  void wait() {
    check_mpi(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  }

 private:
  std::shared_ptr<const void> buffers_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::vector<Index> exchange_counts(const Communicator& communicator, std::span<const Index> sent) {
  if (sent.size() != static_cast<std::size_t>(communicator.size())) {
    fail(ErrorKind::kArgument, "{} lists for {} ranks", sent.size(), communicator.size());
  }
  std::vector<Index> received(sent.size());
  check_mpi(MPI_Alltoall(sent.data(), 1, MPI_INT64_T, received.data(), 1, MPI_INT64_T,
                         communicator.get()),
            "MPI_Alltoall");
  return received;
}

void exchange_spans(const Communicator& communicator, const Element& element,
                    std::span<const std::span<const std::byte>> sent,
                    std::span<const std::span<std::byte>> received,
                    std::shared_ptr<const void> buffers) {
  const int size = communicator.size();
  const int rank = communicator.rank();
  const int tag = communicator.next_tag();
  const MPI_Comm comm = communicator.get();
  Requests requests(std::move(buffers));
  for (int round = 1; round < size; ++round) {
    const int peer = (rank - round + size) % size;
    for_each_piece(
        received[static_cast<std::size_t>(peer)], element, [&](std::byte* bytes, int count) {
          check_mpi(MPI_Irecv(bytes, count, element.type, peer, tag, comm, requests.add()),
                    "MPI_Irecv");
        });
  }
  for (int round = 1; round < size; ++round) {
    const int peer = (rank + round) % size;
    for_each_piece(
        sent[static_cast<std::size_t>(peer)], element, [&](const std::byte* bytes, int count) {
          check_mpi(MPI_Isend(bytes, count, element.type, peer, tag, comm, requests.add()),
                    "MPI_Isend");
        });
  }
  const auto& mine = sent[static_cast<std::size_t>(rank)];
  if (!mine.empty())
    std::memcpy(received[static_cast<std::size_t>(rank)].data(), mine.data(), mine.size());
  requests.wait();
}

}  // namespace impishim::darray
