// SPDX-License-Identifier: Apache-2.0
/// Emulates the sending half of the kernel's TLS for the process that it is linked with or loaded
/// into, since the kernel may have none: its setsockopt(2) takes TCP_ULP and TLS_TX, and the calls
/// that write to such a socket make records (RFC 8446 5.2). OpenSSL computes them. At its end, the
/// process prints how many it made, if any.
#pragma once

#include <atomic>
#include <cstdint>

namespace impishim::test {

struct EmulatedKernelTls {
  std::atomic<bool> has_tls = true;        ///< false: as a kernel without the module
  std::atomic<bool> takes_keys = true;     ///< false: as a kernel without the cipher
  std::atomic<std::uint64_t> records = 0;  ///< that were made
};

EmulatedKernelTls& emulated_kernel_tls();

}  // namespace impishim::test
