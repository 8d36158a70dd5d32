// SPDX-License-Identifier: Apache-2.0
// MPI_T_pvar_*: statistics as performance variables (MPI-4.0 15.3.7).
#include <mpi.h>

#include <cstdint>

#include "shim/entry_points.hpp"
#include "shim/tool/tool_place.hpp"
#include "shim/tool/tool_state.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/values/tool_values.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

using Action = ToolState::Action;

int pvar_class_of(const ToolStatistic& statistic) {
  return statistic.is_peak ? MPI_T_PVAR_CLASS_HIGHWATERMARK : MPI_T_PVAR_CLASS_COUNTER;
}

bool is_own_statistic(MPI_T_pvar_handle handle) {
  return shows_tool_variables() && ToolState::instance().is_statistic_handle(handle);
}

/// Acts on all handles of a session: the vendor's by its own call, whose code it returns, then
/// this library's.
int act_on_all(MPI_T_pvar_session session, Action action,
               int (*vendors)(MPI_T_pvar_session, MPI_T_pvar_handle)) {
  const int code = vendors(session, MPI_T_PVAR_ALL_HANDLES);
  if (code == MPI_SUCCESS && shows_tool_variables())
    ToolState::instance().act_on_all(session, action);
  return code;
}

/// Starts, stops or resets one handle or all.
int act_without_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Action action,
                      int (*vendors)(MPI_T_pvar_session, MPI_T_pvar_handle)) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return act_on_all(session, action, vendors);
  if (!is_own_statistic(handle)) return vendors(session, handle);
  std::uint64_t unused = 0;
  return ToolState::instance().act(session, handle, action, unused);
}

/// Reads one of this library's handles into a tool's buffer.
int read_own(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Action action, void* buffer) {
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::uint64_t value = 0;
  const int code = ToolState::instance().act(session, handle, action, value);
  if (code == MPI_SUCCESS) *static_cast<unsigned long long*>(buffer) = value;
  return code;
}

}  // namespace

namespace calls {

int T_pvar_get_num(int* num_pvar) {
  const int code = vendor::T_pvar_get_num(num_pvar);
  if (code == MPI_SUCCESS && shows_tool_variables())
    *num_pvar = ToolState::instance().indices(ToolKind::kStatistic, *num_pvar).total(*num_pvar);
  return code;
}

int T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* readonly, int* continuous, int* atomic) {
  const auto vendors = [&](int index) {
    return vendor::T_pvar_get_info(index, name, name_len, verbosity, var_class, datatype, enumtype,
                                   desc, desc_len, bind, readonly, continuous, atomic);
  };
  if (!shows_tool_variables()) return vendors(pvar_index);
  const StatisticPlace place(pvar_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendors(place.at.index);
  const ToolStatistic& statistic = place.own();
  give_text(statistic.name, name, name_len);
  give_text(statistic.description, desc, desc_len);
  if (verbosity != nullptr) *verbosity = MPI_T_VERBOSITY_USER_BASIC;
  if (var_class != nullptr) *var_class = pvar_class_of(statistic);
  if (datatype != nullptr) *datatype = MPI_UNSIGNED_LONG_LONG;
  if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
  if (bind != nullptr) *bind = MPI_T_BIND_NO_OBJECT;
  if (readonly != nullptr) *readonly = statistic.is_peak ? 1 : 0;
  if (continuous != nullptr) *continuous = statistic.is_peak ? 1 : 0;
  if (atomic != nullptr) *atomic = statistic.is_peak ? 0 : 1;
  return MPI_SUCCESS;
}

int T_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  if (!shows_tool_variables()) return vendor::T_pvar_get_index(name, var_class, pvar_index);
  return StatisticPlace::find(
      name, pvar_index,
      [&](const ToolStatistic& statistic) { return pvar_class_of(statistic) == var_class; },
      [&] { return vendor::T_pvar_get_index(name, var_class, pvar_index); });
}

int T_pvar_session_create(MPI_T_pvar_session* session) {
  const int code = vendor::T_pvar_session_create(session);
  if (code == MPI_SUCCESS && shows_tool_variables()) ToolState::instance().add_session(*session);
  return code;
}

int T_pvar_session_free(MPI_T_pvar_session* session) {
  if (session == nullptr || !shows_tool_variables()) return vendor::T_pvar_session_free(session);
  const MPI_T_pvar_session freed = *session;
  const int code = vendor::T_pvar_session_free(session);
  if (code == MPI_SUCCESS) ToolState::instance().drop_session(freed);
  return code;
}

int T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle,
                        MPI_T_pvar_handle* handle, int* count) {
  const auto vendors = [&](int index) {
    return vendor::T_pvar_handle_alloc(session, index, obj_handle, handle, count);
  };
  if (!shows_tool_variables()) return vendors(pvar_index);
  const StatisticPlace place(pvar_index);
  if (place.code != MPI_SUCCESS) return place.code;
  if (!place.at.own) return vendors(place.at.index);
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  const MPI_T_pvar_handle made =
      ToolState::instance().make_statistic_handle(session, place.at.index);
  if (made == nullptr) return MPI_T_ERR_INVALID_SESSION;
  *handle = made;
  *count = 1;
  return MPI_SUCCESS;
}

int T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  if (handle == nullptr || !is_own_statistic(*handle))
    return vendor::T_pvar_handle_free(session, handle);
  std::uint64_t unused = 0;
  const int code = ToolState::instance().act(session, *handle, Action::kFree, unused);
  if (code == MPI_SUCCESS) *handle = MPI_T_PVAR_HANDLE_NULL;
  return code;
}

int T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_without_value(session, handle, Action::kStart, vendor::T_pvar_start);
}

int T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_without_value(session, handle, Action::kStop, vendor::T_pvar_stop);
}

int T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_without_value(session, handle, Action::kReset, vendor::T_pvar_reset);
}

int T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  return is_own_statistic(handle) ? read_own(session, handle, Action::kRead, buf)
                                  : vendor::T_pvar_read(session, handle, buf);
}

int T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  return is_own_statistic(handle) ? read_own(session, handle, Action::kReadReset, buf)
                                  : vendor::T_pvar_readreset(session, handle, buf);
}

int T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  if (!is_own_statistic(handle)) return vendor::T_pvar_write(session, handle, buf);
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  std::uint64_t value = *static_cast<const unsigned long long*>(buf);
  return ToolState::instance().act(session, handle, Action::kWrite, value);
}

}  // namespace calls
}  // namespace impishim::shim
