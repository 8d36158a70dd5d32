// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/vendor_access.hpp"

#include <cstdint>

#include "shim/datatype/vendor_count.hpp"
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#include "shim/rma/access.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

int native_put(const AccessCall& call, const OriginElements& origin, const TargetElements& target) {
  const VendorCount here(static_cast<std::uint64_t>(origin.count), origin.datatype);
  const VendorCount there(static_cast<std::uint64_t>(target.count), target.datatype);
  const int rank = call.window.communicator.local_rank(target.rank);
  if (call.request == nullptr) {
    return vendor::Put(origin.address, here.count(), here.type(), rank, target.displacement,
                       there.count(), there.type(), call.window.handle);
  }
  return vendor::Rput(origin.address, here.count(), here.type(), rank, target.displacement,
                      there.count(), there.type(), call.window.handle, call.request);
}

int native_get(const AccessCall& call, const OriginElements& result, const TargetElements& target) {
  const VendorCount here(static_cast<std::uint64_t>(result.count), result.datatype);
  const VendorCount there(static_cast<std::uint64_t>(target.count), target.datatype);
  const int rank = call.window.communicator.local_rank(target.rank);
  if (call.request == nullptr) {
    return vendor::Get(result.address, here.count(), here.type(), rank, target.displacement,
                       there.count(), there.type(), call.window.handle);
  }
  return vendor::Rget(result.address, here.count(), here.type(), rank, target.displacement,
                      there.count(), there.type(), call.window.handle, call.request);
}

}  // namespace impishim::shim
