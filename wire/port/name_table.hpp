// SPDX-License-Identifier: Apache-2.0
/// The names that a name server keeps, and its messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// What a process asks a name server. The values travel.
enum class NameRequestKind : std::uint8_t { kPublish = 1, kLookUp = 2, kUnpublish = 3 };

struct NameRequest {
  NameRequestKind kind = NameRequestKind::kLookUp;
  std::string service;
  std::string port;  ///< of kPublish and kUnpublish
};

/// How it went. The values travel.
enum class NameStatus : std::uint8_t {
  kDone = 0,
  kUnknown = 1,  ///< no such service is published
  kTaken = 2,    ///< another port is published under this name
  kRefused = 3,  ///< a text is too long, or the server keeps too many names
  kNumberOfStatuses = 4,
};

struct NameAnswer {
  NameStatus status = NameStatus::kDone;
  std::string port;  ///< of kLookUp
};

/// The published names. Not thread-safe.
class NameTable {
 public:
  static constexpr std::size_t kMostNames = 65536;
  static constexpr std::size_t kLongestText = 4096;

  [[nodiscard]] NameAnswer handle(const NameRequest& request);

 private:
  std::map<std::string, std::string, std::less<>> ports_;
};

[[nodiscard]] std::vector<std::byte> encode(const NameRequest& request);
[[nodiscard]] Result<NameRequest> decode_name_request(std::span<const std::byte> message);
[[nodiscard]] std::vector<std::byte> encode(const NameAnswer& answer);
[[nodiscard]] Result<NameAnswer> decode_name_answer(std::span<const std::byte> message);

}  // namespace impishim::wire
