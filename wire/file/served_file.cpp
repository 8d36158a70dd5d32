// SPDX-License-Identifier: Apache-2.0
#include "wire/file/served_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"
#include "wire/file/stored_file.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Locks all bytes between the first and the last of an access, if it is atomic.
class AtomicAccess {
 public:
  AtomicAccess(const FileRequest& request, const StoredFile& file) {
    if (!request.atomic || request.pieces.empty()) return;
    std::uint64_t first = UINT64_MAX;
    std::uint64_t last = 0;
    for (const FilePiece& piece : request.pieces) {
      first = std::min(first, piece.offset);
      last = std::max(last, piece.offset + piece.bytes);
    }
    lock_.emplace(file.descriptor(), first, last);
  }
  [[nodiscard]] FileStatus status() const {
    return lock_.has_value() ? lock_->status() : FileStatus::kDone;
  }

 private:
  std::optional<FileRangeLock> lock_;
};

}  // namespace

FileStatus ServedFile::flush() { return buffer_.flush(file_); }

/// Writes what is collected. Returns an error that this process was not told yet.
FileStatus ServedFile::flush_for(WorldRank source) {
  static_cast<void>(flush());
  return losses_told_[source] == buffer_.losses() ? FileStatus::kDone : buffer_.latest_loss();
}

FileStatus ServedFile::write(const ArrivedFileRequest& arrived) {
  if (!arrived.request.atomic) return buffer_.add(arrived.request.pieces, arrived.data, file_);
  const AtomicAccess access(arrived.request, file_);
  FileStatus status = access.status();
  if (status == FileStatus::kDone)
    status = buffer_.add(arrived.request.pieces, arrived.data, file_);
  const FileStatus flushed = flush();
  return status == FileStatus::kDone ? flushed : status;
}

/// Appends the data to the message.
FileAnswer ServedFile::read(const FileRequest& request, std::vector<std::byte>& message) {
  FileAnswer answer;
  // A process reads what it has written.
  answer.status = flush();
  const AtomicAccess access(request, file_);
  if (answer.status == FileStatus::kDone) answer.status = access.status();
  if (answer.status != FileStatus::kDone) return answer;
  const std::size_t before = message.size();
  message.resize(before + request.bytes());
  std::uint64_t read = 0;
  answer.status = file_.read(request.pieces, std::span(message).subspan(before), read);
  answer.value = static_cast<std::int64_t>(read);
  message.resize(before + read);
  return answer;
}

FileAnswer ServedFile::answer_of_pointer(const FileRequest& request) {
  FileAnswer answer;
  if (pointers_ == nullptr) {
    answer.status = FileStatus::kBadRequest;
  } else if (request.kind == FileRequestKind::kAddToPointer) {
    answer.status = pointers_->add(request.pointer, request.value, answer.value);
  } else {
    answer.status = pointers_->set(request.pointer, request.value);
  }
  return answer;
}

FileAnswer ServedFile::answer_without_data(WorldRank source, const ArrivedFileRequest& arrived) {
  const FileRequest& request = arrived.request;
  FileAnswer answer;
  switch (request.kind) {
    case FileRequestKind::kWrite:
      answer.status = write(arrived);
      break;
    case FileRequestKind::kFlush:
      answer.status = flush_for(source);
      break;
    case FileRequestKind::kSync:
      answer.status = flush_for(source);
      if (answer.status == FileStatus::kDone) answer.status = file_.sync();
      break;
    case FileRequestKind::kSize: {
      std::uint64_t size = 0;
      answer.status = flush();
      if (answer.status == FileStatus::kDone) answer.status = file_.size(size);
      answer.value = static_cast<std::int64_t>(size);
      break;
    }
    case FileRequestKind::kAddToPointer:
    case FileRequestKind::kSetPointer:
      return answer_of_pointer(request);
    default:
      answer.status = FileStatus::kBadRequest;
  }
  return answer;
}

std::vector<std::byte> ServedFile::carry_out(WorldRank source, const ArrivedFileRequest& arrived) {
  std::vector<std::byte> message(FileAnswer::kHeaderBytes);
  const std::uint64_t losses = buffer_.losses();
  const FileAnswer answer = arrived.request.kind == FileRequestKind::kRead
                                ? read(arrived.request, message)
                                : answer_without_data(source, arrived);
  // The answer tells this process of data lost now; losses before it are told by its next flush.
  std::uint64_t& told = losses_told_[source];
  const bool flushed = arrived.request.kind == FileRequestKind::kFlush ||
                       arrived.request.kind == FileRequestKind::kSync;
  if (flushed || told == losses) told = buffer_.losses();
  encode_file_answer(answer, message);
  return message;
}

}  // namespace impishim::wire
