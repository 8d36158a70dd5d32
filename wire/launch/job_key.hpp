// SPDX-License-Identifier: Apache-2.0
/// Keys and secrets that impirun makes, and how the systems that it starts get them.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/result.hpp"
#include "wire/startup/authentication.hpp"

namespace impishim::launch {

/// Returns a random key. Fails with kSystem.
[[nodiscard]] Result<std::uint64_t> random_key();

/// Returns 256 random bits as hexadecimal digits. Fails with kSystem.
[[nodiscard]] Result<std::string> random_secret();

/// Puts the key, whatever its source, into the environment, where launchers of this process find
/// it. Only the environment and files of a process are hidden from other users, so the key is never
/// on a command line.
void export_methods(const wire::AuthenticationMethods& methods);

/// Returns and exports a new key for a job that impirun starts as a whole, which only this job
/// knows.
[[nodiscard]] Result<wire::AuthenticationMethods> private_key();

}  // namespace impishim::launch
