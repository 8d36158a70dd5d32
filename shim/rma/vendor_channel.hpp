// SPDX-License-Identifier: Apache-2.0
/// The messages of one-sided communication inside this system, over the vendor's MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/window_channel.hpp"

namespace impishim::shim {

/// The progress thread may send a request; it waits for a thread that may call the vendor. All else
/// is called by application threads only.
class VendorChannel final : public wire::WindowChannel {
 public:
  /// Uses some tags of `comm`, and receives requests from now on. `first` is the world rank of its
  /// rank 0; the others follow.
  VendorChannel(MPI_Comm comm, wire::WorldRank first);
  /// Withdraws the receives. No request may be under way.
  ~VendorChannel();

  void send(wire::WorldRank to, std::span<const std::byte> message,
            wire::Departure departure) override;
  /// Does nothing: take() starts all sends.
  void push() override {}
  [[nodiscard]] std::unique_ptr<wire::DataTransfer> send_data(
      wire::WorldRank to, wire::DataOf kind, std::uint64_t ticket,
      const wire::ConstBuffer& data) override;
  [[nodiscard]] std::unique_ptr<wire::DataTransfer> receive_data(
      wire::WorldRank from, wire::DataOf kind, std::uint64_t ticket,
      const wire::MutableBuffer& room) override;
  /// Also starts the sends that wait.
  [[nodiscard]] Result<std::optional<Arrived>> take() override;
  [[nodiscard]] wire::Format format_of(wire::WorldRank /*rank*/) const override {
    return wire::Format::kNative;
  }

 private:
  struct Slot {
    std::vector<std::byte> room;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Outgoing {
    std::vector<std::byte> message;
    int to = 0;
    bool started = false;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// Receives that are posted at a time. Requests beyond them wait in the vendor's MPI.
  static constexpr std::size_t kSlots = 4;

  void post(Slot& slot);
  void start_sends();

  MPI_Comm comm_;
  wire::WorldRank first_;
  std::array<Slot, kSlots> slots_;
  /// The process is the only one in its system. Its messages are to itself, so a poll asks the
  /// vendor only if there are some.
  bool alone_ = false;
  std::size_t untaken_ = 0;  ///< messages that were sent, if it is alone, and not taken
  std::size_t next_ = 0;     ///< slot of the next request
  Slot* taken_ = nullptr;    ///< the slot that take() returned last
  std::list<Outgoing> outgoing_;
  int code_ = MPI_SUCCESS;  ///< the first error of the vendor's
};

}  // namespace impishim::shim
