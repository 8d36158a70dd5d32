! SPDX-License-Identifier: Apache-2.0
! Both Fortran faces of a job: mpi_f08 and mpif.h, with sentinels and callbacks. Same output natively and joined.
module callbacks
  use mpi_f08
  implicit none
  integer :: expected = 0, wrong = 0, calls = 0
contains
  subroutine look()
    integer :: size
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    if (size /= expected) wrong = wrong + 1
    calls = calls + 1
  end subroutine

  subroutine delete_new(comm, keyval, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    if (value /= 42 .or. extra /= 17 .or. comm == MPI_COMM_NULL .or. keyval == MPI_KEYVAL_INVALID) wrong = wrong + 1
    call look()
    ierror = MPI_SUCCESS
  end subroutine

  subroutine copy_old(comm, keyval, extra, value, copied, flag, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, copied
    logical :: flag
    if (value /= 43 .or. extra /= 18 .or. comm == MPI_COMM_NULL%MPI_VAL .or. keyval == MPI_KEYVAL_INVALID) wrong = wrong + 1
    copied = value
    flag = .true.
    call look()
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_old(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    if (value /= 43 .or. extra /= 18 .or. comm == MPI_COMM_NULL%MPI_VAL .or. keyval == MPI_KEYVAL_INVALID) wrong = wrong + 1
    call look()
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handle(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (code /= MPI_ERR_OTHER .or. comm /= MPI_COMM_WORLD) wrong = wrong + 1
    call look()
  end subroutine
end module

subroutine old_face(rank, size, sum)
  use callbacks, only: copy_old, delete_old
  implicit none
  include 'mpif.h'
  integer :: rank, size, sum, ierror, keyval, other, status(MPI_STATUS_SIZE), request, value, message
  integer(kind=MPI_ADDRESS_KIND) :: extra, attribute
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
  sum = rank
  call MPI_ALLREDUCE(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  value = rank
  call MPI_ISEND(value, 1, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD, request, ierror)
  call MPI_RECV(message, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status, ierror)
  call MPI_WAIT(request, MPI_STATUS_IGNORE, ierror)
  if (status(MPI_SOURCE) /= mod(rank + size - 1, size) .or. message /= status(MPI_SOURCE)) sum = -1
  extra = 18
  attribute = 43
  call MPI_COMM_CREATE_KEYVAL(copy_old, delete_old, keyval, extra, ierror)
  call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, keyval, attribute, ierror)
  call MPI_COMM_DUP(MPI_COMM_WORLD, other, ierror)
  call MPI_COMM_FREE(other, ierror)
  call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, keyval, ierror)
  call MPI_COMM_FREE_KEYVAL(keyval, ierror)
end subroutine

program bindings
  use callbacks
  implicit none
  integer :: rank, size, sum, old_rank, old_size, old_sum, keyval, message
  integer(kind=MPI_ADDRESS_KIND) :: extra, attribute
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: requests(2)
  character(len=8) :: argument
  call MPI_Init()
  call get_command_argument(1, argument)
  read (argument, *) expected
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  sum = rank
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Irecv(message, 1, MPI_INTEGER, mod(rank + size - 1, size), 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (message /= mod(rank + size - 1, size)) wrong = wrong + 1
  extra = 17
  attribute = 42
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_new, keyval, extra)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, attribute)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_create_errhandler(handle, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call MPI_Errhandler_free(handler)
  call old_face(old_rank, old_size, old_sum)
  write (*, '(a,i0,a,i0,a,i0,a,3(i0,1x),a,i0,a,i0)') 'f08 ', rank, ' of ', size, ' sum ', sum, ' mpif.h ', old_rank, old_size, &
    old_sum, 'calls ', calls, ' wrong ', wrong
  call MPI_Finalize()
end program
