// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/vendor_access.hpp"

#include <mpi.h>

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

int native_accumulate(const AccessCall& call, const OriginElements& origin,
                      const TargetElements& target, MPI_Op op) {
  const VendorCount here(static_cast<std::uint64_t>(origin.count), origin.datatype);
  const VendorCount there(static_cast<std::uint64_t>(target.count), target.datatype);
  const int rank = call.window.communicator.local_rank(target.rank);
  if (call.request == nullptr) {
    return vendor::Accumulate(origin.address, here.count(), here.type(), rank, target.displacement,
                              there.count(), there.type(), op, call.window.handle);
  }
  return vendor::Raccumulate(origin.address, here.count(), here.type(), rank, target.displacement,
                             there.count(), there.type(), op, call.window.handle, call.request);
}

int native_get_accumulate(const AccessCall& call, const OriginElements& origin,
                          const OriginElements& result, const TargetElements& target, MPI_Op op) {
  const VendorCount here(static_cast<std::uint64_t>(origin.count), origin.datatype);
  const VendorCount room(static_cast<std::uint64_t>(result.count), result.datatype);
  const VendorCount there(static_cast<std::uint64_t>(target.count), target.datatype);
  const int rank = call.window.communicator.local_rank(target.rank);
  if (call.request == nullptr) {
    return vendor::Get_accumulate(origin.address, here.count(), here.type(), result.address,
                                  room.count(), room.type(), rank, target.displacement,
                                  there.count(), there.type(), op, call.window.handle);
  }
  return vendor::Rget_accumulate(origin.address, here.count(), here.type(), result.address,
                                 room.count(), room.type(), rank, target.displacement,
                                 there.count(), there.type(), op, call.window.handle, call.request);
}

int native_compare_and_swap(const AccessCall& call, const void* origin, const void* compare,
                            void* result, const TargetElements& target) {
  return vendor::Compare_and_swap(origin, compare, result, target.datatype,
                                  call.window.communicator.local_rank(target.rank),
                                  target.displacement, call.window.handle);
}

}  // namespace impishim::shim
