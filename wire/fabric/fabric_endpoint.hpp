/// This process's endpoint of a libfabric provider: buffers, messages out and in. What messages
/// mean, FabricChannel knows.
///
/// Threads: all calls are made under the owner's lock, so libfabric may count on FI_THREAD_DOMAIN.
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

/// Memory that messages leave from and arrive in. libfabric has it from post() or send() until the
/// completion.
struct FabricBuffer {
  fi_context2 context{};  ///< for the provider, and what completions are known by: the first member
  std::byte* bytes = nullptr;
  void* descriptor = nullptr;    ///< of the registered memory
  FabricPeer* sender = nullptr;  ///< whom to tell when it has left; null: it is for arrivals
  std::size_t begin = 0;         ///< of what has arrived and is not read yet
  std::size_t end = 0;
  FabricBuffer* next = nullptr;  ///< in a list of the holder's
};

/// One peer of an endpoint.
class FabricPeer {
 public:
  FabricPeer() = default;
  FabricPeer(const FabricPeer&) = delete;
  FabricPeer& operator=(const FabricPeer&) = delete;
  /// A message has arrived; the buffer is the peer's until it calls FabricEndpoint::post().
  virtual void arrived(FabricBuffer& buffer) = 0;
  /// What was sent has left, or will never: `error` is then negative. The buffer is free again.
  virtual void left(int error) = 0;

 protected:
  ~FabricPeer() = default;
};

struct CloseFabricObject {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using FabricObject = std::unique_ptr<Object, CloseFabricObject>;

class FabricEndpoint {
 private:
  struct Nobody final : FabricPeer {
    void arrived(FabricBuffer& /*buffer*/) override {}
    void left(int /*error*/) override {}
  };

 public:
  /// Largest message, with its header.
  static constexpr std::size_t kMessageSize = 16384;
  /// Messages of data that may be under way to one peer, and arrivals of other kinds that need no
  /// credit: greeting, end, and two returns of credits (each returns at least half of them).
  static constexpr std::size_t kCredits = 16;
  static constexpr std::size_t kFreeMessages = 4;

  /// Ready to receive from `peers` peers. `address`: numeric, of this machine, where the provider
  /// uses such; or empty.
  [[nodiscard]] static Result<std::shared_ptr<FabricEndpoint>> open(const std::string& provider,
                                                                    const std::string& address,
                                                                    std::size_t peers);

  [[nodiscard]] std::string provider() const { return info_->fabric_attr->prov_name; }
  [[nodiscard]] const fi_info& info() const { return *info_; }
  [[nodiscard]] const std::vector<std::byte>& address() const { return address_; }
  /// For each peer.
  [[nodiscard]] std::size_t credits() const { return credits_; }
  /// Readable when there may be completions, once may_sleep() has said so; -1: the provider has
  /// none.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::size_t inject_size() const { return info_->tx_attr->inject_size; }

  /// Messages that begin with a header for `channel` are this peer's.
  void attach(std::uint32_t channel, FabricPeer* peer);
  /// They are nobody's any more, and what it has sent concerns nobody.
  void forget(std::uint32_t channel, const FabricPeer* peer);
  /// The number for libfabric's calls of a peer with this address (fi_av_insert).
  [[nodiscard]] Result<fi_addr_t> insert(std::span<const std::byte> address);

  /// Removes the name of the shared memory that the provider `shm` keeps for this endpoint, so that
  /// nothing is left of a process that is killed. To be called when all peers have mapped it: each
  /// has sent a message.
  void unlink_shared_memory() const;

  /// A free buffer for sending.
  [[nodiscard]] Result<FabricBuffer*> take_buffer();
  void give_back(FabricBuffer& buffer);
  /// Sends the buffer's first `size` bytes; false: the provider is busy, and the buffer still the
  /// caller's. Then left() follows. `delivered`: only when they need this process no more
  /// (FI_TRANSMIT_COMPLETE).
  [[nodiscard]] Result<bool> send(fi_addr_t to, FabricBuffer& buffer, std::size_t size,
                                  bool delivered);
  /// The same for at most inject_size() bytes, which are copied; nothing follows.
  [[nodiscard]] Result<bool> inject(fi_addr_t to, std::span<const std::byte> bytes);
  /// An arrival has been read.
  void post(FabricBuffer& buffer);

  /// Moves the provider on and hands out what has completed; how many.
  std::size_t drive();
  /// The provider has nothing to hand out, and descriptor() will tell when it has (fi_trywait(3)).
  [[nodiscard]] bool may_sleep();

 private:
  [[nodiscard]] Result<void> open_objects(std::size_t peers);
  [[nodiscard]] Result<void> add_buffers(std::size_t count, std::vector<FabricBuffer*>& to);
  [[nodiscard]] Error error(const char* what, int status) const;
  void handle_error();
  void deliver(FabricBuffer& buffer, std::size_t size);

  const FabricLibrary* library_ = nullptr;
  Nobody nobody_;
  // Closed in the reverse order.
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
  std::vector<FabricBuffer*> unposted_;  ///< that the provider had no room for
};

}  // namespace impishim::wire
