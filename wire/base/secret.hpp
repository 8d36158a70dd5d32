/// A job's secret, and the few primitives that prove knowledge of it: random bytes, SHA-256,
/// HMAC-SHA-256 (RFC 2104, FIPS 180-4).
///
/// The hashes are OpenSSL's. libcrypto is loaded at their first call, so that programs that do not
/// join a job never load it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/base/result.hpp"

namespace impishim {

/// The output of SHA-256 and of HMAC-SHA-256.
using Digest = std::array<std::byte, 32>;

/// Thirty-two random bytes that all processes of a job know and no other process does. Never
/// printed, and wiped when destroyed; the bytes can be read where they are sent or hashed.
class JobSecret {
 public:
  static constexpr std::size_t kSize = 32;

  explicit JobSecret(std::span<const std::byte, kSize> bytes);
  JobSecret(const JobSecret&) = default;
  JobSecret& operator=(const JobSecret&) = default;
  ~JobSecret();

  /// Returns a new secret. kSystem: the kernel gives no random bytes.
  [[nodiscard]] static Result<JobSecret> random();
  [[nodiscard]] std::span<const std::byte, kSize> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kSize> bytes_;
};

/// Fills `bytes` from the kernel's generator (getrandom(2)), which is safe after fork(). kSystem:
/// it failed.
[[nodiscard]] Result<void> fill_with_random(std::span<std::byte> bytes);

/// Returns the hash of `message`. kConfiguration: OpenSSL's libcrypto is not installed. kSystem: it
/// failed.
[[nodiscard]] Result<Digest> sha256(std::span<const std::byte> message);

/// Returns the authentication code of `message` under `key`. Errors: as sha256().
[[nodiscard]] Result<Digest> hmac_sha256(std::span<const std::byte> key,
                                         std::span<const std::byte> message);

/// Compares in a time that depends on the lengths alone, so that a guess does not learn how much of
/// it is right.
[[nodiscard]] bool equal_in_constant_time(std::span<const std::byte> a,
                                          std::span<const std::byte> b);

/// Overwrites `bytes` in a way that the compiler does not drop.
void wipe(std::span<std::byte> bytes);

}  // namespace impishim
