/// The global phases of collectives: messages on a spanning communicator's collective context (IMPI 4.3: its id + 1).
#pragma once

#include <list>

#include "collectives/groups.hpp"
#include "shim/communicator.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

class EngineLeaders final : public collectives::LeaderGroup, private collectives::Pending {
 public:
  EngineLeaders(wire::Engine& engine, const Communicator& communicator) : engine_(engine), communicator_(communicator) {}

  void post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) override;
  void post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) override;
  Pending& all_posted() override { return *this; }

 private:
  bool done() override;
  /// The first error in the order of posting; forgets what was posted.
  Result<void> outcome() override;
  [[nodiscard]] bool in_vendor() const override { return false; }

  wire::Engine& engine_;
  const Communicator& communicator_;
  std::list<wire::SendOperation> sends_;
  std::list<wire::ReceiveOperation> receives_;
};

}  // namespace impishim::shim
