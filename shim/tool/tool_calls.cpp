// SPDX-License-Identifier: Apache-2.0
// MPI_T_init_thread, MPI_T_finalize, MPI_T_enum_* and MPI_T_category_* (MPI-4.0 15.3.4, 15.3.9).
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "shim/entry_points.hpp"
#include "shim/tool/tool_place.hpp"
#include "shim/tool/tool_state.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/tool/vendor_settings.hpp"
#include "shim/values/tool_values.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Maps the first entries of a vendor's list of indices into the common sequence.
void map_indices(const ToolIndices& map, int count, int length, int* indices) {
  for (int i = 0; i < std::min(count, length); ++i) indices[i] = map.of_vendor(indices[i]);
}

/// Lists `count` indices of this library's, of which `length` have room.
void list_own(const ToolIndices& map, int first, int count, int length, int* indices) {
  for (int i = 0; i < std::min(count, length); ++i) indices[i] = map.of_own(first + i);
}

int count_settings(const ToolCategory& category) {
  return category.has_settings ? static_cast<int>(tool_settings().size()) : 0;
}

int count_statistics(const ToolCategory& category) {
  return category.has_statistics ? static_cast<int>(tool_statistics().size()) : 0;
}

/// The numbers of members of a category of the vendor's.
struct VendorCategory {
  int settings = 0;
  int statistics = 0;
  int categories = 0;
  int code = MPI_SUCCESS;
  explicit VendorCategory(int index)
      : code(vendor::T_category_get_info(index, nullptr, nullptr, nullptr, nullptr, &settings,
                                         &statistics, &categories)) {}
};

}  // namespace

namespace calls {

int T_init_thread(int required, int* provided) {
  prepare_vendor();
  const int code = vendor::T_init_thread(required, provided);
  if (code == MPI_SUCCESS && shows_tool_variables()) ToolState::instance().begin();
  return code;
}

int T_finalize() {
  const int code = vendor::T_finalize();
  if (code == MPI_SUCCESS && shows_tool_variables()) ToolState::instance().end();
  return code;
}

int T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  const ToolWords* words = tool_words(enumtype);
  if (words == nullptr) return vendor::T_enum_get_info(enumtype, num, name, name_len);
  if (num != nullptr) *num = static_cast<int>(words->words.size());
  give_text(words->name, name, name_len);
  return MPI_SUCCESS;
}

int T_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
  const ToolWords* words = tool_words(enumtype);
  if (words == nullptr) return vendor::T_enum_get_item(enumtype, indx, value, name, name_len);
  if (indx < 0 || indx >= static_cast<int>(words->words.size())) return MPI_T_ERR_INVALID_INDEX;
  if (value != nullptr) *value = indx;
  give_text(words->words[static_cast<std::size_t>(indx)], name, name_len);
  return MPI_SUCCESS;
}

int T_category_get_num(int* num_cat) {
  const int code = vendor::T_category_get_num(num_cat);
  if (code == MPI_SUCCESS && shows_tool_variables())
    *num_cat = ToolState::instance().indices(ToolKind::kCategory, *num_cat).total(*num_cat);
  return code;
}

int T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories) {
  const auto vendors = [&](int index) {
    return vendor::T_category_get_info(index, name, name_len, desc, desc_len, num_cvars, num_pvars,
                                       num_categories);
  };
  if (!shows_tool_variables()) return vendors(cat_index);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendors(place.at.index);
  give_text(place.own().name, name, name_len);
  give_text(place.own().description, desc, desc_len);
  if (num_cvars != nullptr) *num_cvars = count_settings(place.own());
  if (num_pvars != nullptr) *num_pvars = count_statistics(place.own());
  if (num_categories != nullptr) *num_categories = place.own().subcategories;
  return MPI_SUCCESS;
}

int T_category_get_index(const char* name, int* cat_index) {
  if (!shows_tool_variables()) return vendor::T_category_get_index(name, cat_index);
  return CategoryPlace::find(
      name, cat_index, [](const ToolCategory& /*category*/) { return true; },
      [&] { return vendor::T_category_get_index(name, cat_index); });
}

int T_category_get_cvars(int cat_index, int len, int indices[]) {
  if (!shows_tool_variables()) return vendor::T_category_get_cvars(cat_index, len, indices);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS) return place.code;
  const ToolIndices map = SettingPlace(0).map;
  if (place.at.own) {
    list_own(map, 0, count_settings(place.own()), len, indices);
    return MPI_SUCCESS;
  }
  const VendorCategory category(place.at.index);
  const int code = vendor::T_category_get_cvars(place.at.index, len, indices);
  if (code == MPI_SUCCESS) map_indices(map, category.settings, len, indices);
  return code;
}

int T_category_get_pvars(int cat_index, int len, int indices[]) {
  if (!shows_tool_variables()) return vendor::T_category_get_pvars(cat_index, len, indices);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS) return place.code;
  const ToolIndices map = StatisticPlace(0).map;
  if (place.at.own) {
    list_own(map, 0, count_statistics(place.own()), len, indices);
    return MPI_SUCCESS;
  }
  const VendorCategory category(place.at.index);
  const int code = vendor::T_category_get_pvars(place.at.index, len, indices);
  if (code == MPI_SUCCESS) map_indices(map, category.statistics, len, indices);
  return code;
}

int T_category_get_categories(int cat_index, int len, int indices[]) {
  if (!shows_tool_variables()) return vendor::T_category_get_categories(cat_index, len, indices);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (place.at.own) {
    list_own(place.map, place.at.index + 1, place.own().subcategories, len, indices);
    return MPI_SUCCESS;
  }
  const VendorCategory category(place.at.index);
  const int code = vendor::T_category_get_categories(place.at.index, len, indices);
  if (code == MPI_SUCCESS) map_indices(place.map, category.categories, len, indices);
  return code;
}

#ifdef IMPISHIM_HAVE_MPI_T_category_get_num_events
int T_category_get_num_events(int cat_index, int* num_events) {
  if (!shows_tool_variables()) return vendor::T_category_get_num_events(cat_index, num_events);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendor::T_category_get_num_events(place.at.index, num_events);
  *num_events = 0;
  return MPI_SUCCESS;
}

int T_category_get_events(int cat_index, int len, int indices[]) {
  if (!shows_tool_variables()) return vendor::T_category_get_events(cat_index, len, indices);
  const CategoryPlace place(cat_index);
  if (place.code != MPI_SUCCESS || place.at.own) return place.code;
  return vendor::T_category_get_events(place.at.index, len, indices);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
