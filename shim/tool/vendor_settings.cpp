// SPDX-License-Identifier: Apache-2.0
#include "shim/tool/vendor_settings.hpp"

#include <stdlib.h>

#include <string>
#include <string_view>

#include "shim/job/process_models.hpp"

namespace impishim::shim {
namespace {

constexpr int kReplace = 1;

/// Forbids Open MPI to choose a component. The value of `variable` is a list of the components that
/// Open MPI may choose, or, after a caret, of those that it may not choose.
void leave_out(const char* variable, const std::string& component) {
  const char* set = getenv(variable);
  const std::string_view names = set == nullptr ? "" : set;
  const bool named = names.find(component) != std::string_view::npos;
  if (names.starts_with('^')) {
    if (!named) setenv(variable, (std::string(names) + "," + component).c_str(), kReplace);
  } else if (names.empty() || named) {
    setenv(variable, ("^" + component).c_str(), kReplace);
  }
}

}  // namespace

void prepare_vendor() {
  if (!asks_to_join()) return;
  // Open MPI's OMPIO gathers writes: it writes what lies between its data as it has read it, which
  // another system may have written since (docs/files.md). No hint of a file forbids that.
  setenv("OMPI_MCA_fbtl_posix_write_datasieving", "0", kReplace);
  leave_out("OMPI_MCA_fcoll", "two_phase");
}

}  // namespace impishim::shim
