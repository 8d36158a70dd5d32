// SPDX-License-Identifier: Apache-2.0
#include "shim/handle/hints.hpp"

#include <mpi.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shim/vendor.hpp"

namespace impishim::shim {

std::optional<std::string> hint(MPI_Info hints, const char* key) {
  if (hints == MPI_INFO_NULL) return std::nullopt;
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  int found = 0;
  const int code = vendor::Info_get(hints, key, MPI_MAX_INFO_VAL, value.data(), &found);
  if (code != MPI_SUCCESS || found == 0) return std::nullopt;
  return std::string(value.data());
}

ChangedHints::ChangedHints(MPI_Info hints,
                           std::initializer_list<std::pair<const char*, const char*>> changes) {
  const int code =
      hints == MPI_INFO_NULL ? vendor::Info_create(&hints_) : vendor::Info_dup(hints, &hints_);
  if (code != MPI_SUCCESS) {
    hints_ = MPI_INFO_NULL;
    return;
  }
  for (const auto& [key, value] : changes) vendor::Info_set(hints_, key, value);
}

ChangedHints::~ChangedHints() {
  if (hints_ != MPI_INFO_NULL) vendor::Info_free(&hints_);
}

}  // namespace impishim::shim
