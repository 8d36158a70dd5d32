// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_message.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {
namespace {

Error not_a_request(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

/// Places of the fields in a request, in bytes.
enum RequestPlace : std::size_t {
  kKind = 0,
  kAtomic = 1,
  kUnused = 2,  ///< up to the next field: zero
  kPieces = 4,
  kFile = 8,
  kTicket = 16,
  kPointer = 24,
  kValue = 32,
  kDataBytes = 40,
};

/// Places of the fields in an answer.
enum AnswerPlace : std::size_t {
  kStatus = 0,
  kAnswerUnused = 1,  ///< up to the next field: zero
  kAnswerValue = 8,
};

/// Returns true if a part of a message that has no field is zero.
bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; });
}

/// Decodes the pieces. Returns false if one has bytes that a file cannot have.
bool decode_pieces(std::span<const std::byte> bytes, std::vector<FilePiece>& pieces) {
  for (std::size_t at = 0; at < bytes.size(); at += FileRequest::kPieceBytes) {
    const auto offset = load_big_endian<std::uint64_t>(bytes.data() + at);
    const auto length = load_big_endian<std::uint64_t>(bytes.data() + at + 8);
    std::uint64_t end = 0;
    if (__builtin_add_overflow(offset, length, &end) || end > INT64_MAX ||
        length > FileRequest::kMostData)
      return false;
    pieces.push_back({offset, length});
  }
  return true;
}

}  // namespace

std::uint64_t FileRequest::bytes() const {
  std::uint64_t sum = 0;
  for (const FilePiece& piece : pieces) sum += piece.bytes;
  return sum;
}

std::vector<std::byte> encode_file_request(const FileRequest& request, std::size_t data_bytes) {
  std::vector<std::byte> message(FileRequest::kHeaderBytes +
                                 request.pieces.size() * FileRequest::kPieceBytes + data_bytes);
  std::byte* const at = message.data();
  at[kKind] = static_cast<std::byte>(request.kind);
  at[kAtomic] = static_cast<std::byte>(request.atomic ? 1 : 0);
  store_big_endian(at + kPieces, static_cast<std::uint32_t>(request.pieces.size()));
  store_big_endian(at + kFile, request.file);
  store_big_endian(at + kPointer, request.pointer);
  store_big_endian(at + kValue, request.value);
  store_big_endian(at + kDataBytes, static_cast<std::uint64_t>(data_bytes));
  std::byte* piece_at = at + FileRequest::kHeaderBytes;
  for (const FilePiece& piece : request.pieces) {
    store_big_endian(piece_at, piece.offset);
    store_big_endian(piece_at + 8, piece.bytes);
    piece_at += FileRequest::kPieceBytes;
  }
  return message;
}

void set_ticket(std::span<std::byte> message, std::uint64_t ticket) {
  store_big_endian(message.data() + kTicket, ticket);
}

std::uint64_t ticket_of(std::span<const std::byte> message) {
  return message.size() < kTicket + sizeof(std::uint64_t)
             ? 0
             : load_big_endian<std::uint64_t>(message.data() + kTicket);
}

Result<ArrivedFileRequest> decode_file_request(std::span<const std::byte> message) {
  if (message.size() < FileRequest::kHeaderBytes || message.size() > FileRequest::kLongest)
    return not_a_request("a request for a file has a length that none has");
  const std::byte* const at = message.data();
  ArrivedFileRequest arrived;
  FileRequest& request = arrived.request;
  const auto kind = static_cast<std::uint8_t>(at[kKind]);
  const auto atomic = static_cast<std::uint8_t>(at[kAtomic]);
  const auto pieces = load_big_endian<std::uint32_t>(at + kPieces);
  const auto data_bytes = load_big_endian<std::uint64_t>(at + kDataBytes);
  if (kind >= static_cast<std::uint8_t>(FileRequestKind::kNumberOfKinds) || atomic > 1 ||
      !is_zero(message.subspan(kUnused, kPieces - kUnused)) || pieces > FileRequest::kMostPieces ||
      data_bytes > FileRequest::kMostData ||
      message.size() != FileRequest::kHeaderBytes + pieces * FileRequest::kPieceBytes + data_bytes)
    return not_a_request("a request for a file has values that none has");
  request.kind = static_cast<FileRequestKind>(kind);
  request.atomic = atomic != 0;
  request.file = load_big_endian<std::uint64_t>(at + kFile);
  request.pointer = load_big_endian<std::uint64_t>(at + kPointer);
  request.value = load_big_endian<std::int64_t>(at + kValue);
  arrived.data = message.last(data_bytes);
  if (!decode_pieces(message.subspan(FileRequest::kHeaderBytes, pieces * FileRequest::kPieceBytes),
                     request.pieces))
    return not_a_request("a request for a file has a piece that no file has");
  const std::uint64_t bytes = request.bytes();
  const bool has_data = request.kind == FileRequestKind::kWrite;
  if (bytes > FileRequest::kMostData || data_bytes != (has_data ? bytes : 0))
    return not_a_request("a request for a file has less or more data than its pieces");
  return arrived;
}

void encode_file_answer(const FileAnswer& answer, std::span<std::byte> message) {
  for (std::size_t i = 0; i < FileAnswer::kHeaderBytes; ++i) message[i] = std::byte{0};
  message[kStatus] = static_cast<std::byte>(answer.status);
  store_big_endian(message.data() + kAnswerValue, answer.value);
}

Result<FileAnswer> decode_file_answer(std::span<const std::byte> message) {
  if (message.size() < FileAnswer::kHeaderBytes ||
      static_cast<std::uint8_t>(message[kStatus]) >=
          static_cast<std::uint8_t>(FileStatus::kNumberOfStatuses) ||
      !is_zero(message.subspan(kAnswerUnused, kAnswerValue - kAnswerUnused)))
    return not_a_request("an answer of a file's system is not one that the library sends");
  return FileAnswer{static_cast<FileStatus>(message[kStatus]),
                    load_big_endian<std::int64_t>(message.data() + kAnswerValue)};
}

}  // namespace impishim::wire
