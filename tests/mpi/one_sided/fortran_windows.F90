! SPDX-License-Identifier: Apache-2.0
! Windows in Fortran, by one of its three faces: FACE is 1 for mpif.h, 2 for the module mpi, 3 for mpi_f08. Puts between fences, a lock
! with a put and a get, an accumulate, attributes with a callback, and an error handler. Same output natively and joined.
#if FACE == 3
#define WINDOW type(MPI_Win)
#define HANDLER type(MPI_Errhandler)
#define INTERFACE use mpi_f08
#define DECLARE implicit none
#elif FACE == 2
#define WINDOW integer
#define HANDLER integer
#define INTERFACE use mpi
#define DECLARE implicit none
#else
#define WINDOW integer
#define HANDLER integer
#define INTERFACE implicit none
#define DECLARE include 'mpif.h'
#endif

module calls
  implicit none
  integer :: deleted = 0, handled = 0, wrong = 0
contains
  subroutine require(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    write (*, '(a,a)') 'wrong: ', what
  end subroutine

  subroutine delete_value(win, keyval, value, extra, ierror)
    INTERFACE
    DECLARE
    WINDOW :: win
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    call require(value == 42 .and. extra == 17, 'what a delete callback is given')
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handle(win, code)
    INTERFACE
    DECLARE
    WINDOW :: win
    integer :: code, class, ierror
    call MPI_ERROR_CLASS(code, class, ierror)
    call require(class == MPI_ERR_RANK, 'the class of an error')
    handled = handled + 1
  end subroutine
end module

program windows
  use calls
  INTERFACE
  DECLARE
  integer, parameter :: most = 8
  integer :: rank, ranks, ierror, other, unit, key, i, one, fetched
  integer, asynchronous :: memory(most), seen(most)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place, value, extra
  logical :: found
  WINDOW :: win
  HANDLER :: handler

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  memory = -1
  unit = storage_size(memory) / 8
  bytes = most * unit
  call MPI_WIN_CREATE(memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)

  ! Every rank puts its number to all.
  call MPI_WIN_FENCE(0, win, ierror)
  do other = 0, ranks - 1
    place = rank
    call MPI_PUT(rank, 1, MPI_INTEGER, other, place, 1, MPI_INTEGER, win, ierror)
  end do
  call MPI_WIN_FENCE(0, win, ierror)
  call require(all(memory(1:ranks) == [(i, i=0, ranks - 1)]), 'puts between fences')
  call MPI_WIN_FENCE(MPI_MODE_NOSUCCEED, win, ierror)

  ! The next rank's memory, under its lock.
  other = mod(rank + 1, ranks)
  call MPI_WIN_LOCK(MPI_LOCK_EXCLUSIVE, other, 0, win, ierror)
  place = ranks
  call MPI_PUT(rank, 1, MPI_INTEGER, other, place, 1, MPI_INTEGER, win, ierror)
  call MPI_WIN_FLUSH(other, win, ierror)
  place = 0
  call MPI_GET(seen, ranks + 1, MPI_INTEGER, other, place, ranks + 1, MPI_INTEGER, win, ierror)
  call MPI_WIN_UNLOCK(other, win, ierror)
  call require(all(seen(1:ranks + 1) == [(i, i=0, ranks - 1), rank]), 'a put and a get under a lock')

  ! All count in rank 0's memory.
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  one = 1
  place = most - 1
  call MPI_WIN_LOCK_ALL(0, win, ierror)
  call MPI_ACCUMULATE(one, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, win, ierror)
  call MPI_WIN_FLUSH_ALL(win, ierror)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  call MPI_FETCH_AND_OP(one, fetched, MPI_INTEGER, 0, place, MPI_NO_OP, win, ierror)
  call MPI_WIN_UNLOCK_ALL(win, ierror)
  call require(fetched == ranks - 1, 'a sum')

  call MPI_WIN_GET_ATTR(win, MPI_WIN_SIZE, value, found, ierror)
  call require(found .and. value == bytes, 'MPI_WIN_SIZE')
  call MPI_WIN_GET_ATTR(win, MPI_WIN_DISP_UNIT, value, found, ierror)
  call require(found .and. value == unit, 'MPI_WIN_DISP_UNIT')
  extra = 17
  value = 42
  call MPI_WIN_CREATE_KEYVAL(MPI_WIN_NULL_COPY_FN, delete_value, key, extra, ierror)
  call MPI_WIN_SET_ATTR(win, key, value, ierror)
  value = 0
  call MPI_WIN_GET_ATTR(win, key, value, found, ierror)
  call require(found .and. value == 42, 'an attribute')

  call MPI_WIN_CREATE_ERRHANDLER(handle, handler, ierror)
  call MPI_WIN_SET_ERRHANDLER(win, handler, ierror)
  call MPI_ERRHANDLER_FREE(handler, ierror)
  call MPI_WIN_LOCK_ALL(0, win, ierror)
  place = 0
  call MPI_PUT(one, 1, MPI_INTEGER, ranks, place, 1, MPI_INTEGER, win, ierror)
  call require(ierror /= MPI_SUCCESS .and. handled == 1, 'an error handler')
  call MPI_WIN_UNLOCK_ALL(win, ierror)

  call MPI_WIN_FREE(win, ierror)
  call require(deleted == 1, 'a delete callback')
  call MPI_WIN_FREE_KEYVAL(key, ierror)
  if (wrong == 0) write (*, '(a,i0,a,i0,a)') 'rank ', rank, ' of ', ranks, ': right'
  call MPI_FINALIZE(ierror)
end program
