// SPDX-License-Identifier: Apache-2.0
#include "wire/fabric/fabric_endpoint.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/fabric/fabric_library.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kEntriesAtOnce = 16;

/// Calls a libfabric function that fills in a pointer to a new object.
template <class Object, class Open>
int make(FabricObject<Object>& object, const Open& open) {
  Object* made = nullptr;
  const int status = open(&made);
  if (status == 0) object.reset(made);
  return status;
}

}  // namespace

Error FabricEndpoint::error(const char* what, int status) const {
  return {ErrorKind::kSystem, fmt::format("libfabric, provider {}: {}: {}", provider(), what,
                                          library_->strerror(-status))};
}

Result<std::shared_ptr<FabricEndpoint>> FabricEndpoint::open(const std::string& provider,
                                                             const std::string& address,
                                                             std::size_t peers) {
  auto library = FabricLibrary::load();
  if (!library) return library.error();
  auto info =
      find_fabric(**library, provider, address, std::bit_ceil(peers * (kCredits + kFreeMessages)));
  if (!info) return info.error();
  auto endpoint = std::make_shared<FabricEndpoint>();
  endpoint->library_ = *library;
  endpoint->info_ = std::move(*info);
  auto opened = endpoint->open_objects(peers);
  if (!opened) return opened.error();
  return endpoint;
}

Result<void> FabricEndpoint::open_objects(std::size_t peers) {
  const std::size_t room = info_->rx_attr->size / std::max<std::size_t>(peers, 1);
  if (room <= kFreeMessages + 1) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("libfabric, provider {}: {} messages can arrive at once, too few for {} "
                    "peers: use more processes per host, or IMPISHIM_FABRIC=none",
                    provider(), info_->rx_attr->size, peers)};
  }
  credits_ = std::min(kCredits, room - kFreeMessages);
  fi_info& info = *info_;
  int status = make(fabric_, [&](fid_fabric** made) {
    return library_->fabric(info.fabric_attr, made, nullptr);
  });
  if (status != 0) return error("fi_fabric failed", status);
  status = make(domain_,
                [&](fid_domain** made) { return fi_domain(fabric_.get(), &info, made, nullptr); });
  if (status != 0) return error("fi_domain failed", status);
  fi_av_attr av{};
  av.type = info.domain_attr->av_type;
  av.count = peers;
  status = make(addresses_,
                [&](fid_av** made) { return fi_av_open(domain_.get(), &av, made, nullptr); });
  if (status != 0) return error("fi_av_open failed", status);
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_MSG;
  cq.size = 2 * peers * (credits_ + kFreeMessages);
  cq.wait_obj = FI_WAIT_FD;
  const auto open_cq = [&](fid_cq** made) { return fi_cq_open(domain_.get(), &cq, made, nullptr); };
  status = make(completions_, open_cq);
  const bool announces = status == 0;
  if (!announces) {
    cq.wait_obj = FI_WAIT_NONE;
    status = make(completions_, open_cq);
  }
  if (status != 0) return error("fi_cq_open failed", status);
  if (announces) status = fi_control(&completions_->fid, FI_GETWAIT, &descriptor_);
  if (status != 0) return error("the completion queue has no descriptor", status);
  status = make(endpoint_,
                [&](fid_ep** made) { return fi_endpoint(domain_.get(), &info, made, nullptr); });
  if (status != 0) return error("fi_endpoint failed", status);
  status = fi_ep_bind(endpoint_.get(), &addresses_->fid, 0);
  if (status == 0) status = fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (status == 0) status = fi_enable(endpoint_.get());
  if (status != 0) return error("the endpoint cannot be enabled", status);
  std::size_t size = 0;
  status = fi_getname(&endpoint_->fid, nullptr, &size);
  address_.resize(size);
  if (size > 0) status = fi_getname(&endpoint_->fid, address_.data(), &size);
  if (status != 0 || size == 0) return error("fi_getname failed", status);
  address_.resize(size);
  std::vector<FabricBuffer*> arrivals;
  auto added = add_buffers(peers * (credits_ + kFreeMessages), arrivals);
  if (!added) return added.error();
  for (FabricBuffer* buffer : arrivals) post(*buffer);
  return {};
}

Result<void> FabricEndpoint::add_buffers(std::size_t count, std::vector<FabricBuffer*>& to) {
  Slab slab;
  slab.count = count;
  slab.memory.resize(count * kMessageSize);
  slab.buffers = std::make_unique<FabricBuffer[]>(count);  // NOLINT(modernize-avoid-c-arrays)
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
    const int status = make(slab.registration, [&](fid_mr** made) {
      return fi_mr_reg(domain_.get(), slab.memory.data(), slab.memory.size(), FI_SEND | FI_RECV, 0,
                       0, 0, made, nullptr);
    });
    if (status != 0) return error("memory cannot be registered (see ulimit -l)", status);
  }
  for (std::size_t i = 0; i < count; ++i) {
    FabricBuffer& buffer = slab.buffers[i];
    buffer.bytes = slab.memory.data() + i * kMessageSize;
    buffer.descriptor = slab.registration ? fi_mr_desc(slab.registration.get()) : nullptr;
    to.push_back(&buffer);
  }
  slabs_.push_back(std::move(slab));
  return {};
}

void FabricEndpoint::attach(std::uint32_t channel, FabricPeer* peer) {
  if (peers_.size() <= channel) peers_.resize(channel + 1);
  peers_[channel] = peer;
}

void FabricEndpoint::forget(std::uint32_t channel, const FabricPeer* peer) {
  attach(channel, nullptr);
  for (const Slab& slab : slabs_) {
    for (std::size_t i = 0; i < slab.count; ++i) {
      if (slab.buffers[i].sender == peer) slab.buffers[i].sender = &nobody_;
    }
  }
}

Result<fi_addr_t> FabricEndpoint::insert(std::span<const std::byte> address) {
  // libfabric is not told the length, and must not read beyond the end of the address.
  const bool is_text = info_->addr_format == FI_ADDR_STR;
  if (is_text ? address.back() != std::byte{0} : address.size() != address_.size()) {
    return Error{ErrorKind::kProtocol, "an address of libfabric of the wrong form"};
  }
  fi_addr_t number = FI_ADDR_UNSPEC;
  const int inserted = fi_av_insert(addresses_.get(), address.data(), 1, &number, 0, nullptr);
  if (inserted != 1)
    return error("the peer's address is refused", inserted < 0 ? inserted : -FI_EINVAL);
  return number;
}

void FabricEndpoint::unlink_shared_memory() const {
  // Addresses of this provider are "fi_shm://" and the name of the memory (fi_shm(7)).
  constexpr std::string_view kPrefix = "fi_shm://";
  const std::string_view address(reinterpret_cast<const char*>(address_.data()), address_.size());
  if (!address.starts_with(kPrefix)) return;
  const std::string name(
      address.substr(kPrefix.size(), address.find('\0', kPrefix.size()) - kPrefix.size()));
  if (name.empty() || name.find('/') != std::string::npos) return;
  if (shm_unlink(("/" + name).c_str()) != 0) {
    log(LogArea::kChannel, LogLevel::kDebug, "libfabric's shared memory {} cannot be unlinked: {}",
        name, std::strerror(errno));
  }
}

Result<FabricBuffer*> FabricEndpoint::take_buffer() {
  if (free_.empty()) {
    auto added = add_buffers(credits_, free_);
    if (!added) return added.error();
  }
  FabricBuffer* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void FabricEndpoint::give_back(FabricBuffer& buffer) { free_.push_back(&buffer); }

Result<bool> FabricEndpoint::send(fi_addr_t to, FabricBuffer& buffer, std::size_t size,
                                  bool delivered) {
  ssize_t status = 0;
  if (delivered) {
    const iovec piece{buffer.bytes, size};
    fi_msg message{};
    message.msg_iov = &piece;
    message.desc = &buffer.descriptor;
    message.iov_count = 1;
    message.addr = to;
    message.context = &buffer.context;
    status = fi_sendmsg(endpoint_.get(), &message, FI_COMPLETION | FI_TRANSMIT_COMPLETE);
  } else {
    status = fi_send(endpoint_.get(), buffer.bytes, size, buffer.descriptor, to, &buffer.context);
  }
  if (status == 0) return true;
  if (status == -FI_EAGAIN) return false;
  return error("a message cannot be sent", static_cast<int>(status));
}

Result<bool> FabricEndpoint::inject(fi_addr_t to, std::span<const std::byte> bytes) {
  const ssize_t status = fi_inject(endpoint_.get(), bytes.data(), bytes.size(), to);
  if (status == 0) return true;
  if (status == -FI_EAGAIN) return false;
  return error("a message cannot be sent", static_cast<int>(status));
}

void FabricEndpoint::post(FabricBuffer& buffer) {
  const ssize_t status = fi_recv(endpoint_.get(), buffer.bytes, kMessageSize, buffer.descriptor,
                                 FI_ADDR_UNSPEC, &buffer.context);
  if (status != 0) unposted_.push_back(&buffer);
}

std::size_t FabricEndpoint::drive() {
  std::array<fi_cq_msg_entry, kEntriesAtOnce> entries;
  const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
  if (count == -FI_EAVAIL) {
    handle_error();
    return 1;
  }
  for (std::size_t i = 0; count > 0 && i < static_cast<std::size_t>(count); ++i) {
    auto& buffer = *static_cast<FabricBuffer*>(entries[i].op_context);
    if (buffer.sender == nullptr) {
      deliver(buffer, entries[i].len);
    } else {
      give_back(buffer);
      buffer.sender->left(0);
    }
  }
  if (!unposted_.empty()) {
    for (FabricBuffer* buffer : std::exchange(unposted_, {})) post(*buffer);
  }
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

void FabricEndpoint::deliver(FabricBuffer& buffer, std::size_t size) {
  const auto channel =
      size < FabricHeader::kSize ? peers_.size() : FabricHeader::decode(buffer.bytes).channel;
  if (channel >= peers_.size() || peers_[channel] == nullptr) {
    log(LogArea::kChannel, LogLevel::kDebug, "libfabric: a message of {} bytes for no channel",
        size);
    post(buffer);
    return;
  }
  buffer.begin = FabricHeader::kSize;
  buffer.end = size;
  peers_[channel]->arrived(buffer);
}

void FabricEndpoint::handle_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.get(), &entry, 0) != 1 || entry.op_context == nullptr) return;
  auto& buffer = *static_cast<FabricBuffer*>(entry.op_context);
  log(LogArea::kChannel, LogLevel::kDebug, "libfabric: an operation failed: {}",
      library_->strerror(entry.err));
  if (buffer.sender == nullptr) {
    // A peer that dies in the middle of a message releases the buffer and must not affect other
    // peers.
    post(buffer);
    return;
  }
  give_back(buffer);
  buffer.sender->left(-entry.err);
}

bool FabricEndpoint::may_sleep() {
  if (!unposted_.empty()) return false;
  fid* waited_for = &completions_->fid;
  return fi_trywait(fabric_.get(), &waited_for, 1) == 0;
}

}  // namespace impishim::wire
