// SPDX-License-Identifier: Apache-2.0
/// Names of services (MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name), kept by a server that
/// several jobs may share. The server is a port: whoever does not know the secret of its name
/// learns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {

/// Name of the variable that tells processes the server: the text of its port's name.
inline constexpr const char* kNameServerVariable = "IMPISHIM_NAME_SERVER";

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

/// Serves requests until `watched`, a descriptor, becomes readable. A client that sends nothing
/// delays others for at most ten seconds. Fails as OpenPort::accept() does.
[[nodiscard]] Result<void> serve_names(OpenPort& port, int watched);

/// Asks the server. Fails as connect_to_port() and Conversation do.
[[nodiscard]] Result<NameAnswer> ask_name_server(const PortName& server,
                                                 const NameRequest& request);

}  // namespace impishim::wire
