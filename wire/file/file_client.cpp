// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_client.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

FileAnswer FileCall::answer() const {
  if (receive_.result.error) return {FileStatus::kBadRequest, 0};
  const auto decoded = decode_file_answer(std::span(room_).first(receive_.result.native_bytes));
  return decoded ? *decoded : FileAnswer{FileStatus::kBadRequest, 0};
}

std::span<const std::byte> FileCall::data() const {
  const auto bytes = std::span(room_).first(receive_.result.native_bytes);
  return bytes.size() < FileAnswer::kHeaderBytes ? std::span<const std::byte>()
                                                 : bytes.subspan(FileAnswer::kHeaderBytes);
}

std::unique_ptr<FileCall> FileClient::start(WorldRank server, std::vector<std::byte> message,
                                            std::size_t answer_bytes) {
  auto call = std::make_unique<FileCall>();
  const std::uint64_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  call->message_ = std::move(message);
  set_ticket(call->message_, ticket);
  call->room_.resize(FileAnswer::kHeaderBytes + answer_bytes);
  const TypeLayout* const bytes = &TypeLayout::basic(BasicType::kByte);
  call->receive_.context = kFileAnswerContext;
  call->receive_.source = server;
  call->receive_.tag = static_cast<std::int32_t>(ticket & 0x7fffffffU);
  call->receive_.buffer = {call->room_.data(), call->room_.size(), bytes};
  engine_.start(call->receive_);
  call->send_.destination = server;
  call->send_.context = kFileContext;
  call->send_.source_rank = here_;
  call->send_.buffer = {call->message_.data(), call->message_.size(), bytes};
  engine_.start(call->send_);
  return call;
}

}  // namespace impishim::wire
