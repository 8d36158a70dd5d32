// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/http_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace impishim::wire {
namespace {

constexpr int kOk = 200;
constexpr int kBad = 400;
constexpr int kNoMethod = 405;
constexpr int kTooLarge = 413;
constexpr int kLongHead = 431;
constexpr int kVersion = 505;

/// RFC 9110 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

/// RFC 9110 5.5: visible characters, spaces and tabs between them, and bytes above 0x7f.
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return is_visible(c) || c == ' ' || c == '\t' || (static_cast<unsigned char>(c) & 0x80U) != 0;
  });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

/// RFC 9112 2.3: "HTTP/", a digit, a dot, a digit.
bool is_version(std::string_view text) {
  constexpr std::string_view kForm = "HTTP/1.1";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::equal(
      text, kForm, [&](char c, char form) { return is_digit(form) ? is_digit(c) : c == form; });
}

/// Takes the next line, without its end. Nothing if there is none with CR LF.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  if (line.find_first_of("\r\n") != std::string_view::npos) return std::nullopt;
  return line;
}

/// Reads "GET /metrics HTTP/1.1" into `request`; `old` becomes true for HTTP/1.0.
void read_request_line(std::string_view line, HttpRequest& request, bool& old) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) {
    request.status = kBad;
    return;
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  old = version == "HTTP/1.0";
  request.head_only = method == "HEAD";
  if (!is_token(method) || !target.starts_with('/') || !std::ranges::all_of(target, is_visible) ||
      !is_version(version))
    request.status = kBad;
  else if (!old && version != "HTTP/1.1")
    request.status = kVersion;
  else if (method != "GET" && method != "HEAD")
    request.status = kNoMethod;
  request.path = target.substr(0, target.find('?'));
}

/// Checks one field. Returns the status.
int read_field(std::string_view line, int& hosts) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return kBad;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) return kBad;
  if (same_name(name, "host")) ++hosts;
  if (same_name(name, "transfer-encoding")) return kTooLarge;
  if (same_name(name, "content-length") && value != "0") return kTooLarge;
  return kOk;
}

std::string_view reason_of(int status) {
  switch (status) {
    case kOk:
      return "OK";
    case kBad:
      return "Bad Request";
    case 404:
      return "Not Found";
    case kNoMethod:
      return "Method Not Allowed";
    case kTooLarge:
      return "Content Too Large";
    case kLongHead:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "HTTP Version Not Supported";
  }
}

}  // namespace

std::optional<HttpRequest> parse_http_request(std::string_view bytes) {
  HttpRequest request;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() < kMaxRequestHead) return std::nullopt;
    request.status = kLongHead;
    return request;
  }
  if (end > kMaxRequestHead) {
    request.status = kLongHead;
    return request;
  }
  std::string_view rest = bytes.substr(0, end + 2);
  const auto first = take_line(rest);
  bool old = false;
  if (first)
    read_request_line(*first, request, old);
  else
    request.status = kBad;
  int hosts = 0;
  while (request.status == kOk && !rest.empty()) {
    const auto line = take_line(rest);
    request.status = line ? read_field(*line, hosts) : kBad;
  }
  if (request.status == kOk && (hosts > 1 || (hosts == 0 && !old))) request.status = kBad;
  return request;
}

std::string http_answer(int status, std::string_view content_type, std::string_view body,
                        bool head_only) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n", status,
      reason_of(status), content_type, body.size());
  if (status == kNoMethod) text += "Allow: GET, HEAD\r\n";
  text += "\r\n";
  if (!head_only) text += body;
  return text;
}

}  // namespace impishim::wire
