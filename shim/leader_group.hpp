/// The global phases of collectives: messages between members of a spanning communicator, on its collective context (IMPI 4.3:
/// its id + 1) to other clients, on its companion communicator inside one's own.
#pragma once

#include <mpi.h>

#include "collectives/groups.hpp"
#include "shim/communicator.hpp"
#include "shim/local_messages.hpp"
#include "shim/posted.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

class EngineLeaders final : public collectives::LeaderGroup {
 public:
  EngineLeaders(wire::Engine& engine, const Communicator& communicator)
      : engine_(engine), communicator_(communicator), everything_(*this), local_(communicator.companion) {}

  collectives::Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) override;
  collectives::Pending& post_send(std::int32_t to, std::int32_t tag, const collectives::ConstData& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag, const collectives::Data& room) override;
  collectives::Pending& all_posted() override { return everything_; }

  /// The first error code of the vendor's (its error handler has been called already), or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return local_.first_code(); }

 private:
  class Sent;
  class Received;
  class Everything final : public collectives::Pending {
   public:
    explicit Everything(EngineLeaders& leaders) : leaders_(leaders) {}
    bool done() override;
    Result<void> outcome() override;
    [[nodiscard]] bool in_vendor() const override { return !leaders_.local_.idle(); }

   private:
    EngineLeaders& leaders_;
  };

  [[nodiscard]] int local_rank(std::int32_t member) const {
    return communicator_.local_ranks[static_cast<std::size_t>(member)];
  }

  wire::Engine& engine_;
  const Communicator& communicator_;
  Everything everything_;
  PostedMessages<Sent> sent_;
  PostedMessages<Received> received_;
  LocalMessages local_;
};

class EngineLeaders::Sent final : public PostedMessage<Sent> {
 public:
  using PostedMessage::PostedMessage;
  bool done() override { return operation.complete(); }
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return false; }
  wire::SendOperation operation;
};

class EngineLeaders::Received final : public PostedMessage<Received> {
 public:
  using PostedMessage::PostedMessage;
  bool done() override { return operation.complete(); }
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return false; }
  wire::ReceiveOperation operation;
};

}  // namespace impishim::shim
