// SPDX-License-Identifier: Apache-2.0
// Point-to-point communication with large counts (MPI-4.0 3): all functions whose names end in
// _c. A count
// that does not fit in an int is described by a datatype, as programs did before MPI 4.
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Send_c

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>

#include "shim/datatype/vendor_count.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Calls `call` with an int count and a datatype that describe the same elements. Raises an error
/// if the count is negative. Returns the code.
template <class Call>
int with_int_count(MPI_Comm comm, const char* function, MPI_Count count, MPI_Datatype datatype,
                   Call&& call) {
  if (count < 0) return raise(comm, MPI_ERR_COUNT, function, fmt::format("count {}", count));
  const VendorCount described(static_cast<std::uint64_t>(count), datatype);
  return call(described.count(), described.type());
}

}  // namespace

namespace calls {

int Send_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
           MPI_Comm comm) {
  if (spanning(&job, comm) == nullptr) return vendor::Send_c(buf, count, datatype, dest, tag, comm);
  return with_int_count(comm, "MPI_Send_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Send(buf, number, type, dest, tag, comm);
  });
}

int Ssend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Ssend_c(buf, count, datatype, dest, tag, comm);
  return with_int_count(comm, "MPI_Ssend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Ssend(buf, number, type, dest, tag, comm);
  });
}

int Rsend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Rsend_c(buf, count, datatype, dest, tag, comm);
  return with_int_count(comm, "MPI_Rsend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Rsend(buf, number, type, dest, tag, comm);
  });
}

int Bsend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Bsend_c(buf, count, datatype, dest, tag, comm);
  return with_int_count(comm, "MPI_Bsend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Bsend(buf, number, type, dest, tag, comm);
  });
}

int Isend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Isend_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Isend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Isend(buf, number, type, dest, tag, comm, request);
  });
}

int Issend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Issend_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Issend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Issend(buf, number, type, dest, tag, comm, request);
  });
}

int Irsend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Irsend_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Irsend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Irsend(buf, number, type, dest, tag, comm, request);
  });
}

int Ibsend_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Ibsend_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Ibsend_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Ibsend(buf, number, type, dest, tag, comm, request);
  });
}

int Recv_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
           MPI_Comm comm, MPI_Status* status) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Recv_c(buf, count, datatype, source, tag, comm, status);
  return with_int_count(comm, "MPI_Recv_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Recv(buf, number, type, source, tag, comm, status);
  });
}

int Irecv_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
            MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Irecv_c(buf, count, datatype, source, tag, comm, request);
  return with_int_count(comm, "MPI_Irecv_c", count, datatype, [&](int number, MPI_Datatype type) {
    return Irecv(buf, number, type, source, tag, comm, request);
  });
}

int Send_init_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Send_init_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Send_init_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Send_init(job, buf, number, type, dest, tag, comm, request);
                        });
}

int Ssend_init_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Ssend_init_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Ssend_init_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Ssend_init(job, buf, number, type, dest, tag, comm, request);
                        });
}

int Rsend_init_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Rsend_init_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Rsend_init_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Rsend_init(job, buf, number, type, dest, tag, comm, request);
                        });
}

int Bsend_init_c(Job& job, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Bsend_init_c(buf, count, datatype, dest, tag, comm, request);
  return with_int_count(comm, "MPI_Bsend_init_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Bsend_init(job, buf, number, type, dest, tag, comm, request);
                        });
}

int Recv_init_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Recv_init_c(buf, count, datatype, source, tag, comm, request);
  return with_int_count(comm, "MPI_Recv_init_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Recv_init(job, buf, number, type, source, tag, comm, request);
                        });
}

int Sendrecv_replace_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                       int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Sendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                      status);
  return with_int_count(comm, "MPI_Sendrecv_replace_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Sendrecv_replace(job, buf, number, type, dest, sendtag, source,
                                                  recvtag, comm, status);
                        });
}

int Isendrecv_replace_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                        int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Isendrecv_replace_c(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                       request);
  return with_int_count(comm, "MPI_Isendrecv_replace_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Isendrecv_replace(job, buf, number, type, dest, sendtag, source,
                                                   recvtag, comm, request);
                        });
}

int Sendrecv_c(Job& job, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
               int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
               int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                              recvtype, source, recvtag, comm, status);
  constexpr const char* kFunction = "MPI_Sendrecv_c";
  return with_int_count(
      comm, kFunction, sendcount, sendtype, [&](int sent, MPI_Datatype sent_type) {
        return with_int_count(
            comm, kFunction, recvcount, recvtype, [&](int received, MPI_Datatype type) {
              return Sendrecv(job, sendbuf, sent, sent_type, dest, sendtag, recvbuf, received, type,
                              source, recvtag, comm, status);
            });
      });
}

int Isendrecv_c(Job& job, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
                int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (spanning(&job, comm) == nullptr)
    return vendor::Isendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                               recvtype, source, recvtag, comm, request);
  constexpr const char* kFunction = "MPI_Isendrecv_c";
  return with_int_count(
      comm, kFunction, sendcount, sendtype, [&](int sent, MPI_Datatype sent_type) {
        return with_int_count(
            comm, kFunction, recvcount, recvtype, [&](int received, MPI_Datatype type) {
              return Isendrecv(job, sendbuf, sent, sent_type, dest, sendtag, recvbuf, received,
                               type, source, recvtag, comm, request);
            });
      });
}

int Mrecv_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
            MPI_Status* status) {
  if (!is_own_message(*message)) return vendor::Mrecv_c(buf, count, datatype, message, status);
  return with_int_count(MPI_COMM_WORLD, "MPI_Mrecv_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Mrecv(job, buf, number, type, message, status);
                        });
}

int Imrecv_c(Job& job, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
             MPI_Request* request) {
  if (!is_own_message(*message)) return vendor::Imrecv_c(buf, count, datatype, message, request);
  return with_int_count(MPI_COMM_WORLD, "MPI_Imrecv_c", count, datatype,
                        [&](int number, MPI_Datatype type) {
                          return Imrecv(job, buf, number, type, message, request);
                        });
}

}  // namespace calls
}  // namespace impishim::shim

#endif
