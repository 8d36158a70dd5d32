// SPDX-License-Identifier: Apache-2.0
// MPI_Type_free and MPI_Op_free while collectives still use the handle.
#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim::calls {

int Type_free(Job& job, MPI_Datatype* datatype) {
  if (datatype == nullptr || !job.datatype_uses.defer(*datatype))
    return vendor::Type_free(datatype);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int Op_free(Job& job, MPI_Op* op) {
  if (op == nullptr || !job.op_uses.defer(*op)) return vendor::Op_free(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

}  // namespace impishim::shim::calls
