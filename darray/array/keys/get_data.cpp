// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/get_data.hpp"

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray::detail {

void fetch(const Layout& array, const void* source, const ResolvedKey& key,
           const Positions& positions, void* target, const Element& element,
           std::span<const Index> offsets) {
  const std::vector<Location> wanted = locate(array, key, positions);
  ScheduleOptions options;
  options.checks = Checks::kOff;
  lookup_schedule(array.communicator(), element, wanted, offsets, options).execute(source, target);
}

void fetch_selected(const Layout& array, const void* source, const ResolvedKey& key,
                    const Layout& selected, void* target, const Element& element) {
  if (!key.is_section() || key.shape().empty() || array.has_labels() || selected.has_labels()) {
    fetch(array, source, key, selected.global_indices(), target, element);
    return;
  }
  RemapOptions options;
  options.permutation = key.sources();
  options.backward = false;
  options.schedule.checks = Checks::kOff;
  remap(array.communicator(), {selected.distribution()}, target,
        {array.distribution(), key.section()}, source, element, options);
}

}  // namespace impishim::darray::detail
