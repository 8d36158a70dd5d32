// SPDX-License-Identifier: Apache-2.0
/// What impirun and its helpers need to start processes, to wait for them, to feed them, and to be
/// ended by signals.
#pragma once

#include <signal.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim {

/// Our descriptors in a program have numbers from here on, so they do not take numbers that the
/// program expects.
constexpr int kOutOfTheWay = 100;

/// Returns the error of a system call that has just failed: "cannot WHAT: " and the reason.
[[nodiscard]] Error call_failed(std::string_view what);

/// Returns a set of these signals without those that this process ignores. A signal that is blocked
/// arrives even if it is ignored, so nohup(1) would have no effect.
[[nodiscard]] sigset_t signals_among(std::initializer_list<int> signals);

/// Blocks signals and returns a signalfd for them, which does not block; it is invalid on failure.
[[nodiscard]] Descriptor watch_signals(const sigset_t& signals);

/// Replaces this process by a command, which is found in PATH. Returns only on failure.
[[nodiscard]] Error execute(const std::vector<std::string>& command);

/// Returns the path of this program. Fails with kSystem.
[[nodiscard]] Result<std::string> own_program();

/// Writes all of `text`, and waits for room. Returns 0, or the errno of the write that failed.
[[nodiscard]] int write_all(int descriptor, std::string_view text);

/// Reads at most `size` bytes, and waits for the first one. Returns their number; 0 at the end of
/// the input or on failure.
[[nodiscard]] std::size_t read_some(int descriptor, char* data, std::size_t size);

/// Reads exactly `size` bytes. Returns false if the input ends before.
[[nodiscard]] bool read_exactly(int descriptor, char* data, std::size_t size);

}  // namespace impishim
