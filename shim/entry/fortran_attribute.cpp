// SPDX-License-Identifier: Apache-2.0
// Fortran's attributes of communicators. Both vendors' bindings read and write them below the C
// functions. The values of the joined job (MPI_TAG_UB, MPI_APPNUM, the keys of IMPI 2.5) would
// therefore not reach Fortran. Open MPI's bindings access the communicator's internals, so this
// library replaces the bindings. MPICH's bindings call a function of the MPI library that takes the
// handle and serves the C functions, too, so this library replaces that function.
#include <atomic>
#include <cstdint>
#include <optional>

#include "shim/comm/attribute.hpp"
#include "shim/entry/fortran_names.hpp"
#include "shim/entry/vendor_lookup.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

#ifdef OPEN_MPI

namespace {

/// Gets an attribute from the vendor's binding, and replaces its value by the joined job's value.
template <class Value>
void get_attribute(void (*vendors)(MPI_Fint*, MPI_Fint*, Value*, MPI_Fint*, MPI_Fint*),
                   MPI_Fint* comm, const MPI_Fint* keyval, Value* attribute, MPI_Fint* flag,
                   MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  std::optional<int> value;
  int code = job == nullptr ? MPI_SUCCESS
                            : joined_attribute(*job, vendor::Comm_f2c(*comm), *keyval, value);
  // The vendor checks the arguments in any case, with a key that it knows.
  MPI_Fint key = value ? MPI_TAG_UB : *keyval;
  if (code == MPI_SUCCESS) vendors(comm, &key, attribute, flag, &code);
  if (code == MPI_SUCCESS && value) {
    // This call sets `flag` to Fortran's value of true, which only the vendor knows: MPI_COMM_WORLD
    // has that attribute.
    MPI_Fint world = vendor::Comm_c2f(MPI_COMM_WORLD);
    vendors(&world, &key, attribute, flag, &code);
    *attribute = *value;
  }
  if (ierr != nullptr) *ierr = code;
}

/// Sets an attribute by the vendor's binding, unless the job forbids it now.
template <class Value>
void set_attribute(void (*vendors)(MPI_Fint*, MPI_Fint*, Value*, MPI_Fint*), const char* function,
                   MPI_Fint* comm, MPI_Fint* keyval, Value* attribute, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  const MPI_Comm handle = job == nullptr ? MPI_COMM_NULL : vendor::Comm_f2c(*comm);
  int code = job == nullptr ? MPI_SUCCESS : check_attribute_change(*job, handle, function);
  if (code == MPI_SUCCESS) vendors(comm, keyval, attribute, &code);
  if (job != nullptr && code == MPI_SUCCESS) attribute_was_set(*job, handle, *keyval);
  if (ierr != nullptr) *ierr = code;
}

}  // namespace

IMPISHIM_FORTRAN_BINDING void ompi_comm_get_attr_f(MPI_Fint* comm, MPI_Fint* keyval,
                                                   MPI_Aint* attribute, MPI_Fint* flag,
                                                   MPI_Fint* ierr) {
  static const auto vendors =
      vendors_binding<decltype(ompi_comm_get_attr_f)>("ompi_comm_get_attr_f");
  get_attribute(vendors, comm, keyval, attribute, flag, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_comm_get_attr_f, mpi_comm_get_attr, MPI_COMM_GET_ATTR,
                       MPI_Comm_get_attr)

IMPISHIM_FORTRAN_BINDING void ompi_attr_get_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* attribute,
                                              MPI_Fint* flag, MPI_Fint* ierr) {
  static const auto vendors = vendors_binding<decltype(ompi_attr_get_f)>("ompi_attr_get_f");
  get_attribute(vendors, comm, keyval, attribute, flag, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_attr_get_f, mpi_attr_get, MPI_ATTR_GET, MPI_Attr_get)

IMPISHIM_FORTRAN_BINDING void ompi_comm_set_attr_f(MPI_Fint* comm, MPI_Fint* keyval,
                                                   MPI_Aint* attribute, MPI_Fint* ierr) {
  static const auto vendors =
      vendors_binding<decltype(ompi_comm_set_attr_f)>("ompi_comm_set_attr_f");
  set_attribute(vendors, "MPI_Comm_set_attr", comm, keyval, attribute, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_comm_set_attr_f, mpi_comm_set_attr, MPI_COMM_SET_ATTR,
                       MPI_Comm_set_attr)

IMPISHIM_FORTRAN_BINDING void ompi_attr_put_f(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* attribute,
                                              MPI_Fint* ierr) {
  static const auto vendors = vendors_binding<decltype(ompi_attr_put_f)>("ompi_attr_put_f");
  set_attribute(vendors, "MPI_Attr_put", comm, keyval, attribute, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_attr_put_f, mpi_attr_put, MPI_ATTR_PUT, MPI_Attr_put)

#else

namespace {

/// Value of MPICH's MPIR_Attr_type: the value is passed by its address (in C), and not as a number.
constexpr int kByAddress = 0;

/// A predefined key in Fortran is the key in C plus 1.
constexpr int kTagBoundInFortran = MPI_TAG_UB + 1;
int key_in_c(int keyval) {
  const bool fortrans =
      keyval > MPI_TAG_UB && keyval <= MPI_APPNUM + 1 && (keyval - MPI_TAG_UB) % 2 == 1;
  return fortrans ? keyval - 1 : keyval;
}

using GetAttribute = int(MPI_Comm, int, void*, int*, int);
using SetAttribute = int(MPI_Comm, int, void*, int);

}  // namespace

/// Replaces the function that MPICH's C and Fortran bindings of MPI_Comm_get_attr call. A user's
/// call from C has passed calls::Comm_get_attr.
IMPISHIM_FORTRAN_BINDING int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* attribute,
                                                int* flag, int type) {
  static const auto vendors = reinterpret_cast<GetAttribute*>(resolve("MPII_Comm_get_attr"));
  Job* job = joined();
  if (job == nullptr || type == kByAddress) return vendors(comm, keyval, attribute, flag, type);
  std::optional<int> value;
  int code = joined_attribute(*job, comm, key_in_c(keyval), value);
  if (code == MPI_SUCCESS)
    code = vendors(comm, value ? kTagBoundInFortran : keyval, attribute, flag, type);
  if (code != MPI_SUCCESS || !value) return code;
  *static_cast<std::intptr_t*>(attribute) = *value;
  *flag = 1;
  return MPI_SUCCESS;
}

/// Does the same for MPI_Comm_set_attr.
IMPISHIM_FORTRAN_BINDING int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* attribute,
                                                int type) {
  static const auto vendors = reinterpret_cast<SetAttribute*>(resolve("MPII_Comm_set_attr"));
  Job* job = joined();
  if (job == nullptr || type == kByAddress) return vendors(comm, keyval, attribute, type);
  int code = check_attribute_change(*job, comm, "MPI_Comm_set_attr");
  if (code == MPI_SUCCESS) code = vendors(comm, keyval, attribute, type);
  if (code == MPI_SUCCESS) attribute_was_set(*job, comm, keyval);
  return code;
}

#endif

}  // namespace impishim::shim
