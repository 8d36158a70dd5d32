// SPDX-License-Identifier: Apache-2.0
/// Messages of collectives between members in one system. They use the vendor's MPI on a
/// communicator's companion.
#pragma once

#include <mpi.h>

#include "collectives/core/groups.hpp"
#include "shim/coll/pending_list.hpp"

namespace impishim::shim {

/// A transport through the vendor's MPI. Ranks are those of the companion.
class VendorTransport final : public collectives::MemberTransport {
 public:
  /// Constructs a transport that adds `first_tag` to all tags.
  explicit VendorTransport(MPI_Comm companion, std::int32_t first_tag = 0)
      : companion_(companion), first_tag_(first_tag), everything_(*this) {}

  collectives::Pending& post_send(std::int32_t to, std::int32_t tag,
                                  const wire::ConstBuffer& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const wire::MutableBuffer& room) override;
  collectives::Pending& post_send(std::int32_t to, std::int32_t tag,
                                  const collectives::ConstData& data) override;
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const collectives::Data& room) override;
  /// Accepts one specific tag only, since messages in progress at the same time are told apart by
  /// their tags. `arrival` reports the requested size.
  collectives::Pending& post_receive(std::int32_t from, std::int32_t tag,
                                     const wire::MutableBuffer& room,
                                     collectives::Arrival& arrival) override;
  collectives::Pending& all_posted() override { return everything_; }

  /// Cancels the receives in progress. Nothing may be awaited afterwards.
  void give_up();
  /// Returns true if no receive is in progress.
  [[nodiscard]] bool is_quiet();

  /// Returns true if no message is in progress.
  [[nodiscard]] bool idle() const { return messages_.empty(); }
  /// Returns the first error code of the vendor that has not been raised yet, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  class Message;
  class Everything final : public collectives::Pending {
   public:
    explicit Everything(VendorTransport& messages) : messages_(messages) {}
    bool done() override;
    Result<void> outcome() override;
    [[nodiscard]] bool in_vendor() const override { return true; }

   private:
    VendorTransport& messages_;
  };

  collectives::Pending& send(int to, std::int32_t tag, const void* base, std::uint64_t count,
                             MPI_Datatype type);
  collectives::Pending& receive(int from, std::int32_t tag, void* base, std::uint64_t count,
                                MPI_Datatype type);

  MPI_Comm companion_;
  std::int32_t first_tag_;
  Everything everything_;
  PostedMessages<Message> messages_;
  int first_code_ = MPI_SUCCESS;
};

class VendorTransport::Message final : public PostedMessage<Message> {
 public:
  Message(PostedMessages<Message>& list, int& first_code)
      : PostedMessage(list), first_code_(first_code) {}
  bool done() override;
  Result<void> ended() override;
  [[nodiscard]] bool in_vendor() const override { return true; }
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  bool receives = false;

 private:
  int& first_code_;
};

}  // namespace impishim::shim
