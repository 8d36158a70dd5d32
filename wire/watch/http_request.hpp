// SPDX-License-Identifier: Apache-2.0
/// The requests that the metrics server takes: HTTP/1.1 (RFC 9112), GET and HEAD without a body.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace impishim::wire {

/// Longest head of a request; a longer one is answered by 431.
constexpr std::size_t kMaxRequestHead = 8192;

struct HttpRequest {
  int status = 200;        ///< what to answer if it is not 200: the request is wrong
  bool head_only = false;  ///< HEAD
  std::string path;        ///< without the query
};

/// Reads a request from its beginning. Returns nothing while its head is incomplete. Whatever
/// RFC 9112 forbids is answered by an error: line ends without CR, spaces before a colon, folded
/// lines, control characters, no or several Host fields, a body.
[[nodiscard]] std::optional<HttpRequest> parse_http_request(std::string_view bytes);

/// Returns a whole answer, after which the connection ends.
[[nodiscard]] std::string http_answer(int status, std::string_view content_type,
                                      std::string_view body, bool head_only);

}  // namespace impishim::wire
