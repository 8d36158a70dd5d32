// SPDX-License-Identifier: Apache-2.0
// One direction of a schedule, ready to run: messages, requests, workspace. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "darray/base/first_failure.hpp"
#include "darray/local/packer.hpp"
#include "darray/schedule/communicator.hpp"
#include "darray/schedule/detail/patch_type.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// What one message carries, at one of its ends. Each piece of a long message is a message of its
/// own.
struct Parcel {
  int peer;
  Selection elements;
};

/// How an exchange is to run.
struct ExchangeForm {
  int arrays = 1;          // carried by each message
  bool combining = false;  // execution brings an operator
  bool ordered = false;    // unpack by rank of the sender
  bool bounded = false;    // one message at a time each way
};

/// Sends some parcels, receives others and copies locally; once per start(). Requests are
/// persistent and bound to the workspace, or to the user's memory (as long as its address stays the
/// same) where a message's elements lie side by side there; and where it goes to another system, in
/// long runs: a derived datatype then saves the workspace, and costs no time, since what carries
/// messages between systems copies them piece by piece in any case.
///
/// Deadlock cannot be: without bounds all receives and sends are posted at once. With bounds both
/// sides keep to one order of messages, in which the first that is not over is the next one at both
/// of its ends: rounds of equal distance, or, where the order of unpacking counts, by destination
/// at the senders and by source at the receivers.
class Exchange {
 public:
  Exchange(const Communicator& communicator, const Element& element, int tag, ExchangeForm form,
           std::vector<Parcel> outgoing, std::vector<Parcel> incoming,
           const std::vector<std::pair<Selection, Selection>>& local);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void start(std::span<const void* const> from, std::span<void* const> to,
             const CombineFunction& combine);
  /// Moves on what can be; with `blocking`, until all is done. True when it is. What a user's
  /// operator throws, here or at the start, and errors of single messages, are thrown when all
  /// messages are over: the exchange can be started again. Any other error of MPI ends it at once.
  bool progress(bool blocking);

  [[nodiscard]] std::size_t workspace_bytes() const { return total_; }
  [[nodiscard]] std::size_t direct_bytes() const { return direct_bytes_; }

 private:
  struct Message {
    int peer = 0;
    Packer packer;
    std::size_t buffer = 0;       // offset in the workspace
    bool direct = false;          // no workspace: from or to the user's memory
    PatchType type;               // of a direct one whose elements do not lie side by side
    const void* bound = nullptr;  // address that the persistent request is made for
    bool arrived = false;
  };
  // The messages of one way, and which of their requests are in use.
  struct Way {
    std::vector<Message> messages;
    std::vector<std::size_t> current;  // message of each slot
    std::size_t next = 0;              // message that takes the next free slot
    std::size_t first_request = 0;
  };

  void prepare(Way& way, std::vector<Parcel> parcels, bool receives);
  void find_direct(Message& message, bool staged) const;
  void* address(const Message& message, bool receives) const;
  void post(Way& way, std::size_t slot, bool receives);
  void post_first(Way& way, bool receives);
  void pack(const Message& message);
  void unpack(const Message& message);
  void copy_locally();
  void unpack_in_order();
  int values_in(const Message& message, const MPI_Status& status) const;
  void received(Message& message, const MPI_Status& status);
  void finished(std::size_t request, const MPI_Status& status, bool failed);
  bool serve(bool blocking);
  void give_up();

  Communicator communicator_;
  Element element_;
  int tag_;
  ExchangeForm form_;
  Way out_;
  Way in_;
  std::vector<LocalCopy> local_;
  std::vector<MPI_Request> requests_;  // of the slots of in_, then of out_
  std::vector<int> done_;
  std::vector<MPI_Status> statuses_;
  Workspace workspace_;
  std::size_t total_ = 0;
  std::size_t direct_bytes_ = 0;

  // Of the execution that is under way.
  std::vector<const std::byte*> from_;
  std::vector<std::byte*> to_;
  CombineFunction combine_;
  FirstFailure failure_;
  std::size_t left_ = 0;      // messages that are not over
  std::size_t unpacked_ = 0;  // of the incoming ones, in order
  bool copied_ = false;
};

}  // namespace impishim::darray
