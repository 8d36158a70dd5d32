// SPDX-License-Identifier: Apache-2.0
/// How the messages of one-sided communication travel. Processes of other systems are reached by
/// the engine (engine_channel.hpp), those of the own system by its MPI (shim/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Long data on its way in or out of a program's memory. Destroyed when it is complete.
class DataTransfer {
 public:
  DataTransfer() = default;
  DataTransfer(const DataTransfer&) = delete;
  DataTransfer& operator=(const DataTransfer&) = delete;
  virtual ~DataTransfer() = default;

  /// Returns true once the memory is no longer used.
  [[nodiscard]] virtual bool complete() = 0;
  /// Returns true if the data has not arrived whole, once the transfer is complete.
  [[nodiscard]] virtual bool failed() const = 0;
};

/// What long data belongs to. A request's ticket is its origin's number, so tickets of both kinds
/// may be equal.
enum class DataOf : std::uint8_t { kRequest, kAnswer };

/// When a message leaves.
enum class Departure : std::uint8_t {
  kAtOnce,  ///< with all that waits before it
  kMayWait  ///< with a later one, at the next poll, or at WindowChannel::push()
};

/// The service's lock protects it.
class WindowChannel {
 public:
  /// Most bytes of data that travel with a request; more follow in a transfer.
  static constexpr std::size_t kInlineBytes = 8192;
  /// Most bytes of a datatype that a request describes.
  static constexpr std::size_t kLayoutBytes = 65536;

  WindowChannel() = default;
  WindowChannel(const WindowChannel&) = delete;
  WindowChannel& operator=(const WindowChannel&) = delete;

  /// Sends a request (window_request.hpp), which is copied. Requests to one process arrive in their
  /// order.
  virtual void send(WorldRank to, std::span<const std::byte> message, Departure departure) = 0;
  /// Sends the messages that wait.
  virtual void push() = 0;
  /// Sends the data that follows the request with this ticket, or the answer to it.
  [[nodiscard]] virtual std::unique_ptr<DataTransfer> send_data(WorldRank to, DataOf kind,
                                                                std::uint64_t ticket,
                                                                const ConstBuffer& data) = 0;
  /// Receives such data.
  [[nodiscard]] virtual std::unique_ptr<DataTransfer> receive_data(WorldRank from, DataOf kind,
                                                                   std::uint64_t ticket,
                                                                   const MutableBuffer& room) = 0;

  /// A request that has arrived. Its bytes are valid until the next take().
  struct Arrived {
    WorldRank source = 0;
    std::span<const std::byte> message;
  };
  /// Returns the next request, or nothing. An error ends the job.
  [[nodiscard]] virtual Result<std::optional<Arrived>> take() = 0;
  /// Returns the representation of data to and from a process.
  [[nodiscard]] virtual Format format_of(WorldRank rank) const = 0;

 protected:
  ~WindowChannel() = default;
};

}  // namespace impishim::wire
