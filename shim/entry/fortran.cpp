// SPDX-License-Identifier: Apache-2.0
#include "shim/entry_points.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/vendor.hpp"
// Conversion of handles between Fortran and C (MPI-3.1 17.2.4), and between handles and integers
// (MPI-5.0 20.4). Where a vendor's handles are ints, it has macros for Fortran's, and no function
// is wrapped.

namespace impishim::shim::calls {

#ifdef IMPISHIM_HAVE_MPI_Request_c2f
MPI_Fint Request_c2f(Job& /*job*/, MPI_Request request) {
  return is_own_request(request) ? own_requests().to_fortran(request)
                                 : vendor::Request_c2f(request);
}

MPI_Request Request_f2c(Job& /*job*/, MPI_Fint request) {
  const auto own = own_requests().from_fortran(request);
  return own ? *own : vendor::Request_f2c(request);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Request_toint
int Request_toint(Job& /*job*/, MPI_Request request) {
  return is_own_request(request) ? own_requests().to_fortran(request)
                                 : vendor::Request_toint(request);
}

MPI_Request Request_fromint(Job& /*job*/, int request) {
  const auto own = own_requests().from_fortran(request);
  return own ? *own : vendor::Request_fromint(request);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Message_c2f
MPI_Fint Message_c2f(Job& /*job*/, MPI_Message message) {
  return is_own_message(message) ? own_messages().to_fortran(message)
                                 : vendor::Message_c2f(message);
}

MPI_Message Message_f2c(Job& /*job*/, MPI_Fint message) {
  const auto own = own_messages().from_fortran(message);
  return own ? *own : vendor::Message_f2c(message);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Message_toint
int Message_toint(Job& /*job*/, MPI_Message message) {
  return is_own_message(message) ? own_messages().to_fortran(message)
                                 : vendor::Message_toint(message);
}

MPI_Message Message_fromint(Job& /*job*/, int message) {
  const auto own = own_messages().from_fortran(message);
  return own ? *own : vendor::Message_fromint(message);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Group_c2f
MPI_Fint Group_c2f(Job& /*job*/, MPI_Group group) {
  return is_own_group(group) ? own_groups().to_fortran(group) : vendor::Group_c2f(group);
}

MPI_Group Group_f2c(Job& /*job*/, MPI_Fint group) {
  const auto own = own_groups().from_fortran(group);
  return own ? *own : vendor::Group_f2c(group);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Group_toint
int Group_toint(Job& /*job*/, MPI_Group group) {
  return is_own_group(group) ? own_groups().to_fortran(group) : vendor::Group_toint(group);
}

MPI_Group Group_fromint(Job& /*job*/, int group) {
  const auto own = own_groups().from_fortran(group);
  return own ? *own : vendor::Group_fromint(group);
}
#endif

}  // namespace impishim::shim::calls
