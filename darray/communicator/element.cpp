// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/element.hpp"

#include <limits>

namespace impishim::darray {
namespace {

MPI_Datatype type_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
      return MPI_C_BOOL;
    case Scalar::kInt8:
      return MPI_INT8_T;
    case Scalar::kInt16:
      return MPI_INT16_T;
    case Scalar::kInt32:
      return MPI_INT32_T;
    case Scalar::kInt64:
      return MPI_INT64_T;
    case Scalar::kUint8:
      return MPI_UINT8_T;
    case Scalar::kUint16:
      return MPI_UINT16_T;
    case Scalar::kUint32:
      return MPI_UINT32_T;
    case Scalar::kUint64:
      return MPI_UINT64_T;
    case Scalar::kFloat:
      return MPI_FLOAT;
    case Scalar::kDouble:
      return MPI_DOUBLE;
    case Scalar::kLongDouble:
      return MPI_LONG_DOUBLE;
    case Scalar::kComplexFloat:
      return MPI_C_FLOAT_COMPLEX;
    case Scalar::kComplexDouble:
      return MPI_C_DOUBLE_COMPLEX;
    case Scalar::kOpaque:
      break;
  }
  return MPI_DATATYPE_NULL;
}

}  // namespace

Element element_of(Scalar scalar) {
  if (scalar == Scalar::kOpaque)
    fail(ErrorKind::kType, "opaque elements have no MPI type: use opaque(bytes)");
  return {type_of(scalar), size_of(scalar), 1, scalar};
}

Element opaque(std::size_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    fail(ErrorKind::kArgument, "an element of {} bytes", bytes);
  }
  return {MPI_BYTE, bytes, static_cast<int>(bytes), Scalar::kOpaque};
}

}  // namespace impishim::darray
