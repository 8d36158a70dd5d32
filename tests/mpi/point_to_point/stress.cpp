// SPDX-License-Identifier: Apache-2.0
// Random messages among all ranks: sizes of 0 B to 4 MiB, tags, modes, wildcards, probes, cancels
// and persistent requests by chance. Every rank makes the same plan from the seed, so that each
// knows what it must send and what must come. Arguments: messages, seed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::fill;
using impishim_test::holds;
using impishim_test::Random;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kTags = 7;
constexpr int kBatch = 100;  // messages between two barriers: bounds what is unexpected
constexpr int kCancelTag = 1000;
enum Mode {
  kStandard,
  kSynchronous,
  kBuffered,
  kPersistent,
  kPersistentSynchronous,
  kBlocking,
  kModes
};

struct Message {
  int from = 0;
  int to = 0;
  int tag = 0;
  std::size_t size = 0;
  Mode mode = kStandard;
  std::uint64_t seed = 0;
};

/// Mostly small, some around the limits of packets, few large: what programs send.
std::size_t random_size(Random& random) {
  const auto kind = random.below(1000);
  if (kind < 100) return 0;
  if (kind < 800) return random.below(2000);
  if (kind < 900) return 65536 - 2 + random.below(5);
  if (kind < 985) return random.below(100000);
  if (kind < 997) return random.below(std::uint64_t{1} << 20);
  return kind == 999 ? std::size_t{4} << 20 : random.below((std::uint64_t{4} << 20) + 1);
}

std::vector<Message> plan(Random& random, int messages, int size, std::uint64_t first) {
  std::vector<Message> made(static_cast<std::size_t>(messages));
  for (auto& message : made) {
    message.from = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    message.to = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    message.tag = static_cast<int>(random.below(kTags));
    message.size = random_size(random);
    message.mode = static_cast<Mode>(random.below(kModes));
    message.seed = ++first;
  }
  return made;
}

/// One rank's part of a batch.
class Batch {
 public:
  Batch(const std::vector<Message>& messages, MPI_Comm comm, std::uint64_t seed)
      : comm_(comm), rank_(rank_in(comm)), random_(seed * 31 + static_cast<std::uint64_t>(rank_)) {
    for (const Message& message : messages) {
      if (message.from == rank_) outgoing_.push_back(message);
      if (message.to == rank_) {
        expected_[{message.from, message.tag}].push_back(message);
        ++left_;
      }
    }
  }

  void run() {
    while (left_ > 0 || !outgoing_.empty() || !sends_.empty()) {
      if (!outgoing_.empty() && random_.below(3) != 0) send_next();
      if (left_ > 0) receive_some();
      progress_sends();
    }
  }

  long long received() const { return bytes_; }

 private:
  struct Send {
    std::vector<unsigned char> data;
    MPI_Request request = MPI_REQUEST_NULL;
    bool persistent = false;
  };

  void send_next() {
    const Message message = outgoing_.front();
    outgoing_.pop_front();
    auto send = std::make_unique<Send>();
    send->data.resize(message.size);
    fill(send->data.data(), message.size, message.seed);
    const void* data = send->data.data();
    const int size = static_cast<int>(message.size);
    switch (message.mode) {
      case kSynchronous:
        MPI_Issend(data, size, MPI_BYTE, message.to, message.tag, comm_, &send->request);
        break;
      case kBuffered:
        if (message.size <= 100000) {
          MPI_Ibsend(data, size, MPI_BYTE, message.to, message.tag, comm_, &send->request);
          break;
        }
        [[fallthrough]];
      case kStandard:
        MPI_Isend(data, size, MPI_BYTE, message.to, message.tag, comm_, &send->request);
        break;
      case kPersistent:
      case kPersistentSynchronous:
        (message.mode == kPersistent ? MPI_Send_init : MPI_Ssend_init)(
            data, size, MPI_BYTE, message.to, message.tag, comm_, &send->request);
        send->persistent = true;
        MPI_Start(&send->request);
        break;
      default:
        // A blocking send may wait for its receiver: only what every MPI buffers is sent so, and
        // not to oneself.
        if (message.size <= 1000 && message.to != rank_) {
          MPI_Bsend(data, size, MPI_BYTE, message.to, message.tag, comm_);
          return;
        }
        MPI_Isend(data, size, MPI_BYTE, message.to, message.tag, comm_, &send->request);
    }
    sends_.push_back(std::move(send));
  }

  void progress_sends() {
    for (std::size_t i = 0; i < sends_.size();) {
      int done = 0;
      MPI_Test(&sends_[i]->request, &done, MPI_STATUS_IGNORE);
      if (done == 0) {
        ++i;
        continue;
      }
      if (sends_[i]->persistent) MPI_Request_free(&sends_[i]->request);
      sends_.erase(sends_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Takes a message if one is there, in one of several ways.
  void receive_some() {
    MPI_Status status;
    int found = 0;
    switch (random_.below(4)) {
      case 0: {  // a probe by wildcards, then a receive of what it saw
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &status);
        if (found == 0) return;
        std::vector<unsigned char> in(count_of(status));
        MPI_Status received;
        MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_BYTE, status.MPI_SOURCE,
                 status.MPI_TAG, comm_, &received);
        take(in, received);
        return;
      }
      case 1: {  // a matched probe
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(random_.below(kTags)), comm_, &found, &message,
                    &status);
        if (found == 0) return;
        std::vector<unsigned char> in(count_of(status));
        MPI_Mrecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, &message, &status);
        take(in, status);
        return;
      }
      case 2:  // a wildcard receive that is given up if nothing comes
        receive_or_cancel(MPI_ANY_SOURCE, MPI_ANY_TAG);
        return;
      default: {  // a receive of something that must come
        const auto& [key, messages] = *pick();
        if (random_.below(2) == 0) {
          receive_or_cancel(key.first, key.second);
        } else {
          receive_or_cancel(MPI_ANY_SOURCE, key.second);
        }
      }
    }
  }

  std::map<std::pair<int, int>, std::deque<Message>>::iterator pick() {
    auto at = expected_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(expected_.size())));
    return at;
  }

  void receive_or_cancel(int source, int tag) {
    std::vector<unsigned char> in((std::size_t{4} << 20) + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    const bool persistent = random_.below(4) == 0;
    if (persistent) {
      MPI_Recv_init(in.data(), static_cast<int>(in.size()), MPI_BYTE, source, tag, comm_, &request);
      MPI_Start(&request);
    } else {
      MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, source, tag, comm_, &request);
    }
    int done = 0;
    for (auto tries = random_.below(200); tries > 0 && done == 0; --tries) {
      MPI_Test(&request, &done, &status);
      progress_sends();
    }
    if (done == 0) {
      MPI_Cancel(&request);
      // Sends of ours may be what the sender of a matched message waits for.
      while (done == 0) {
        MPI_Test(&request, &done, &status);
        progress_sends();
      }
    }
    if (persistent) MPI_Request_free(&request);
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled != 0) return;
    in.resize(count_of(status));
    take(in, status);
  }

  static std::size_t count_of(const MPI_Status& status) {
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    REQUIRE(count >= 0);
    return static_cast<std::size_t>(count);
  }

  /// What has come must be the oldest message that is still expected from that sender with that
  /// tag.
  void take(const std::vector<unsigned char>& in, const MPI_Status& status) {
    const auto at = expected_.find({status.MPI_SOURCE, status.MPI_TAG});
    REQUIRE(at != expected_.end());
    const Message message = at->second.front();
    REQUIRE_EQUAL(in.size(), message.size);
    REQUIRE(holds(in.data(), in.size(), message.seed));
    bytes_ += static_cast<long long>(in.size());
    at->second.pop_front();
    if (at->second.empty()) expected_.erase(at);
    --left_;
  }

  MPI_Comm comm_;
  int rank_;
  Random random_;
  std::deque<Message> outgoing_;
  std::map<std::pair<int, int>, std::deque<Message>> expected_;
  std::vector<std::unique_ptr<Send>> sends_;
  int left_ = 0;
  long long bytes_ = 0;
};

/// Sends that are cancelled while their receiver may be receiving them: received whole or cancelled
/// whole, never both, never neither.
void cancelled_sends(int round) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int to = (rank + 1 + round % (size - 1)) % size;
  const int from = (rank + size - 1 - round % (size - 1)) % size;
  constexpr int kSends = 10;
  const std::size_t bytes = round % 2 == 0 ? 100 : 200000;
  std::array<std::vector<unsigned char>, kSends> data;
  std::array<MPI_Request, kSends> sends = {};
  for (int i = 0; i < kSends; ++i) {
    auto& out = data[static_cast<std::size_t>(i)];
    out = impishim_test::content(bytes, static_cast<std::uint64_t>(rank * 100 + i));
    MPI_Issend(out.data(), static_cast<int>(bytes), MPI_BYTE, to, kCancelTag + i, MPI_COMM_WORLD,
               &sends[static_cast<std::size_t>(i)]);
  }
  for (auto& send : sends) MPI_Cancel(&send);
  int kept = 0;
  int pending = kSends;
  int received = 0;
  int announced = -1;
  MPI_Request count_request = MPI_REQUEST_NULL;
  MPI_Irecv(&announced, 1, MPI_INT, from, kCancelTag - 1, MPI_COMM_WORLD, &count_request);
  MPI_Request told = MPI_REQUEST_NULL;
  bool count_sent = false;
  bool count_known = false;
  while (pending > 0 || !count_known || received < announced) {
    for (auto& send : sends) {
      if (send == MPI_REQUEST_NULL) continue;
      int done = 0;
      int cancelled = 0;
      MPI_Status status;
      MPI_Test(&send, &done, &status);
      if (done == 0) continue;
      MPI_Test_cancelled(&status, &cancelled);
      kept += cancelled == 0 ? 1 : 0;
      --pending;
    }
    if (pending == 0 && !count_sent) {
      MPI_Isend(&kept, 1, MPI_INT, to, kCancelTag - 1, MPI_COMM_WORLD, &told);
      count_sent = true;
    }
    int found = 0;
    MPI_Status status;
    for (int tag = kCancelTag; tag < kCancelTag + kSends; ++tag) {
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, &message, &status);
      if (found == 0) continue;
      std::vector<unsigned char> in(bytes);
      MPI_Mrecv(in.data(), static_cast<int>(bytes), MPI_BYTE, &message, MPI_STATUS_IGNORE);
      REQUIRE(holds(in.data(), bytes, static_cast<std::uint64_t>(from * 100 + tag - kCancelTag)));
      ++received;
    }
    int done = 0;
    if (!count_known) {
      MPI_Test(&count_request, &done, MPI_STATUS_IGNORE);
      count_known = done != 0;
    }
  }
  MPI_Wait(&told, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(received, announced);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int messages = argc > 1 ? std::atoi(argv[1]) : 10000;
  const auto seed = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<unsigned char> buffer(32 << 20);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  MPI_Comm second = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  Random random(seed);
  long long bytes = 0;
  int round = 0;
  for (int sent = 0; sent < messages; sent += kBatch, ++round) {
    const auto batch = plan(random, std::min(kBatch, messages - sent), size,
                            static_cast<std::uint64_t>(sent) + seed * 1000000);
    MPI_Comm comm = round % 3 == 2 ? second : MPI_COMM_WORLD;
    Batch mine(batch, comm, seed + static_cast<std::uint64_t>(round));
    mine.run();
    bytes += mine.received();
    MPI_Barrier(MPI_COMM_WORLD);
    if (round % 5 == 0) {
      cancelled_sends(round / 5);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  void* detached = nullptr;
  int detached_size = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &detached_size);
  MPI_Comm_free(&second);
  std::printf("rank %d: %lld bytes received in %d messages of seed %llu\n", rank_in(MPI_COMM_WORLD),
              bytes, messages, static_cast<unsigned long long>(seed));
  MPI_Finalize();
  return 0;
}
