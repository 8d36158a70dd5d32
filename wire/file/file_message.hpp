// SPDX-License-Identifier: Apache-2.0
/// What a process asks of the system that has a file, and what it is answered: the messages of
/// files between systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"
#include "wire/message/operation.hpp"

namespace impishim::wire {

/// Contexts of these messages. No communicator has them.
inline constexpr ContextId kFileContext = kServiceContexts + 16;
inline constexpr ContextId kFileAnswerContext = kFileContext + 1;

/// The number of an open file in the job.
using FileId = std::uint64_t;

/// The values travel in messages.
enum class FileRequestKind : std::uint8_t {
  kWrite = 0,         ///< data for the pieces
  kRead = 1,          ///< the answer has the data of the pieces, less at the end of the file
  kFlush = 2,         ///< what was written before is in the file
  kSync = 3,          ///< it is on the storage device
  kSize = 4,          ///< the answer's value is the size of the file
  kAddToPointer = 5,  ///< adds `value` to a shared file pointer; answered by the value before
  kSetPointer = 6,    ///< sets a shared file pointer to `value`
  kNumberOfKinds = 7,
};

/// One message: a header of fixed size, the pieces, and the data.
struct FileRequest {
  static constexpr std::size_t kHeaderBytes = 48;
  static constexpr std::size_t kPieceBytes = 16;
  /// Bounds of one message, which bound the memory of a server.
  static constexpr std::size_t kMostPieces = 4096;
  static constexpr std::size_t kMostData = std::size_t{1} << 20U;
  static constexpr std::size_t kLongest = kHeaderBytes + kMostPieces * kPieceBytes + kMostData;

  FileRequestKind kind = FileRequestKind::kWrite;
  /// No other access sees a part of this one (MPI_File_set_atomicity).
  bool atomic = false;
  FileId file = 0;
  std::uint64_t pointer = 0;  ///< number of a shared file pointer
  std::int64_t value = 0;     ///< of a pointer
  std::vector<FilePiece> pieces;

  /// Returns the bytes of all pieces.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// Returns the message up to its data, with room for `data_bytes` bytes behind.
[[nodiscard]] std::vector<std::byte> encode_file_request(const FileRequest& request,
                                                         std::size_t data_bytes);

/// Sets the ticket in such a message.
void set_ticket(std::span<std::byte> message, std::uint64_t ticket);
/// Returns the ticket of a message that may not be valid: 0 if it is too short for one.
[[nodiscard]] std::uint64_t ticket_of(std::span<const std::byte> message);

/// A request that has arrived, and its data, which is a part of the message.
struct ArrivedFileRequest {
  FileRequest request;
  std::span<const std::byte> data;
};

/// Decodes a message. Fails with kProtocol if it is none that encode_file_request() writes: then a
/// piece goes beyond 63 bits, or the data is not as long as the pieces.
[[nodiscard]] Result<ArrivedFileRequest> decode_file_request(std::span<const std::byte> message);

/// The answer to a request.
struct FileAnswer {
  static constexpr std::size_t kHeaderBytes = 16;

  FileStatus status = FileStatus::kDone;
  std::int64_t value = 0;
};

/// Writes an answer to the first bytes of a message; its data stands behind them.
void encode_file_answer(const FileAnswer& answer, std::span<std::byte> message);
/// Decodes it. Fails with kProtocol if the message is too short, or its values are not defined.
[[nodiscard]] Result<FileAnswer> decode_file_answer(std::span<const std::byte> message);

}  // namespace impishim::wire
