// SPDX-License-Identifier: Apache-2.0
// What there is of zstd_library.hpp if there is no zstd.h to build with.
#include <memory>

#include "wire/base/result.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {
namespace {

Error missing() {
  return {ErrorKind::kConfiguration,
          "this impishim was built without zstd (Debian: libzstd-dev): install it and build again"};
}

}  // namespace

Result<void> load_zstd() { return missing(); }

Result<std::unique_ptr<ZstdCompressor>> ZstdCompressor::make() { return missing(); }

Result<std::unique_ptr<ZstdDecompressor>> ZstdDecompressor::make() { return missing(); }

}  // namespace impishim::wire
