// SPDX-License-Identifier: Apache-2.0
/// Whose variable or category an index of a call means, and where a name stands.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>

#include "shim/tool/tool_state.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/values/tool_values.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

/// An index of a call, for one kind of variables. `kCount` is the vendor's function that counts its
/// own, and `kTable` returns this library's.
template <ToolKind kKind, auto kCount, auto kTable>
struct ToolPlace {
  ToolIndices map{0};
  ToolIndices::Place at{.own = false, .index = 0};
  int code = MPI_SUCCESS;  ///< the vendor's, if the interface does not run

  explicit ToolPlace(int index) {
    int vendors = 0;
    code = kCount(&vendors);
    if (code != MPI_SUCCESS) return;
    map = ToolState::instance().indices(kKind, vendors);
    at = map.place(index);
  }
  /// Returns what the index means, if `at.own` is true.
  [[nodiscard]] const auto& own() const { return kTable()[static_cast<std::size_t>(at.index)]; }

  /// Does what MPI_T_..._get_index does: looks for a name among this library's for which `fits` is
  /// true, then by the vendor's function `vendors`.
  template <class Fits, class Vendors>
  [[nodiscard]] static int find(const char* name, int* index, const Fits& fits,
                                const Vendors& vendors) {
    if (name == nullptr || index == nullptr) return MPI_T_ERR_INVALID;
    const ToolPlace any(0);
    if (any.code != MPI_SUCCESS) return any.code;
    for (std::size_t i = 0; i < kTable().size(); ++i) {
      if (std::strcmp(kTable()[i].name, name) != 0 || !fits(kTable()[i])) continue;
      *index = any.map.of_own(static_cast<int>(i));
      return MPI_SUCCESS;
    }
    const int code = vendors();
    if (code == MPI_SUCCESS) *index = any.map.of_vendor(*index);
    return code;
  }
};

using SettingPlace = ToolPlace<ToolKind::kSetting, vendor::T_cvar_get_num, tool_settings>;
using StatisticPlace = ToolPlace<ToolKind::kStatistic, vendor::T_pvar_get_num, tool_statistics>;
using CategoryPlace = ToolPlace<ToolKind::kCategory, vendor::T_category_get_num, tool_categories>;

}  // namespace impishim::shim
