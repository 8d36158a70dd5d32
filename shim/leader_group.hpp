/// The global phases of collectives: messages between members of a spanning communicator, on its collective context (IMPI 4.3:
/// its id + 1) to other clients, on its companion communicator inside one's own.
#pragma once

#include <mpi.h>

#include <list>

#include "collectives/groups.hpp"
#include "shim/communicator.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

class EngineLeaders final : public collectives::LeaderGroup {
 public:
  EngineLeaders(wire::Engine& engine, const Communicator& communicator)
      : engine_(engine), communicator_(communicator), everything_(*this) {}

  collectives::Pending& post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) override;
  collectives::Pending& post_send(std::int32_t to, std::int32_t tag, const collectives::ConstData& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag, const collectives::Data& room) override;
  collectives::Pending& all_posted() override { return everything_; }

  /// The first error code of the vendor's (its error handler has been called already), or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  template <class Messages>
  class Message;
  class Sent;
  class Received;
  class Local;
  class Everything final : public collectives::Pending {
   public:
    explicit Everything(EngineLeaders& leaders) : leaders_(leaders) {}
    bool done() override;
    Result<void> outcome() override;
    [[nodiscard]] bool in_vendor() const override { return !leaders_.local_.empty(); }

   private:
    EngineLeaders& leaders_;
  };

  [[nodiscard]] int local_rank(std::int32_t member) const {
    return communicator_.local_ranks[static_cast<std::size_t>(member)];
  }
  collectives::Pending& send_inside(int to, std::int32_t tag, const void* base, std::uint64_t count, MPI_Datatype type);
  collectives::Pending& receive_inside(int from, std::int32_t tag, void* base, std::uint64_t count, MPI_Datatype type);

  wire::Engine& engine_;
  const Communicator& communicator_;
  Everything everything_;
  std::list<Sent> sent_;
  std::list<Received> received_;
  std::list<Local> local_;
  int first_code_ = MPI_SUCCESS;
};

/// A message leaves the list that it is in when it has been awaited.
template <class Messages>
class EngineLeaders::Message : public collectives::Pending {
 public:
  Message(EngineLeaders& leaders, Messages& list) : leaders_(leaders), list_(list) {}
  Result<void> outcome() final {
    const Result<void> result = ended();
    list_.erase(place);  // ends this object
    return result;
  }
  virtual Result<void> ended() = 0;

  typename Messages::iterator place;

 protected:
  ~Message() = default;
  EngineLeaders& leaders_;

 private:
  Messages& list_;
};

class EngineLeaders::Sent final : public Message<std::list<Sent>> {
 public:
  using Message::Message;
  bool done() override { return operation.complete(); }
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return false; }
  wire::SendOperation operation;
};

class EngineLeaders::Received final : public Message<std::list<Received>> {
 public:
  using Message::Message;
  bool done() override { return operation.complete(); }
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return false; }
  wire::ReceiveOperation operation;
};

class EngineLeaders::Local final : public Message<std::list<Local>> {
 public:
  using Message::Message;
  bool done() override;
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return true; }
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
};

}  // namespace impishim::shim
