// SPDX-License-Identifier: Apache-2.0
#include "shim/io/shipped_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shim/completion/wait.hpp"
#include "wire/base/mutex.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/file/file_client.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_steps.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

using wire::FileStatus;

/// Returns how many servers an access divides its data among. One lock covers an atomic access, so
/// one server carries it out.
std::size_t servers_for(const FileServers& servers, bool atomic) {
  return atomic ? 1 : servers.ranks.size();
}

wire::FileRequest request_for(const FileServers& servers, wire::FileRequestKind kind) {
  wire::FileRequest request;
  request.kind = kind;
  request.file = servers.file;
  return request;
}

}  // namespace

ShippedRead::ShippedRead(const FileServers& servers, const FileRange& range,
                         wire::MutableBuffer buffer)
    : servers_(servers),
      buffer_(std::move(buffer)),
      atomic_(range.atomic),
      steps_(range.view, range.first, buffer_.packed_size(range.format),
             servers_for(servers, range.atomic)),
      cursor_(buffer_, range.format) {}

void ShippedRead::ask() {
  while (!all_asked_ && asked_.size() < kMostAsked) {
    std::optional<wire::FileStep> step = steps_.next();
    if (!step) {
      all_asked_ = true;
      return;
    }
    wire::FileRequest request = request_for(servers_, wire::FileRequestKind::kRead);
    request.atomic = atomic_;
    request.pieces = std::move(step->pieces);
    asked_.push_back(
        {step->bytes, servers_.client.start(servers_.ranks[step->server],
                                            wire::encode_file_request(request, 0), step->bytes)});
  }
}

/// Stores an answer's data. At the end of the file, and behind an error, nothing more is asked for
/// or stored.
void ShippedRead::store(const Asked& asked) {
  if (status_ != FileStatus::kDone || ended_) return;
  status_ = asked.call->answer().status;
  const std::span<const std::byte> data = asked.call->data();
  if (status_ == FileStatus::kDone && !cursor_.unpack(data).ok()) status_ = FileStatus::kOther;
  bytes_ += data.size();
  if (status_ == FileStatus::kDone && data.size() == asked.bytes) return;
  all_asked_ = true;
  ended_ = true;
}

bool ShippedRead::advance() {
  ask();
  while (!asked_.empty() && asked_.front().call->complete()) {
    store(asked_.front());
    asked_.pop_front();
    ask();
  }
  return asked_.empty();
}

void ShippedFile::note(wire::FileStatus status) {
  if (error_ == FileStatus::kDone) error_ = status;
}

wire::FileStatus ShippedFile::take_error() {
  const MutexLock lock(mutex_);
  return std::exchange(error_, FileStatus::kDone);
}

/// Waits until the writes under way hold at most this number of bytes. Notes the errors of the
/// writes that have ended.
void ShippedFile::collect(std::size_t most_under_way) {
  drive_until(job_, false, [&] {
    const MutexLock lock(mutex_);
    while (!writes_.empty() && writes_.front()->complete()) {
      note(writes_.front()->answer().status);
      under_way_ -= writes_.front()->memory();
      writes_.pop_front();
    }
    return under_way_ <= most_under_way;
  });
}

wire::FileStatus ShippedFile::write(const FileRange& range, const wire::ConstBuffer& data) {
  wire::PackCursor cursor(data, range.format);
  wire::FileSteps steps(range.view, range.first, cursor.total(),
                        servers_for(servers_, range.atomic));
  while (std::optional<wire::FileStep> step = steps.next()) {
    wire::FileRequest request = request_for(servers_, wire::FileRequestKind::kWrite);
    request.atomic = range.atomic;
    request.pieces = std::move(step->pieces);
    std::vector<std::byte> message = wire::encode_file_request(request, step->bytes);
    if (!cursor.pack(std::span(message).last(step->bytes)).ok()) return FileStatus::kOther;
    auto call = servers_.client.start(servers_.ranks[step->server], std::move(message), 0);
    {
      const MutexLock lock(mutex_);
      under_way_ += call->memory();
      writes_.push_back(std::move(call));
    }
    collect(kMostUnderWay);
  }
  if (range.atomic) collect(0);
  return take_error();
}

/// Sends a request, and waits for the answer.
wire::FileAnswer ShippedFile::ask(std::size_t server, const wire::FileRequest& request) {
  const auto call =
      servers_.client.start(servers_.ranks[server], wire::encode_file_request(request, 0), 0);
  drive_until(job_, false, [&] { return call->complete(); });
  return call->answer();
}

wire::FileStatus ShippedFile::finish_writes(wire::FileRequestKind end) {
  std::vector<std::unique_ptr<wire::FileCall>> ends;
  for (const wire::WorldRank server : servers_.ranks) {
    ends.push_back(
        servers_.client.start(server, wire::encode_file_request(request_for(servers_, end), 0), 0));
  }
  collect(0);
  drive_until(job_, false, [&] {
    return std::ranges::all_of(ends, [](const auto& call) { return call->complete(); });
  });
  for (const auto& call : ends) {
    const MutexLock lock(mutex_);
    note(call->answer().status);
  }
  return take_error();
}

wire::FileStatus ShippedFile::size(std::uint64_t& bytes) {
  // The servers hold back what is written: each is asked, and the last bytes count.
  FileStatus status = FileStatus::kDone;
  bytes = 0;
  for (std::size_t server = 0; server < servers_.ranks.size() && status == FileStatus::kDone;
       ++server) {
    const wire::FileAnswer answer =
        ask(server, request_for(servers_, wire::FileRequestKind::kSize));
    status = answer.status;
    bytes = std::max(bytes, static_cast<std::uint64_t>(answer.value));
  }
  return status;
}

wire::FileStatus ShippedFile::add_to_pointer(std::uint64_t pointer, std::int64_t value,
                                             std::int64_t& before) {
  wire::FileRequest request = request_for(servers_, wire::FileRequestKind::kAddToPointer);
  request.pointer = pointer;
  request.value = value;
  const wire::FileAnswer answer = ask(0, request);
  before = answer.value;
  return answer.status;
}

wire::FileStatus ShippedFile::set_pointer(std::uint64_t pointer, std::int64_t value) {
  wire::FileRequest request = request_for(servers_, wire::FileRequestKind::kSetPointer);
  request.pointer = pointer;
  request.value = value;
  return ask(0, request).status;
}

}  // namespace impishim::shim
