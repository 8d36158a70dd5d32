// SPDX-License-Identifier: Apache-2.0
/// The secret that the user gives all systems of a job, and when it is used.
#pragma once

#include <optional>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// The user's choice. With a secret, all connections of the job that leave a system are encrypted.
struct SharedSecret {
  std::optional<JobSecret> secret{};
  bool is_off = false;  ///< true if IMPISHIM_TLS=off

  /// Reads IMPISHIM_SECRET or IMPISHIM_SECRET_FILE (any number of bytes, read_private_file()), and
  /// IMPISHIM_TLS. Fails with kConfiguration if IMPISHIM_TLS is not auto, on or off, or if it is on
  /// and there is no secret; with kAuthentication if the secret is empty or its file is refused.
  [[nodiscard]] static Result<SharedSecret> from_environment();
};

/// Returns the terms of a connection to the rendezvous server. Fails as hmac_sha256() does.
[[nodiscard]] Result<TlsTerms> rendezvous_terms(TlsRole role, const JobSecret& secret);

}  // namespace impishim::wire
