// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/vendor_channel.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shim/datatype/vendor_count.hpp"
#include "shim/error/errors.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::shim {
namespace {

// Tags of the job's private communicator above those of handshakes (comm/communicator_make.hpp),
// which every vendor that this library knows allows.
constexpr int kRequestTag = 1 << 16;
constexpr int kDataTag = 1 << 17;
constexpr std::uint64_t kDataTags = 1U << 15U;

/// Returns the tag of data. Transfers of one pair of processes begin in the same order on both, so
/// equal tags of many do no harm.
int tag_of(wire::DataOf kind, std::uint64_t ticket) {
  return kDataTag + 2 * static_cast<int>(ticket % kDataTags) +
         (kind == wire::DataOf::kAnswer ? 1 : 0);
}

/// Data with gaps travels packed: the vendor does not know its layout.
class VendorTransfer final : public wire::DataTransfer {
 public:
  static std::unique_ptr<VendorTransfer> send(const wire::ConstBuffer& data, int to, int tag,
                                              MPI_Comm comm) {
    auto transfer = std::make_unique<VendorTransfer>();
    const std::byte* from = wire::moved(data.base, data.layout->first_offset());
    if (!data.layout->contiguous(data.count)) from = transfer->pack(data);
    const VendorCount bytes(data.packed_size(wire::Format::kNative), MPI_BYTE);
    transfer->code_ =
        vendor::Isend(from, bytes.count(), bytes.type(), to, tag, comm, &transfer->request_);
    return transfer;
  }
  static std::unique_ptr<VendorTransfer> receive(const wire::MutableBuffer& room, int from, int tag,
                                                 MPI_Comm comm) {
    auto transfer = std::make_unique<VendorTransfer>();
    std::byte* to = wire::moved(room.base, room.layout->first_offset());
    if (!room.layout->contiguous(room.count)) {
      transfer->packed_.resize(room.packed_size(wire::Format::kNative));
      transfer->room_ = room;
      to = transfer->packed_.data();
    }
    const VendorCount bytes(room.packed_size(wire::Format::kNative), MPI_BYTE);
    transfer->code_ =
        vendor::Irecv(to, bytes.count(), bytes.type(), from, tag, comm, &transfer->request_);
    return transfer;
  }

  [[nodiscard]] bool complete() override {
    if (code_ != MPI_SUCCESS || request_ == MPI_REQUEST_NULL) return true;
    int flag = 0;
    MPI_Status status;
    code_ = vendor::Test(&request_, &flag, &status);
    if (code_ != MPI_SUCCESS || flag == 0) return code_ != MPI_SUCCESS;
    if (room_) {
      wire::UnpackCursor cursor(*room_, wire::Format::kNative);
      unpacked_ = cursor.unpack(packed_).ok();
    }
    return true;
  }
  [[nodiscard]] bool failed() const override { return code_ != MPI_SUCCESS || !unpacked_; }

 private:
  const std::byte* pack(const wire::ConstBuffer& data) {
    wire::PackCursor cursor(data, wire::Format::kNative);
    packed_.resize(cursor.total());
    // The native form holds every value.
    static_cast<void>(cursor.pack(packed_));
    return packed_.data();
  }

  std::vector<std::byte> packed_;
  std::optional<wire::MutableBuffer> room_;  ///< where packed data goes
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
  bool unpacked_ = true;
};

}  // namespace

VendorChannel::VendorChannel(MPI_Comm comm, wire::WorldRank first) : comm_(comm), first_(first) {
  int size = 0;
  vendor::Comm_size(comm, &size);
  alone_ = size == 1;
  for (Slot& slot : slots_) {
    slot.room.resize(wire::WindowRequest::kHeaderBytes + kLayoutBytes + kInlineBytes);
    post(slot);
  }
}

VendorChannel::~VendorChannel() {
  for (Slot& slot : slots_) {
    if (slot.request == MPI_REQUEST_NULL) continue;
    vendor::Cancel(&slot.request);
    vendor::Wait(&slot.request, MPI_STATUS_IGNORE);
  }
}

void VendorChannel::post(Slot& slot) {
  const int code = vendor::Irecv(slot.room.data(), static_cast<int>(slot.room.size()), MPI_BYTE,
                                 MPI_ANY_SOURCE, kRequestTag, comm_, &slot.request);
  if (code_ == MPI_SUCCESS) code_ = code;
}

void VendorChannel::send(wire::WorldRank to, std::span<const std::byte> message,
                         wire::Departure /*departure*/) {
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.message.assign(message.begin(), message.end());
  outgoing.to = to - first_;
  if (alone_) ++untaken_;
}

/// Starts the sends that wait, in their order, and forgets those that are complete.
void VendorChannel::start_sends() {
  for (auto each = outgoing_.begin(); each != outgoing_.end() && code_ == MPI_SUCCESS;) {
    int flag = 0;
    if (each->started) {
      code_ = vendor::Test(&each->request, &flag, MPI_STATUS_IGNORE);
    } else {
      code_ = vendor::Isend(each->message.data(), static_cast<int>(each->message.size()), MPI_BYTE,
                            each->to, kRequestTag, comm_, &each->request);
      each->started = true;
    }
    each = flag != 0 ? outgoing_.erase(each) : std::next(each);
  }
}

std::unique_ptr<wire::DataTransfer> VendorChannel::send_data(wire::WorldRank to, wire::DataOf kind,
                                                             std::uint64_t ticket,
                                                             const wire::ConstBuffer& data) {
  return VendorTransfer::send(data, to - first_, tag_of(kind, ticket), comm_);
}

std::unique_ptr<wire::DataTransfer> VendorChannel::receive_data(wire::WorldRank from,
                                                                wire::DataOf kind,
                                                                std::uint64_t ticket,
                                                                const wire::MutableBuffer& room) {
  return VendorTransfer::receive(room, from - first_, tag_of(kind, ticket), comm_);
}

Result<std::optional<wire::WindowChannel::Arrived>> VendorChannel::take() {
  if (taken_ != nullptr) post(*std::exchange(taken_, nullptr));
  start_sends();
  if (alone_ && untaken_ == 0) return std::optional<Arrived>();
  Slot& slot = slots_[next_];
  int flag = 0;
  MPI_Status status;
  if (code_ == MPI_SUCCESS) code_ = vendor::Test(&slot.request, &flag, &status);
  if (code_ != MPI_SUCCESS) {
    return Error{ErrorKind::kSystem,
                 fmt::format("a message of one-sided communication inside this system: {}",
                             vendor_error_text(code_))};
  }
  if (flag == 0) return std::optional<Arrived>();
  int bytes = 0;
  vendor::Get_count(&status, MPI_BYTE, &bytes);
  next_ = (next_ + 1) % kSlots;
  taken_ = &slot;
  if (alone_) --untaken_;
  return std::optional(Arrived{first_ + status.MPI_SOURCE,
                               std::span(slot.room).first(static_cast<std::size_t>(bytes))});
}

}  // namespace impishim::shim
