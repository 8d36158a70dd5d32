// SPDX-License-Identifier: Apache-2.0
// A request to the metrics server, as it arrives: input in pieces of the size of its first byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.hpp"
#include "wire/watch/http_request.hpp"

using namespace impishim::wire;  // NOLINT(google-build-using-namespace)

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<HttpRequest> request;
  std::size_t end = 0;
  while (!request && end < all.size()) {
    end = std::min(end + piece, all.size());
    request = parse_http_request(all.substr(0, end));
  }
  if (!request) return 0;
  const std::string answer = http_answer(request->status, "text/plain", "body", request->head_only);
  FUZZ_REQUIRE(answer.starts_with("HTTP/1.1 "));
  if (request->status != 200) return 0;
  // What is taken has one head, and what follows does not change it.
  FUZZ_REQUIRE(request->path.starts_with('/'));
  FUZZ_REQUIRE(all.find("\r\n\r\n") <= kMaxRequestHead);
  const auto again = parse_http_request(std::string(all) + "x");
  FUZZ_REQUIRE(again && again->status == 200 && again->path == request->path);
  for (const char c : request->path) FUZZ_REQUIRE(c > ' ' && c < '\x7f');
  return 0;
}
