// SPDX-License-Identifier: Apache-2.0
// A request for a file, as a process of another system sends it, and an answer as the file's system
// sends it. Input: 1 byte (0: request, other: answer), then the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/base/result.hpp"
#include "wire/file/file_message.hpp"
#include "wire/file/file_status.hpp"

using namespace impishim::wire;  // NOLINT(google-build-using-namespace)
using impishim::fuzz::Input;

namespace {

void try_request(std::span<const std::byte> message) {
  const auto arrived = decode_file_request(message);
  if (!arrived) {
    FUZZ_REQUIRE(arrived.error().kind == impishim::ErrorKind::kProtocol);
    return;
  }
  const FileRequest& request = arrived->request;
  FUZZ_REQUIRE(request.pieces.size() <= FileRequest::kMostPieces);
  FUZZ_REQUIRE(request.bytes() <= FileRequest::kMostData);
  FUZZ_REQUIRE(arrived->data.size() ==
               (request.kind == FileRequestKind::kWrite ? request.bytes() : 0));
  for (const FilePiece& piece : request.pieces)
    FUZZ_REQUIRE(piece.offset <= INT64_MAX && piece.bytes <= INT64_MAX - piece.offset);
  // Nothing is lost: the message goes out as it came in.
  std::vector<std::byte> again = encode_file_request(request, arrived->data.size());
  FUZZ_REQUIRE(again.size() >= arrived->data.size());
  std::copy(arrived->data.begin(), arrived->data.end(),
            again.end() - static_cast<std::ptrdiff_t>(arrived->data.size()));
  set_ticket(again, ticket_of(message));
  FUZZ_REQUIRE(std::equal(again.begin(), again.end(), message.begin(), message.end()));
}

void try_answer(std::span<const std::byte> message) {
  const auto answer = decode_file_answer(message);
  if (!answer) {
    FUZZ_REQUIRE(answer.error().kind == impishim::ErrorKind::kProtocol);
    return;
  }
  std::vector<std::byte> again(FileAnswer::kHeaderBytes);
  encode_file_answer(*answer, again);
  FUZZ_REQUIRE(std::equal(again.begin(), again.end(), message.begin()));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.byte() == 0) {
    try_request(input.rest());
  } else {
    try_answer(input.rest());
  }
  return 0;
}
