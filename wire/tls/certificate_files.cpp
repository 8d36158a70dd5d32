// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/certificate_files.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"

namespace impishim::wire {
namespace {

std::string value_of(const char* variable) {
  const char* const text = secure_getenv(variable);
  return text == nullptr ? "" : text;
}

/// Returns true if `host` is a loopback address as text, or the name localhost.
bool is_loopback(const std::string& host) {
  constexpr unsigned kFirstByte = 24;
  constexpr unsigned kLoopbackNet = 127;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1)
    return ntohl(four.s_addr) >> kFirstByte == kLoopbackNet;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

}  // namespace

Result<std::optional<CertificateFiles>> CertificateFiles::from_environment() {
  CertificateFiles files{value_of("IMPISHIM_CERTIFICATE"), value_of("IMPISHIM_PRIVATE_KEY"),
                         value_of("IMPISHIM_AUTHORITY"), value_of("IMPISHIM_SERVER_NAME")};
  const int set =
      int{!files.certificate.empty()} + int{!files.key.empty()} + int{!files.authority.empty()};
  if (set == 3) return std::optional(std::move(files));
  if (set == 0 && files.server_name.empty()) return std::optional<CertificateFiles>();
  const char* const missing = files.certificate.empty() ? "IMPISHIM_CERTIFICATE"
                              : files.key.empty()       ? "IMPISHIM_PRIVATE_KEY"
                                                        : "IMPISHIM_AUTHORITY";
  return Error{
      ErrorKind::kConfiguration,
      fmt::format("{} is not set: certificates need IMPISHIM_CERTIFICATE, IMPISHIM_PRIVATE_KEY and "
                  "IMPISHIM_AUTHORITY, a file each (unset {} to use none)",
                  missing, set == 0 ? "IMPISHIM_SERVER_NAME" : "the others")};
}

Result<std::string> expected_server_name(const CertificateFiles& files, const std::string& server) {
  if (!files.server_name.empty()) return files.server_name;
  auto parts = split_address_and_port(server);
  if (!parts) return parts.error();
  std::string host = parts->first.substr(0, parts->first.find('%'));  // without an IPv6 scope
  if (is_loopback(host)) return std::string();
  return host;
}

}  // namespace impishim::wire
