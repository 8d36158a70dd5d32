// SPDX-License-Identifier: Apache-2.0
/// The secret of a job, and the primitives that prove knowledge of it: random bytes, SHA-256,
/// HMAC-SHA-256 (RFC 2104, FIPS 180-4).
///
/// OpenSSL computes the hashes. libcrypto is loaded at the first call, so programs that do not join
/// a job never load it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/base/result.hpp"

namespace impishim {

/// The output of SHA-256 and of HMAC-SHA-256.
using Digest = std::array<std::byte, 32>;

/// Thirty-two random bytes that all processes of a job know and no other process knows. The secret
/// is never printed, and is wiped when it is destroyed. The bytes can be read, to send or hash
/// them.
class JobSecret {
 public:
  static constexpr std::size_t kSize = 32;

  explicit JobSecret(std::span<const std::byte, kSize> bytes);
  JobSecret(const JobSecret&) = default;
  JobSecret& operator=(const JobSecret&) = default;
  ~JobSecret();

  /// Returns a new secret. Fails with kSystem if the kernel gives no random bytes.
  [[nodiscard]] static Result<JobSecret> random();
  [[nodiscard]] std::span<const std::byte, kSize> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kSize> bytes_;
};

/// Fills `bytes` from the kernel's generator (getrandom(2)), which is safe after fork(). Fails with
/// kSystem if the generator fails.
[[nodiscard]] Result<void> fill_with_random(std::span<std::byte> bytes);

/// Returns the SHA-256 hash of `message`. Fails with kConfiguration if OpenSSL's libcrypto is not
/// installed, and with kSystem if libcrypto fails.
[[nodiscard]] Result<Digest> sha256(std::span<const std::byte> message);

/// Returns the HMAC-SHA-256 of `message` under `key`. Fails like sha256().
[[nodiscard]] Result<Digest> hmac_sha256(std::span<const std::byte> key,
                                         std::span<const std::byte> message);

/// Returns true if `a` and `b` are equal. The time depends on the lengths only, so an attacker
/// cannot learn how much of a guess is right.
[[nodiscard]] bool equal_in_constant_time(std::span<const std::byte> a,
                                          std::span<const std::byte> b);

/// Overwrites `bytes` in a way that the compiler cannot optimize away.
void wipe(std::span<std::byte> bytes);

}  // namespace impishim
