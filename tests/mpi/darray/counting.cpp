// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/darray/counting.hpp"

#include <mpi.h>

#include <map>

namespace {

impishim_test::Traffic traffic;
std::map<MPI_Request, long> persistent;  // bytes of those that send

long bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<long>(count) * size;
}

void add(long bytes) {
  ++traffic.messages;
  traffic.bytes += bytes;
}

void started(MPI_Request request) {
  if (const auto found = persistent.find(request); found != persistent.end()) add(found->second);
}

}  // namespace

namespace impishim_test {

void count_from_here() { traffic = {}; }
Traffic counted() { return traffic; }

}  // namespace impishim_test

extern "C" {

#pragma GCC visibility push(default)

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  add(bytes_of(count, type));
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  add(bytes_of(count, type));
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int code = PMPI_Send_init(data, count, type, to, tag, comm, request);
  persistent[*request] = bytes_of(count, type);
  return code;
}

int MPI_Start(MPI_Request* request) {
  started(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request* requests) {
  for (int k = 0; k < count; ++k) started(requests[k]);
  return PMPI_Startall(count, requests);
}

int MPI_Request_free(MPI_Request* request) {
  persistent.erase(*request);
  return PMPI_Request_free(request);
}

#pragma GCC visibility pop

}  // extern "C"
