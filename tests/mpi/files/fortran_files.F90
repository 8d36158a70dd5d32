! SPDX-License-Identifier: Apache-2.0
! Files in Fortran, by one of its three faces: FACE is 1 for mpif.h, 2 for the module mpi, 3 for mpi_f08. A view, collective and
! nonblocking access, a shared pointer, an array of statuses, an error handler; beside them a user's operation and an attribute
! with callbacks. Same output natively and joined.
#if FACE == 3
#define COMMUNICATOR type(MPI_Comm)
#define FILEHANDLE type(MPI_File)
#define HANDLER type(MPI_Errhandler)
#define DATATYPE type(MPI_Datatype)
#define OPERATION type(MPI_Op)
#define REQUEST type(MPI_Request)
#define STATUSES(name, count) type(MPI_Status) :: name(count)
#define STATUS_OF(name, place) name(place)
#define SOURCE_OF(name, place) name(place)%MPI_SOURCE
#define INTERFACE use mpi_f08
#define DECLARE implicit none
#else
#define COMMUNICATOR integer
#define FILEHANDLE integer
#define HANDLER integer
#define DATATYPE integer
#define OPERATION integer
#define REQUEST integer
#define STATUSES(name, count) integer :: name(MPI_STATUS_SIZE, count)
#define STATUS_OF(name, place) name(:, place)
#define SOURCE_OF(name, place) name(MPI_SOURCE, place)
#if FACE == 2
#define INTERFACE use mpi
#define DECLARE implicit none
#else
#define INTERFACE implicit none
#define DECLARE include 'mpif.h'
#endif
#endif

module calls
  implicit none
  integer :: copied = 0, deleted = 0, handled = 0, wrong = 0
contains
  subroutine require(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    write (*, '(a,a)') 'wrong: ', what
  end subroutine

  subroutine copy_value(comm, keyval, extra, value, copy, flag, ierror)
    INTERFACE
    DECLARE
    COMMUNICATOR :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, copy
    logical :: flag
    call require(value == 42 .and. extra == 17, 'what a copy callback is given')
    copied = copied + 1
    copy = value + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_value(comm, keyval, value, extra, ierror)
    INTERFACE
    DECLARE
    COMMUNICATOR :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    call require((value == 42 .or. value == 43) .and. extra == 17, 'what a delete callback is given')
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handle(file, code)
    INTERFACE
    DECLARE
    FILEHANDLE :: file
    integer :: code, class, ierror
    call MPI_ERROR_CLASS(code, class, ierror)
    call require(class == MPI_ERR_UNSUPPORTED_DATAREP, 'the class of an error')
    handled = handled + 1
  end subroutine
end module

! The larger of two absolute values; not commutative where they are the same.
#if FACE == 3
subroutine larger(given, result, length, kind)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  type(c_ptr), value :: given, result
  integer :: length
  type(MPI_Datatype) :: kind
  integer, pointer :: a(:), b(:)
  call c_f_pointer(given, a, [length])
  call c_f_pointer(result, b, [length])
  where (abs(a) >= abs(b)) b = a
end subroutine
#else
subroutine larger(a, b, length, kind)
  implicit none
  integer :: length, kind
  integer :: a(length), b(length)
  where (abs(a) >= abs(b)) b = a
end subroutine
#endif

program files
  use calls
  INTERFACE
  DECLARE
  integer, parameter :: width = 3
  integer :: rank, ranks, ierror, i, key, unit, read_count, value, best
  integer, asynchronous :: mine(width), all_of_rank(2 * width), whole(64)
  integer(kind=MPI_OFFSET_KIND) :: place, bytes
  integer(kind=MPI_ADDRESS_KIND) :: attribute, extra
  logical :: found
  character(len=200) :: path
  FILEHANDLE :: file
  HANDLER :: handler
  DATATYPE :: comb
  OPERATION :: operation
  REQUEST :: requests(2)
  COMMUNICATOR :: copy
  STATUSES(statuses, 2)
#if FACE == 3
  procedure(MPI_User_function) :: larger
#else
  external :: larger
#endif

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  unit = storage_size(rank) / 8
  if (rank == 0) write (path, '(a,i0)') '/tmp/impishim_fortran_files_', getpid()
  call MPI_BCAST(path, len(path), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call MPI_FILE_OPEN(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierror)
  call require(ierror == MPI_SUCCESS, 'opening a file')

  ! Every rank sees one column of a table.
  call MPI_TYPE_VECTOR(2, width, width * ranks, MPI_INTEGER, comb, ierror)
  call MPI_TYPE_COMMIT(comb, ierror)
  place = rank * width * unit
  call MPI_FILE_SET_VIEW(file, place, MPI_INTEGER, comb, 'native', MPI_INFO_NULL, ierror)
  all_of_rank = [(100 * rank + i, i=1, 2 * width)]
  place = 0
  call MPI_FILE_WRITE_AT_ALL(file, place, all_of_rank, 2 * width, MPI_INTEGER, STATUS_OF(statuses, 1), ierror)
  call MPI_GET_COUNT(STATUS_OF(statuses, 1), MPI_INTEGER, read_count, ierror)
  call require(read_count == 2 * width, 'the count of a write')
  call MPI_FILE_SYNC(file, ierror)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  call MPI_FILE_SYNC(file, ierror)

  place = 0
  call MPI_FILE_SET_VIEW(file, place, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
  call MPI_FILE_GET_SIZE(file, bytes, ierror)
  call require(bytes == 2 * width * ranks * unit, 'the size of a file')
  place = width * mod(rank + 1, ranks)
  call MPI_FILE_IREAD_AT(file, place, mine, width, MPI_INTEGER, requests(1), ierror)
  place = 0
  call MPI_FILE_IREAD_AT(file, place, whole, 2 * width * ranks, MPI_INTEGER, requests(2), ierror)
  call MPI_WAITALL(2, requests, statuses, ierror)
  call require(all(mine == [(100 * mod(rank + 1, ranks) + i, i=1, width)]), 'a nonblocking read')
  call MPI_GET_COUNT(STATUS_OF(statuses, 2), MPI_INTEGER, read_count, ierror)
  call require(read_count == 2 * width * ranks, 'the count of a nonblocking read')
  do i = 0, ranks - 1
    call require(whole(width * i + 1) == 100 * i + 1 .and. whole(width * (ranks + i) + 1) == 100 * i + width + 1, 'a whole file')
  end do

  ! One after the other, by the shared pointer.
  call MPI_FILE_SEEK_SHARED(file, place, MPI_SEEK_SET, ierror)
  call MPI_FILE_WRITE_ORDERED(file, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_FILE_SYNC(file, ierror)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  call MPI_FILE_SYNC(file, ierror)
  call MPI_FILE_READ_AT_ALL(file, place, whole, ranks, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call require(all(whole(1:ranks) == [(i, i=0, ranks - 1)]), 'an ordered write')

  call MPI_FILE_CREATE_ERRHANDLER(handle, handler, ierror)
  call MPI_FILE_SET_ERRHANDLER(file, handler, ierror)
  call MPI_ERRHANDLER_FREE(handler, ierror)
  place = 0
  call MPI_FILE_SET_VIEW(file, place, MPI_INTEGER, MPI_INTEGER, 'no such form', MPI_INFO_NULL, ierror)
  call require(ierror /= MPI_SUCCESS .and. handled == 1, 'an error handler')
  call MPI_FILE_CLOSE(file, ierror)
  call MPI_TYPE_FREE(comb, ierror)

  ! Messages whose statuses stand in an array.
  call MPI_IRECV(value, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_ISEND(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_WAITALL(2, requests, statuses, ierror)
  call require(SOURCE_OF(statuses, 1) == mod(rank + ranks - 1, ranks) .and. value == SOURCE_OF(statuses, 1), 'an array of statuses')

  call MPI_OP_CREATE(larger, .false., operation, ierror)
  value = merge(-1, 1, mod(rank, 2) == 1) * (rank + 1)
  call MPI_ALLREDUCE(value, best, 1, MPI_INTEGER, operation, MPI_COMM_WORLD, ierror)
  call require(best == merge(-1, 1, mod(ranks, 2) == 0) * ranks, 'an operation of the user')
  call MPI_OP_FREE(operation, ierror)

  extra = 17
  attribute = 42
  call MPI_COMM_CREATE_KEYVAL(copy_value, delete_value, key, extra, ierror)
  call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, attribute, ierror)
  call MPI_COMM_DUP(MPI_COMM_WORLD, copy, ierror)
  call MPI_COMM_GET_ATTR(copy, key, attribute, found, ierror)
  call require(found .and. attribute == 43 .and. copied == 1, 'a copy callback')
  call MPI_COMM_FREE(copy, ierror)
  call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, key, ierror)
  call require(deleted == 2, 'delete callbacks')
  call MPI_COMM_FREE_KEYVAL(key, ierror)
  if (wrong == 0) write (*, '(a,i0,a,i0,a)') 'rank ', rank, ' of ', ranks, ': right'
  call MPI_FINALIZE(ierror)
end program
