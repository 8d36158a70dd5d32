// SPDX-License-Identifier: Apache-2.0
/// This process's endpoint of a libfabric provider: buffers, and messages in both directions.
/// FabricChannel knows the meaning of the messages.
///
/// Threads: the caller holds the owner's lock in all calls, so libfabric may rely on
/// FI_THREAD_DOMAIN.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/fabric/fabric_library.hpp"

namespace impishim::wire {

class FabricPeer;

/// Memory for an outgoing or an incoming message. libfabric owns it from post() or send() until the
/// completion.
struct FabricBuffer {
  fi_context2
      context{};  ///< for the provider; it identifies completions, so it must be the first member
  std::byte* bytes = nullptr;
  void* descriptor = nullptr;  ///< of the registered memory
  FabricPeer* sender =
      nullptr;  ///< the peer to notify when the message has left; null: a buffer for arrivals
  std::size_t begin = 0;  ///< start of the bytes that have arrived and are not yet read
  std::size_t end = 0;
  FabricBuffer* next = nullptr;  ///< next buffer in a list of the current holder
};

/// A peer of an endpoint.
class FabricPeer {
 public:
  FabricPeer() = default;
  FabricPeer(const FabricPeer&) = delete;
  FabricPeer& operator=(const FabricPeer&) = delete;
  /// Called when a message has arrived. The peer owns the buffer until it calls
  /// FabricEndpoint::post().
  virtual void arrived(FabricBuffer& buffer) = 0;
  /// Called when a message has left, or can never leave: `error` is then negative. The buffer is
  /// free again.
  virtual void left(int error) = 0;

 protected:
  ~FabricPeer() = default;
};

/// Deleter that closes a libfabric object.
struct CloseFabricObject {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using FabricObject = std::unique_ptr<Object, CloseFabricObject>;

/// An endpoint with its buffers, shared by the channels of one provider.
class FabricEndpoint {
 private:
  struct Nobody final : FabricPeer {
    void arrived(FabricBuffer& /*buffer*/) override {}
    void left(int /*error*/) override {}
  };

 public:
  /// Size of the largest message, including its header.
  static constexpr std::size_t kMessageSize = 16384;
  /// Number of data messages that may be in transit to one peer. kFreeMessages is the number of
  /// arrivals that need no credit: the greeting, the end, and two returns of credits (each returns
  /// at least half of the credits).
  static constexpr std::size_t kCredits = 16;
  static constexpr std::size_t kFreeMessages = 4;

  /// Opens an endpoint that is ready to receive from `peers` peers. `address` is a numeric address
  /// of this machine, for providers that use one, or empty.
  [[nodiscard]] static Result<std::shared_ptr<FabricEndpoint>> open(const std::string& provider,
                                                                    const std::string& address,
                                                                    std::size_t peers);

  [[nodiscard]] std::string provider() const { return info_->fabric_attr->prov_name; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] const std::vector<std::byte>& address() const { return address_; }
  /// Returns the number of credits for each peer.
  [[nodiscard]] std::size_t credits() const { return credits_; }
  /// Returns the descriptor that becomes readable when there may be completions, after may_sleep()
  /// has returned true. -1: the provider has none.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::size_t inject_size() const { return info_->tx_attr->inject_size; }

  /// Assigns to `peer` the messages whose header has the number `channel`.
  void attach(std::uint32_t channel, FabricPeer* peer);
  /// Ends this assignment. Completions of messages that the peer has sent are then ignored.
  void forget(std::uint32_t channel, const FabricPeer* peer);
  /// Returns libfabric's number for the peer at this address (fi_av_insert).
  [[nodiscard]] Result<fi_addr_t> insert(std::span<const std::byte> address);

  /// Removes the name of the shared memory that the provider `shm` keeps for this endpoint, so that
  /// a killed process leaves nothing behind. Call it when all peers have mapped the memory, which
  /// is when each has sent a message.
  void unlink_shared_memory() const;

  /// Returns a free buffer for sending.
  [[nodiscard]] Result<FabricBuffer*> take_buffer();
  void give_back(FabricBuffer& buffer);
  /// Sends the buffer's first `size` bytes; left() follows. Returns false if the provider is busy;
  /// the caller then still owns the buffer. `delivered`: left() is called only when the bytes no
  /// longer need this process (FI_TRANSMIT_COMPLETE).
  [[nodiscard]] Result<bool> send(fi_addr_t to, FabricBuffer& buffer, std::size_t size,
                                  bool delivered);
  /// Sends at most inject_size() bytes, which libfabric copies. left() is not called.
  [[nodiscard]] Result<bool> inject(fi_addr_t to, std::span<const std::byte> bytes);
  /// Returns a buffer to libfabric after its arrival has been read.
  void post(FabricBuffer& buffer);

  /// Drives the provider and hands out the completions. Returns their number.
  std::size_t drive();
  /// Returns true if there is no completion to hand out, and descriptor() will announce the next
  /// one (fi_trywait(3)).
  [[nodiscard]] bool may_sleep();

 private:
  [[nodiscard]] Result<void> open_objects(std::size_t peers);
  [[nodiscard]] Result<void> add_buffers(std::size_t count, std::vector<FabricBuffer*>& to);
  [[nodiscard]] Error error(const char* what, int status) const;
  void handle_error();
  void deliver(FabricBuffer& buffer, std::size_t size);

  const FabricLibrary* library_ = nullptr;
  Nobody nobody_;
  // These objects are closed in reverse order.
  FabricInfo info_;
  FabricObject<fid_fabric> fabric_;
  FabricObject<fid_domain> domain_;
  struct Slab {
    std::size_t count = 0;
    std::vector<std::byte> memory;
    std::unique_ptr<FabricBuffer[]>
        buffers;  // NOLINT(modernize-avoid-c-arrays): libfabric keeps their addresses
    FabricObject<fid_mr> registration;
  };
  std::vector<Slab> slabs_;
  FabricObject<fid_av> addresses_;
  FabricObject<fid_cq> completions_;
  FabricObject<fid_ep> endpoint_;
  std::vector<std::byte> address_;
  int descriptor_ = -1;
  std::size_t credits_ = 0;
  std::vector<FabricPeer*> peers_;
  std::vector<FabricBuffer*> free_;
  std::vector<FabricBuffer*> unposted_;  ///< buffers for which the provider had no room
};

}  // namespace impishim::wire
