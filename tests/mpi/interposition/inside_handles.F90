! SPDX-License-Identifier: Apache-2.0
! What Fortran's bindings would read inside a communicator: the number of datatypes of MPI_Alltoallw and its brothers, and predefined
! attributes. Each process sends every other a number, as INTEGER to processes of even rank and as DOUBLE PRECISION to others. Both faces,
! mpi_f08 and mpif.h; same output natively and joined.
module exchange
  use mpi_f08
  implicit none
  integer :: wrong = 0
  integer, parameter :: block = 8
contains
  ! The type of what `from` sends to `to`, and what it is.
  integer function type_of(to)
    integer, intent(in) :: to
    type_of = merge(MPI_INTEGER%MPI_VAL, MPI_DOUBLE_PRECISION%MPI_VAL, mod(to, 2) == 0)
  end function

  subroutine put(place, from, to)
    integer, intent(out) :: place(2)
    integer, intent(in) :: from, to
    place = -1
    if (mod(to, 2) == 0) then
      place(1) = 100 * from + to
    else
      place = transfer(dble(100 * from + to), place)
    end if
  end subroutine

  subroutine check(what, place, from, to)
    character(len=*), intent(in) :: what
    integer, intent(in) :: place(2), from, to
    integer :: expected(2)
    call put(expected, from, to)
    if (mod(to, 2) == 0) expected(2) = -7
    if (all(place == expected)) return
    wrong = wrong + 1
    write (*, '(a,a,i0,a,i0,a,2(i0,1x))') what, ': from ', from, ' to ', to, ': ', place
  end subroutine
end module

! The face of mpif.h: integers as handles, and what compilers make of the names.
subroutine old_face(comm, me, first, peers, what)
  use exchange, only: put, check, type_of, block, wrong
  implicit none
  include 'mpif.h'
  integer :: comm, me, first, peers, i, ierror, request, status(MPI_STATUS_SIZE)
  character(len=*) :: what
  integer :: sent(2, peers), received(2, peers), counts(peers), displacements(peers), send_types(peers), receive_types(peers)
  counts = 1
  do i = 1, peers
    call put(sent(:, i), me, first + i - 1)
    displacements(i) = block * (i - 1)
    send_types(i) = type_of(first + i - 1)
    receive_types(i) = type_of(me)
  end do
  received = -7
  call MPI_ALLTOALLW(sent, counts, displacements, send_types, received, counts, displacements, receive_types, comm, ierror)
  call check_all('MPI_ALLTOALLW '//what)
  call MPI_IALLTOALLW(sent, counts, displacements, send_types, received, counts, displacements, receive_types, comm, request, ierror)
  call MPI_WAIT(request, status, ierror)
  call check_all('MPI_IALLTOALLW '//what)
  call ALLTOALLW_INIT(sent, counts, displacements, send_types, received, counts, displacements, receive_types, comm, &
                      MPI_INFO_NULL, request, ierror)
  do i = 1, 2
    call MPI_START(request, ierror)
    call MPI_WAIT(request, status, ierror)
    call check_all('MPI_ALLTOALLW_INIT '//what)
  end do
  call MPI_REQUEST_FREE(request, ierror)
contains
  subroutine check_all(name)
    character(len=*) :: name
    integer :: peer
    do peer = 1, peers
      call check(name, received(:, peer), first + peer - 1, me)
    end do
    received = -7
  end subroutine
end subroutine

program inside_handles
  use exchange
  implicit none
  external :: old_face
  integer :: rank, size, i, keys(4), old_value, value_in_c
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag, native
  type(MPI_Comm) :: part, between
  integer, external :: attribute_in_c
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call old_face(MPI_COMM_WORLD%MPI_VAL, rank, 0, size, 'world')
  call new_face()
  call in_place()
  call neighbours()
  ! All but the last process, and the last one: on either side as many datatypes as there are processes on the other.
  call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, rank == size - 1), 0, part)
  call MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, merge(0, size - 1, rank == size - 1), 5, between)
  if (rank == size - 1) call old_face(between%MPI_VAL, rank, 0, size - 1, 'between')
  if (rank /= size - 1) call old_face(between%MPI_VAL, rank, size - 1, 1, 'between')
  call MPI_Comm_free(between)
  call MPI_Comm_free(part)
  ! Fortran is told what C is told.
  call get_environment_variable('IMPISHIM_SERVER', status=i)
  native = i /= 0
  call MPI_Comm_dup(MPI_COMM_WORLD, part)
  keys = [MPI_TAG_UB, MPI_APPNUM, MPI_UNIVERSE_SIZE, MPI_WTIME_IS_GLOBAL]
  do i = 1, 4
    value_in_c = attribute_in_c(MPI_COMM_WORLD%MPI_VAL, i)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keys(i), value, flag)
    if (merge(int(value), -1, flag) /= value_in_c) call differs('MPI_Comm_get_attr')
    call old_attribute(MPI_COMM_WORLD%MPI_VAL, keys(i), old_value)
    if (old_value /= value_in_c) call differs('MPI_ATTR_GET')
    if (native) cycle  ! Open MPI by itself gives Fortran the address of a copy's value.
    value_in_c = attribute_in_c(part%MPI_VAL, i)
    call MPI_Comm_get_attr(part, keys(i), value, flag)
    if (merge(int(value), -1, flag) /= value_in_c) call differs('MPI_Comm_get_attr of a copy')
  end do
  call MPI_Comm_free(part)
  write (*, '(a,i0,a,i0,a,i0,a)') 'rank ', rank, ' of ', size, ': ', wrong, ' wrong'
  call MPI_Finalize()
contains
  subroutine differs(name)
    character(len=*) :: name
    wrong = wrong + 1
    write (*, '(a,a,i0,a,i0,1x,i0,a,i0)') name, ' of key ', i, ' says ', value, old_value, ', in C it is ', value_in_c
  end subroutine

  subroutine new_face()
    integer :: sent(2, size), received(2, size), counts(size), displacements(size)
    type(MPI_Datatype) :: send_types(size), receive_types(size)
    type(MPI_Request) :: request
    counts = 1
    displacements = [(block * i, i=0, size - 1)]
    do i = 1, size
      call put(sent(:, i), rank, i - 1)
      send_types(i)%MPI_VAL = type_of(i - 1)
    end do
    receive_types%MPI_VAL = type_of(rank)
    received = -7
    call MPI_Alltoallw(sent, counts, displacements, send_types, received, counts, displacements, receive_types, MPI_COMM_WORLD)
    do i = 1, size
      call check('f08 MPI_Alltoallw', received(:, i), i - 1, rank)
    end do
    received = -7
    call MPI_Ialltoallw(sent, counts, displacements, send_types, received, counts, displacements, receive_types, MPI_COMM_WORLD, &
                        request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, size
      call check('f08 MPI_Ialltoallw', received(:, i), i - 1, rank)
    end do
  end subroutine

  ! Both ways the same type, which is another for each pair.
  subroutine in_place()
    integer :: data(2, size), counts(size), displacements(size)
    type(MPI_Datatype) :: types(size)
    integer :: nothing(1)
    type(MPI_Datatype) :: no_types(1)
    no_types(1) = MPI_DATATYPE_NULL
    nothing = 0
    counts = 1
    displacements = [(block * i, i=0, size - 1)]
    do i = 1, size
      types(i)%MPI_VAL = type_of(rank + i - 1)
      call put(data(:, i), rank, 2 * (i - 1) + mod(rank + i - 1, 2))
    end do
    call MPI_Alltoallw(MPI_IN_PLACE, nothing, nothing, no_types, data, counts, displacements, types, MPI_COMM_WORLD)
    do i = 1, size
      if (mod(rank + i - 1, 2) == 0) data(2, i) = -7
      call check('in place', data(:, i), i - 1, 2 * rank + mod(rank + i - 1, 2))
    end do
  end subroutine

  ! Everybody's neighbours are all processes but itself, and the next one once more.
  subroutine neighbours()
    integer :: sources(size), destinations(size), sent(2, size), received(2, size), counts(size)
    integer(kind=MPI_ADDRESS_KIND) :: displacements(size)
    type(MPI_Datatype) :: send_types(size), receive_types(size)
    type(MPI_Comm) :: graph
    type(MPI_Request) :: request
    counts = 1
    do i = 1, size
      destinations(i) = mod(rank + i, size)
      sources(i) = mod(rank + size - i, size)
      displacements(i) = block * (i - 1)
      send_types(i)%MPI_VAL = type_of(destinations(i))
      receive_types(i)%MPI_VAL = type_of(rank)
      call put(sent(:, i), rank, destinations(i))
    end do
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, sources, MPI_UNWEIGHTED, size, destinations, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph)
    received = -7
    call MPI_Neighbor_alltoallw(sent, counts, displacements, send_types, received, counts, displacements, receive_types, graph)
    do i = 1, size
      call check('MPI_Neighbor_alltoallw', received(:, i), sources(i), rank)
    end do
    received = -7
    call MPI_Ineighbor_alltoallw(sent, counts, displacements, send_types, received, counts, displacements, receive_types, graph, &
                                 request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, size
      call check('MPI_Ineighbor_alltoallw', received(:, i), sources(i), rank)
    end do
    call MPI_Comm_free(graph)
  end subroutine
end program

subroutine old_attribute(comm, key, value)
  implicit none
  include 'mpif.h'
  integer :: comm, key, value, ierror
  logical :: flag
  call MPI_ATTR_GET(comm, key, value, flag, ierror)
  if (.not. flag) value = -1
end subroutine
