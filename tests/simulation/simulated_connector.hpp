// SPDX-License-Identifier: Apache-2.0
/// What connects two resumable channels again, in virtual time and with all that may go wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/random.hpp"
#include "tests/simulation/simulated_network.hpp"
#include "tests/simulation/virtual_clock.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"

namespace impishim::wire::test {

/// Connects two ends again when one of them reports a loss. With faults it delivers a connection to
/// one end only, or several ones to each end in another order, or replaces a connection that is
/// good.
class SimulatedConnector {
 public:
  /// Of several connectors of a pair, only the first one makes the first connection, and gives up.
  SimulatedConnector(VirtualClock& clock, Random& random, SimulatedNetwork& network,
                     bool is_first = true);

  /// Makes a resumable channel of each end of the first connection. With `others`, which must be
  /// further connectors of the pair, each channel has one more connection from each of them.
  [[nodiscard]] std::array<std::unique_ptr<Channel>, 2> first_channels(
      std::size_t bound, const std::vector<SimulatedConnector*>& others = {});
  /// Takes reported losses. Call it after each event.
  void look();
  /// Makes connections that nobody has asked for.
  void replace();
  void stop_faults() { faults_ = false; }
  /// Says that there is no such end any more: the other one is given up when it reports a loss.
  void end_is_gone(std::size_t end);
  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  struct End {
    std::shared_ptr<ConnectionSlot> slot;
    bool lost = false;  ///< it has reported a loss, and nothing was delivered since
    bool gone = false;
  };

  void plan();
  void connect_again();
  void connect(bool to_one_only);
  void deliver(std::size_t end, std::unique_ptr<Channel> connection, VirtualTime delay);
  void give_up(std::size_t end);

  VirtualClock& clock_;
  Random& random_;
  SimulatedNetwork& network_;
  bool is_first_;
  std::array<End, 2> ends_;
  bool faults_ = true;
  std::size_t awaited_ = 0;  ///< plans and deliveries that will happen
  std::uint64_t connections_ = 0;
};

/// Cuts and replaces connections at random times, until it stops for good.
class SimulatedFaults {
 public:
  SimulatedFaults(VirtualClock& clock, Random& random, SimulatedNetwork& network)
      : clock_(clock), random_(random), network_(network) {}

  /// `connectors` must stay where they are. Faults happen until `end`, at most `gap` apart.
  void begin(std::vector<SimulatedConnector*> connectors, VirtualTime end, VirtualTime gap);
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  void next();

  VirtualClock& clock_;
  Random& random_;
  SimulatedNetwork& network_;
  std::vector<SimulatedConnector*> connectors_;
  VirtualTime end_ = 0;
  VirtualTime gap_ = 0;
  bool stopped_ = false;
};

}  // namespace impishim::wire::test
