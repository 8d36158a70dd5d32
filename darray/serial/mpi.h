// SPDX-License-Identifier: Apache-2.0
/// MPI for one process, without an MPI library: the functions that darray, and programs that use
/// it, call (D2O-82).
///
/// Link impishim::darray_serial instead of impishim::darray_<mpi>. The same sources then make a
/// program that needs no launcher and no MPI on the machine. Every communicator has one rank.
/// Collective functions copy, and nonblocking ones are complete at once. Point-to-point functions
/// return MPI_ERR_UNSUPPORTED_OPERATION, since there is no other process (darray copies what stays
/// on a rank). Signatures and meanings are those of MPI 3.1, whose sections name every function
/// here. Functions that are not declared do not exist. Never use it in one program with a real MPI
/// library.
#pragma once

#include <cstddef>

struct ImpishimSerialCommunicator;
using MPI_Comm = ImpishimSerialCommunicator*;
using MPI_Aint = std::ptrdiff_t;
using MPI_Errhandler = int;

/// The lowest byte is the size of an element.
using MPI_Datatype = int;
enum : MPI_Datatype {
  MPI_DATATYPE_NULL = 0,
  MPI_BYTE = 0x101,
  MPI_CHAR = 0x201,
  MPI_INT8_T = 0x301,
  MPI_UINT8_T = 0x401,
  MPI_C_BOOL = 0x501,
  MPI_INT16_T = 0x602,
  MPI_UINT16_T = 0x702,
  MPI_INT = 0x804,
  MPI_INT32_T = 0x904,
  MPI_UINT32_T = 0xA04,
  MPI_FLOAT = 0xB04,
  MPI_LONG = 0xC00 + sizeof(long),
  MPI_INT64_T = 0xD08,
  MPI_UINT64_T = 0xE08,
  MPI_DOUBLE = 0xF08,
  MPI_C_FLOAT_COMPLEX = 0x1008,
  MPI_C_DOUBLE_COMPLEX = 0x1110,
  MPI_LONG_DOUBLE = 0x1200 + sizeof(long double),
};

using MPI_Op = int;
enum : MPI_Op { MPI_SUM = 1, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_BAND, MPI_BOR };

/// 1 if the one process is a member.
using MPI_Group = int;
enum : MPI_Group { MPI_GROUP_NULL, MPI_GROUP_EMPTY, kImpishimSerialGroup };

/// A request. No operation is ever in progress.
using MPI_Request = int;
enum : MPI_Request { MPI_REQUEST_NULL };

struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};

enum {
  MPI_SUCCESS,
  MPI_ERR_COMM,
  MPI_ERR_ARG,
  MPI_ERR_RANK,
  MPI_ERR_ROOT,
  MPI_ERR_KEYVAL,
  MPI_ERR_IN_STATUS,
  MPI_ERR_OTHER,
  MPI_ERR_UNSUPPORTED_OPERATION
};
enum { MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL };
enum {
  MPI_UNDEFINED = -32766,
  MPI_KEYVAL_INVALID = -1,
  MPI_ERRORS_RETURN = 1,
  MPI_ERRORS_ARE_FATAL = 2,
  MPI_MAX_ERROR_STRING = 128
};

using MPI_Comm_copy_attr_function = int(MPI_Comm, int, void*, void*, void*, int*);
using MPI_Comm_delete_attr_function = int(MPI_Comm, int, void*, void*);

extern ImpishimSerialCommunicator impishim_serial_world;
extern ImpishimSerialCommunicator impishim_serial_self;
extern char impishim_serial_in_place;
inline constexpr MPI_Comm MPI_COMM_WORLD = &impishim_serial_world;
inline constexpr MPI_Comm MPI_COMM_SELF = &impishim_serial_self;
inline constexpr MPI_Comm MPI_COMM_NULL = nullptr;
inline constexpr void* MPI_IN_PLACE = &impishim_serial_in_place;
inline constexpr MPI_Status* MPI_STATUS_IGNORE = nullptr;
inline constexpr MPI_Status* MPI_STATUSES_IGNORE = nullptr;
inline constexpr MPI_Comm_copy_attr_function* MPI_COMM_NULL_COPY_FN = nullptr;
inline constexpr MPI_Comm_delete_attr_function* MPI_COMM_NULL_DELETE_FN = nullptr;

// 8.7, 8.6, 8.3: beginning and end; time; errors.
int MPI_Init(int* argc, char*** argv);
int MPI_Initialized(int* flag);
int MPI_Finalize();
int MPI_Finalized(int* flag);
[[noreturn]] int MPI_Abort(MPI_Comm comm, int code);
double MPI_Wtime();
int MPI_Error_string(int code, char* text, int* length);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);

// 6.3, 6.4: groups and communicators.
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_compare(MPI_Comm left, MPI_Comm right, int* result);
int MPI_Comm_test_inter(MPI_Comm comm, int* flag);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);
int MPI_Comm_group(MPI_Comm comm, MPI_Group* group);
int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* made);
int MPI_Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to,
                              int* translated);
int MPI_Group_free(MPI_Group* group);

// 6.7: attributes.
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* drop,
                           int* key, void* extra);
int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found);

// 5: collective communication.
int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Gather(const void* sent, int count, MPI_Datatype type, void* received, int received_count,
               MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Allgather(const void* sent, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, MPI_Comm comm);
int MPI_Allgatherv(const void* sent, int count, MPI_Datatype type, void* received,
                   const int* received_counts, const int* places, MPI_Datatype received_type,
                   MPI_Comm comm);
int MPI_Alltoall(const void* sent, int count, MPI_Datatype type, void* received, int received_count,
                 MPI_Datatype received_type, MPI_Comm comm);
int MPI_Allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm);
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request);
int MPI_Igather(const void* sent, int count, MPI_Datatype type, void* received, int received_count,
                MPI_Datatype received_type, int root, MPI_Comm comm, MPI_Request* request);
int MPI_Iallgather(const void* sent, int count, MPI_Datatype type, void* received,
                   int received_count, MPI_Datatype received_type, MPI_Comm comm,
                   MPI_Request* request);
int MPI_Ialltoall(const void* sent, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, MPI_Comm comm,
                  MPI_Request* request);

// 3: functions that would send, and those that complete requests, of which there are none.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request);
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request);
int MPI_Start(MPI_Request* request);
int MPI_Request_free(MPI_Request* request);
int MPI_Cancel(MPI_Request* request);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int MPI_Testsome(int count, MPI_Request* requests, int* completed, int* indices,
                 MPI_Status* statuses);
int MPI_Waitsome(int count, MPI_Request* requests, int* completed, int* indices,
                 MPI_Status* statuses);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);
int MPI_Type_create_hvector(int count, int block, MPI_Aint stride, MPI_Datatype element,
                            MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);
