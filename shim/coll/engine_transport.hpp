// SPDX-License-Identifier: Apache-2.0
/// The global phases of collectives: messages between members of a spanning communicator. Messages
/// to other clients use its collective context (IMPI 4.3: its id + 1). Messages inside this
/// process's client use its companion communicator.
#pragma once

#include <mpi.h>

#include "collectives/core/groups.hpp"
#include "shim/coll/pending_list.hpp"
#include "shim/coll/vendor_transport.hpp"
#include "shim/job/communicator.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

class EngineTransport final : public collectives::MemberTransport {
 public:
  /// If `as_lam` is true, messages of Reduce to other clients use the point-to-point context, as
  /// LAM/MPI sends and expects them.
  EngineTransport(wire::Engine& engine, const Communicator& communicator, bool as_lam = false)
      : engine_(engine),
        communicator_(communicator),
        as_lam_(as_lam),
        everything_(*this),
        local_(communicator.companion) {}

  collectives::Pending& post_send(std::int32_t to, std::int32_t tag,
                                  const wire::ConstBuffer& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const wire::MutableBuffer& room) override;
  collectives::Pending& post_send(std::int32_t to, std::int32_t tag,
                                  const collectives::ConstData& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const collectives::Data& room) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const wire::MutableBuffer& room,
                                     collectives::Arrival& arrival) override;
  collectives::Pending& all_posted() override { return everything_; }

  /// Cancels all messages in progress. Nothing may be awaited afterwards.
  void give_up();
  /// Returns true if no message through the engine, and no receive inside this system, is in
  /// progress.
  [[nodiscard]] bool is_quiet();

  /// Returns the first error code of the vendor, or MPI_SUCCESS. It has not been raised yet:
  /// companions have MPI_ERRORS_RETURN.
  [[nodiscard]] int first_code() const { return local_.first_code(); }

 private:
  template <class Operation>
  class Message;
  using Sent = Message<wire::SendOperation>;
  using Received = Message<wire::ReceiveOperation>;

  class Everything final : public collectives::Pending {
   public:
    explicit Everything(EngineTransport& leaders) : leaders_(leaders) {}
    bool done() override;
    Result<void> outcome() override;
    [[nodiscard]] bool in_vendor() const override { return !leaders_.local_.idle(); }

   private:
    EngineTransport& leaders_;
  };

  Received& receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room);
  [[nodiscard]] int local_rank(std::int32_t member) const {
    return communicator_.local_ranks[static_cast<std::size_t>(member)];
  }

  [[nodiscard]] wire::ContextId context_for(std::int32_t tag) const {
    return as_lam_ && tag == collectives::kReduceTag ? communicator_.context
                                                     : communicator_.context + 1;
  }

  wire::Engine& engine_;
  const Communicator& communicator_;
  bool as_lam_;
  Everything everything_;
  PostedMessages<Sent> sent_;
  PostedMessages<Received> received_;
  VendorTransport local_;
};

/// A message through the engine. It never completes once the engine has failed. The job then ends,
/// and until it does no process of this system may consider the phase complete.
template <class Operation>
class EngineTransport::Message final : public PostedMessage<Message<Operation>> {
 public:
  Message(PostedMessages<Message>& list, const wire::Engine& engine)
      : PostedMessage<Message>(list), engine_(engine) {}
  bool done() override { return engine_.carried_out(operation); }
  Result<void> ended() override {
    if (arrival != nullptr) *arrival = {operation.result.tag, operation.result.native_bytes};
    if (operation.result.error) return *operation.result.error;
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return false; }
  Operation operation;
  /// Receives the tag and size of the message that arrived.
  collectives::Arrival* arrival = nullptr;

 private:
  const wire::Engine& engine_;
};

}  // namespace impishim::shim
