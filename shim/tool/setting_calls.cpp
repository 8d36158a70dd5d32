// SPDX-License-Identifier: Apache-2.0
// MPI_T_cvar_*: settings as control variables (MPI-4.0 15.3.6).
#include <mpi.h>

#include <cstring>

#include "shim/entry_points.hpp"
#include "shim/tool/tool_place.hpp"
#include "shim/tool/tool_state.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/values/tool_values.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Returns how many elements a setting's value has.
int count_elements(const ToolSetting& setting) {
  return setting.type == MPI_CHAR ? kLongestToolText : 1;
}

/// Writes a value to a tool's buffer, in the type that the setting shows.
void give_value(const ToolSetting& setting, const ToolValue& value, void* buffer) {
  if (setting.type == MPI_CHAR) {
    std::memcpy(buffer, value.text.c_str(), value.text.size() + 1);
  } else if (setting.type == MPI_INT) {
    *static_cast<int*>(buffer) = static_cast<int>(value.number);
  } else {
    *static_cast<unsigned long long*>(buffer) = value.number;
  }
}

}  // namespace

namespace calls {

int T_cvar_get_num(int* num_cvar) {
  const int code = vendor::T_cvar_get_num(num_cvar);
  if (code == MPI_SUCCESS && shows_tool_variables())
    *num_cvar = ToolState::instance().indices(ToolKind::kSetting, *num_cvar).total(*num_cvar);
  return code;
}

int T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) {
  const auto vendors = [&](int index) {
    return vendor::T_cvar_get_info(index, name, name_len, verbosity, datatype, enumtype, desc,
                                   desc_len, bind, scope);
  };
  if (!shows_tool_variables()) return vendors(cvar_index);
  const SettingPlace place(cvar_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendors(place.at.index);
  const ToolSetting& setting = place.own();
  give_text(setting.name, name, name_len);
  give_text(setting.description, desc, desc_len);
  if (verbosity != nullptr) *verbosity = MPI_T_VERBOSITY_USER_BASIC;
  if (datatype != nullptr) *datatype = setting.type;
  if (enumtype != nullptr) *enumtype = tool_enum(setting.words);
  if (bind != nullptr) *bind = MPI_T_BIND_NO_OBJECT;
  // What the systems agree on may differ from the environment's value before.
  if (scope != nullptr)
    *scope = setting.agreed != nullptr ? MPI_T_SCOPE_READONLY : MPI_T_SCOPE_CONSTANT;
  return MPI_SUCCESS;
}

int T_cvar_get_index(const char* name, int* cvar_index) {
  if (!shows_tool_variables()) return vendor::T_cvar_get_index(name, cvar_index);
  return SettingPlace::find(
      name, cvar_index, [](const ToolSetting& /*setting*/) { return true; },
      [&] { return vendor::T_cvar_get_index(name, cvar_index); });
}

int T_cvar_handle_alloc(int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle, int* count) {
  if (!shows_tool_variables())
    return vendor::T_cvar_handle_alloc(cvar_index, obj_handle, handle, count);
  const SettingPlace place(cvar_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendor::T_cvar_handle_alloc(place.at.index, obj_handle, handle, count);
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  *handle = ToolState::instance().make_setting_handle(place.at.index);
  *count = count_elements(place.own());
  return MPI_SUCCESS;
}

int T_cvar_handle_free(MPI_T_cvar_handle* handle) {
  const bool own = handle != nullptr && shows_tool_variables() &&
                   ToolState::instance().free_setting_handle(*handle);
  if (!own) return vendor::T_cvar_handle_free(handle);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int T_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const ToolSetting* setting =
      shows_tool_variables() ? ToolState::instance().setting_of(handle) : nullptr;
  if (setting == nullptr) return vendor::T_cvar_read(handle, buf);
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  give_value(*setting, ToolState::instance().value_of(*setting), buf);
  return MPI_SUCCESS;
}

/// Settings are read once, in MPI_Init: none can be changed.
int T_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  const bool own = shows_tool_variables() && ToolState::instance().setting_of(handle) != nullptr;
  return own ? MPI_T_ERR_CVAR_SET_NEVER : vendor::T_cvar_write(handle, buf);
}

}  // namespace calls
}  // namespace impishim::shim
