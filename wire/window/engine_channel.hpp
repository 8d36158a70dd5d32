// SPDX-License-Identifier: Apache-2.0
/// The messages of one-sided communication over an engine: requests in one context, in order, and
/// long data in another, which goes from one program's memory to the other's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
inline constexpr ContextId kWindowContext = kServiceContexts;
inline constexpr ContextId kWindowDataContext = kWindowContext + 1;
inline constexpr ContextId kWindowAnswerContext = kWindowContext + 2;

class EngineChannel final : public WindowChannel {
 public:
  using FormatOf = std::function<Format(WorldRank)>;

  /// Uses the engine of process `here`, and receives requests from now on. `format_of` returns the
  /// representation of payloads to and from a process. No request may be under way when it is
  /// destroyed.
  EngineChannel(Engine& engine, WorldRank here, FormatOf format_of);
  void send(WorldRank to, std::span<const std::byte> message, Departure departure) override;
  void push() override { engine_.send_batches(); }
  [[nodiscard]] std::unique_ptr<DataTransfer> send_data(WorldRank to, DataOf kind,
                                                        std::uint64_t ticket,
                                                        const ConstBuffer& data) override;
  [[nodiscard]] std::unique_ptr<DataTransfer> receive_data(WorldRank from, DataOf kind,
                                                           std::uint64_t ticket,
                                                           const MutableBuffer& room) override;
  [[nodiscard]] Result<std::optional<Arrived>> take() override;
  [[nodiscard]] Format format_of(WorldRank rank) const override { return format_of_(rank); }

 private:
  struct Outgoing {
    std::vector<std::byte> message;
    SendOperation operation;
  };
  /// Receives that are posted at a time. Requests beyond them wait in the engine.
  static constexpr std::size_t kReceives = 16;

  Engine& engine_;
  WorldRank here_;
  FormatOf format_of_;
  ReceiveRing requests_;
  bool taken_ = false;  ///< take() has returned the front of requests_
  std::list<Outgoing> outgoing_;
};

}  // namespace impishim::wire
