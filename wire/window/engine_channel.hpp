// SPDX-License-Identifier: Apache-2.0
/// The messages of one-sided communication over an engine: requests in one context, in order, and
/// long data in another, which goes from one program's memory to the other's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/receive_ring.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/window_channel.hpp"

namespace impishim::wire {

/// Contexts of one-sided communication. No communicator has them.
inline constexpr ContextId kWindowContext = ContextId{1} << 63U;
inline constexpr ContextId kWindowDataContext = kWindowContext + 1;
inline constexpr ContextId kWindowAnswerContext = kWindowContext + 2;

class EngineChannel final : public WindowChannel {
 public:
  /// Uses the engine of process `here`, and receives requests from now on. `format_of_client` is
  /// EngineOptions::format_of_client. No request may be under way when it is destroyed.
  EngineChannel(Engine& engine, WorldRank here, std::vector<Format> format_of_client);
  void send(WorldRank to, std::span<const std::byte> message) override;
  [[nodiscard]] std::unique_ptr<DataTransfer> send_data(WorldRank to, DataOf kind,
                                                        std::uint64_t ticket,
                                                        const ConstBuffer& data) override;
  [[nodiscard]] std::unique_ptr<DataTransfer> receive_data(WorldRank from, DataOf kind,
                                                           std::uint64_t ticket,
                                                           const MutableBuffer& room) override;
  [[nodiscard]] Result<std::optional<Arrived>> take() override;
  [[nodiscard]] Format format_of(WorldRank rank) const override {
    return format_of_client_[static_cast<std::size_t>(engine_.job().proc(rank).client)];
  }

 private:
  struct Outgoing {
    std::vector<std::byte> message;
    SendOperation operation;
  };
  /// Receives that are posted at a time. Requests beyond them wait in the engine.
  static constexpr std::size_t kReceives = 16;

  Engine& engine_;
  WorldRank here_;
  std::vector<Format> format_of_client_;
  ReceiveRing requests_;
  bool taken_ = false;  ///< take() has returned the front of requests_
  std::list<Outgoing> outgoing_;
};

}  // namespace impishim::wire
