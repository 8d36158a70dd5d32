// SPDX-License-Identifier: Apache-2.0
/// One direction of a schedule, ready to run: messages, requests, workspace. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "darray/base/first_failure.hpp"
#include "darray/communicator/communicator.hpp"
#include "darray/communicator/element.hpp"
#include "darray/local/packer.hpp"
#include "darray/schedule/detail/patch_type.hpp"

namespace impishim::darray {

/// The contents of one message, at one of its ends. Each piece of a long message is a separate
/// message.
struct MessagePiece {
  int peer;
  Selection elements;
};

/// The mode in which an exchange runs.
struct ExchangeForm {
  int arrays = 1;          // number of arrays that each message carries
  bool combining = false;  // the execution has an operator
  bool ordered = false;    // unpack by rank of the sender
  bool bounded = false;    // one message at a time in each direction
};

/// Sends some parcels, receives others and copies locally, once per start(). Requests are
/// persistent. They are bound to the workspace, or directly to the user's memory while its address
/// stays the same.
///
/// A message is bound to the user's memory if its elements lie side by side there. A message to
/// another system is also bound to it if its elements lie in long runs. A derived datatype then
/// saves the workspace. It costs no time, because the library that carries messages between systems
/// copies them piece by piece in any case.
///
/// Deadlock is impossible. Without bounds, all receives and sends are posted at once. With bounds,
/// both sides use one order of messages. The first message in that order that is not complete is
/// the next one at both of its ends. The order is by rounds of equal distance. Where the order of
/// unpacking matters, it is by destination at the senders and by source at the receivers.
class Exchange {
 public:
  Exchange(const Communicator& communicator, const Element& element, int tag, ExchangeForm form,
           std::vector<MessagePiece> outgoing, std::vector<MessagePiece> incoming,
           const std::vector<std::pair<Selection, Selection>>& local);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void start(std::span<const void* const> from, std::span<void* const> to,
             const CombineFunction& combine);
  /// Advances the exchange as far as possible; with `blocking`, until it is complete. Returns true
  /// if it is complete. Exceptions of a user's operator, here or in start(), and errors of single
  /// messages are thrown when all messages are complete. The exchange can then be started again.
  /// Any other MPI error ends the exchange at once.
  bool progress(bool blocking);

  [[nodiscard]] std::size_t workspace_bytes() const { return total_; }
  [[nodiscard]] std::size_t direct_bytes() const { return direct_bytes_; }

 private:
  struct Message {
    int peer = 0;
    Packer packer;
    std::size_t buffer = 0;       // offset in the workspace
    bool direct = false;          // no workspace: sent from, or received into, the user's memory
    PatchType type;               // for a direct message whose elements do not lie side by side
    const void* bound = nullptr;  // address that the persistent request was made for
    bool arrived = false;
  };
  // The messages of one direction, and the slots that carry them. Each slot has one request.
  struct Direction {
    std::vector<Message> messages;
    std::vector<std::size_t> current;  // message of each slot
    std::size_t next = 0;              // message that takes the next free slot
    std::size_t first_request = 0;
  };

  void prepare(Direction& way, std::vector<MessagePiece> parcels, bool receives);
  void find_direct(Message& message, bool staged) const;
  void* address(const Message& message, bool receives) const;
  void post(Direction& way, std::size_t slot, bool receives);
  void post_first(Direction& way, bool receives);
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
  Direction out_;
  Direction in_;
  std::vector<LocalCopy> local_;
  std::vector<MPI_Request> requests_;  // for the slots of in_, then of out_
  std::vector<int> done_;
  std::vector<MPI_Status> statuses_;
  Workspace workspace_;
  std::size_t total_ = 0;
  std::size_t direct_bytes_ = 0;

  // The state of the execution that is in progress.
  std::vector<const std::byte*> from_;
  std::vector<std::byte*> to_;
  CombineFunction combine_;
  FirstFailure failure_;
  std::size_t left_ = 0;      // messages that are not complete
  std::size_t unpacked_ = 0;  // incoming messages that are unpacked, in order
  bool copied_ = false;
};

}  // namespace impishim::darray
