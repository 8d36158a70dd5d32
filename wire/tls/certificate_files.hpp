// SPDX-License-Identifier: Apache-2.0
/// The files by which a system and the rendezvous server prove to each other who they are.
#pragma once

#include <optional>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// The user's choice of certificates. It holds names only, and never what the files contain.
struct CertificateFiles {
  std::string certificate;  ///< IMPISHIM_CERTIFICATE: own certificate, then intermediate ones (PEM)
  std::string key;          ///< IMPISHIM_PRIVATE_KEY: the private key of the first one (PEM)
  std::string authority;    ///< IMPISHIM_AUTHORITY: the authorities that are trusted (PEM)
  std::string server_name;  ///< IMPISHIM_SERVER_NAME; empty if it is not set

  /// Reads the variables. Returns nothing if none of the first three is set. Fails with
  /// kConfiguration if only some of them are set, or if there is a name without them.
  [[nodiscard]] static Result<std::optional<CertificateFiles>> from_environment();
};

/// Returns the name or address that the certificate of the server at `server` ("address:port") must
/// have: the user's name, or else the host of `server`. Returns an empty text, which is no
/// condition, if that host is a loopback address. Fails with kConfiguration if `server` has no
/// port.
[[nodiscard]] Result<std::string> expected_server_name(const CertificateFiles& files,
                                                       const std::string& server);

}  // namespace impishim::wire
