// SPDX-License-Identifier: Apache-2.0
/// Both ends of a port: the one that listens (MPI_Open_port, MPI_Comm_accept), and the one that
/// connects (MPI_Comm_connect).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/packet/packet.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {

/// A connection between the two ends of a port, and the secret of its name.
struct PortConnection {
  Conversation conversation;
  JobSecret secret;
};

/// A port that listens until it is destroyed. Connections whose process does not know the secret of
/// its name are turned away and bounded in number (link_acceptor.hpp).
class OpenPort {
 public:
  /// Listens at `address` and the first free port of `ports`. Fails as HostListener::open()
  /// does, and with kSystem if there are no random bytes.
  [[nodiscard]] static Result<std::unique_ptr<OpenPort>> open(const HostId& address,
                                                              PortRange ports = {});
  /// For open() only.
  OpenPort(HostListener listener, PortName name);
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;
  ~OpenPort() = default;

  [[nodiscard]] const PortName& name() const { return name_; }
  /// Waits for the next connection; one thread at a time waits, others after it. Returns nothing if
  /// `watched`, a descriptor, becomes readable first; -1 is none. Fails with kSystem if poll(2)
  /// does.
  [[nodiscard]] Result<std::optional<PortConnection>> accept(int watched = -1);

 private:
  [[nodiscard]] LinkAcceptor::Options acceptor_options();

  PortName name_;
  HostListener listener_;
  Mutex mutex_;
  std::deque<Descriptor> ready_;  ///< connections that are proven; under the mutex
  LinkAcceptor acceptor_;         ///< under the mutex
};

/// Connects to a port. Waits as long as the process there listens and does not accept. Fails with
/// kConnection if no process listens there, and with kAuthentication if it does not know the secret
/// of the name.
[[nodiscard]] Result<PortConnection> connect_to_port(const PortName& name);

}  // namespace impishim::wire
