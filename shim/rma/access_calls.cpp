// SPDX-License-Identifier: Apache-2.0
// MPI_Put, MPI_Get, MPI_Accumulate and all their forms (MPI-4.0 12.3).
#include <mpi.h>

#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/rma/access.hpp"
#include "shim/rma/window.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim::calls {

int Put(Job& job, const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
        int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
        MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win);
  return put({job, *window, "MPI_Put"}, origin_of(origin_addr, origin_count, origin_datatype),
             {target_rank, target_disp, target_count, target_datatype});
}

int Get(Job& job, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
        int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
        MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win);
  return get({job, *window, "MPI_Get"}, {origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype});
}

int Accumulate(Job& job, const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, int target_count,
               MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype, op, win);
  return accumulate({job, *window, "MPI_Accumulate"},
                    origin_of(origin_addr, origin_count, origin_datatype),
                    {target_rank, target_disp, target_count, target_datatype}, op);
}

int Get_accumulate(Job& job, const void* origin_addr, int origin_count,
                   MPI_Datatype origin_datatype, void* result_addr, int result_count,
                   MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                   int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                  result_count, result_datatype, target_rank, target_disp,
                                  target_count, target_datatype, op, win);
  return get_accumulate({job, *window, "MPI_Get_accumulate"},
                        origin_of(origin_addr, origin_count, origin_datatype),
                        {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op);
}

int Rput(Job& job, const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
         MPI_Win win, MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                        target_count, target_datatype, win, request);
  return put({job, *window, "MPI_Rput", request},
             origin_of(origin_addr, origin_count, origin_datatype),
             {target_rank, target_disp, target_count, target_datatype});
}

int Rget(Job& job, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
         MPI_Win win, MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                        target_count, target_datatype, win, request);
  return get({job, *window, "MPI_Rget", request}, {origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype});
}

int Raccumulate(Job& job, const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, int target_count,
                MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Raccumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                               target_count, target_datatype, op, win, request);
  return accumulate({job, *window, "MPI_Raccumulate", request},
                    origin_of(origin_addr, origin_count, origin_datatype),
                    {target_rank, target_disp, target_count, target_datatype}, op);
}

int Rget_accumulate(Job& job, const void* origin_addr, int origin_count,
                    MPI_Datatype origin_datatype, void* result_addr, int result_count,
                    MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                    MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                   result_count, result_datatype, target_rank, target_disp,
                                   target_count, target_datatype, op, win, request);
  return get_accumulate({job, *window, "MPI_Rget_accumulate", request},
                        origin_of(origin_addr, origin_count, origin_datatype),
                        {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op);
}

int Fetch_and_op(Job& job, const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op,
                                win);
  return get_accumulate({job, *window, "MPI_Fetch_and_op"}, origin_of(origin_addr, 1, datatype),
                        {result_addr, 1, datatype}, {target_rank, target_disp, 1, datatype}, op);
}

int Compare_and_swap(Job& job, const void* origin_addr, const void* compare_addr, void* result_addr,
                     MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                                    target_disp, win);
  return compare_and_swap({job, *window, "MPI_Compare_and_swap"}, origin_addr, compare_addr,
                          result_addr, {target_rank, target_disp, 1, datatype});
}

#ifdef IMPISHIM_HAVE_MPI_Put_c

int Put_c(Job& job, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
          int target_rank, MPI_Aint target_disp, MPI_Count target_count,
          MPI_Datatype target_datatype, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Put_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                         target_count, target_datatype, win);
  return put({job, *window, "MPI_Put_c"}, origin_of(origin_addr, origin_count, origin_datatype),
             {target_rank, target_disp, target_count, target_datatype});
}

int Get_c(Job& job, void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
          int target_rank, MPI_Aint target_disp, MPI_Count target_count,
          MPI_Datatype target_datatype, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Get_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                         target_count, target_datatype, win);
  return get({job, *window, "MPI_Get_c"}, {origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype});
}

int Accumulate_c(Job& job, const void* origin_addr, MPI_Count origin_count,
                 MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                 MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Accumulate_c(origin_addr, origin_count, origin_datatype, target_rank,
                                target_disp, target_count, target_datatype, op, win);
  return accumulate({job, *window, "MPI_Accumulate_c"},
                    origin_of(origin_addr, origin_count, origin_datatype),
                    {target_rank, target_disp, target_count, target_datatype}, op);
}

int Get_accumulate_c(Job& job, const void* origin_addr, MPI_Count origin_count,
                     MPI_Datatype origin_datatype, void* result_addr, MPI_Count result_count,
                     MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                     MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Get_accumulate_c(origin_addr, origin_count, origin_datatype, result_addr,
                                    result_count, result_datatype, target_rank, target_disp,
                                    target_count, target_datatype, op, win);
  return get_accumulate({job, *window, "MPI_Get_accumulate_c"},
                        origin_of(origin_addr, origin_count, origin_datatype),
                        {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op);
}

int Rput_c(Job& job, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
           MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rput_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, win, request);
  return put({job, *window, "MPI_Rput_c", request},
             origin_of(origin_addr, origin_count, origin_datatype),
             {target_rank, target_disp, target_count, target_datatype});
}

int Rget_c(Job& job, void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
           MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rget_c(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, win, request);
  return get({job, *window, "MPI_Rget_c", request}, {origin_addr, origin_count, origin_datatype},
             {target_rank, target_disp, target_count, target_datatype});
}

int Raccumulate_c(Job& job, const void* origin_addr, MPI_Count origin_count,
                  MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                  MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                  MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Raccumulate_c(origin_addr, origin_count, origin_datatype, target_rank,
                                 target_disp, target_count, target_datatype, op, win, request);
  return accumulate({job, *window, "MPI_Raccumulate_c", request},
                    origin_of(origin_addr, origin_count, origin_datatype),
                    {target_rank, target_disp, target_count, target_datatype}, op);
}

int Rget_accumulate_c(Job& job, const void* origin_addr, MPI_Count origin_count,
                      MPI_Datatype origin_datatype, void* result_addr, MPI_Count result_count,
                      MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                      MPI_Request* request) {
  Window* window = spanning_window(job, win);
  if (window == nullptr)
    return vendor::Rget_accumulate_c(origin_addr, origin_count, origin_datatype, result_addr,
                                     result_count, result_datatype, target_rank, target_disp,
                                     target_count, target_datatype, op, win, request);
  return get_accumulate({job, *window, "MPI_Rget_accumulate_c", request},
                        origin_of(origin_addr, origin_count, origin_datatype),
                        {result_addr, result_count, result_datatype},
                        {target_rank, target_disp, target_count, target_datatype}, op);
}

#endif

}  // namespace impishim::shim::calls
