// SPDX-License-Identifier: Apache-2.0
/// How a data access function of files accesses its data (MPI-4.0 table 14.1). The generated calls
/// name it.
#pragma once

#include <cstdint>

namespace impishim::shim {

struct FileWay {
  enum class Position : std::uint8_t { kExplicit, kIndividual, kShared, kOrdered };
  enum class Form : std::uint8_t { kBlocking, kNonblocking, kBegin, kEnd };

  bool writes = false;
  Position position = Position::kExplicit;
  bool collective = false;
  Form form = Form::kBlocking;

  /// Returns true if the place of the data is that of a shared file pointer.
  [[nodiscard]] constexpr bool shares_pointer() const {
    return position == Position::kShared || position == Position::kOrdered;
  }
};

}  // namespace impishim::shim
