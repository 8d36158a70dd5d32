# SPDX-License-Identifier: Apache-2.0
"""mpi4py in a joined job: pickled objects (recv is MPI_Mprobe and MPI_Mrecv), buffers, collectives.
Every rank prints one line; the same natively and joined."""

import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size


def point_to_point():
    """Objects of every length, to neighbours and from anybody, blocking and not."""
    for length in (0, 1, 1000, 300000):
        request = world.isend(
            {"from": rank, "data": list(range(length // 100)), "bytes": bytes(length)},
            right,
            tag=length,
        )
        got = world.recv(source=left, tag=length)
        request.wait()
        assert (
            got["from"] == left
            and len(got["bytes"]) == length
            and len(got["data"]) == length // 100
        )
    status = MPI.Status()
    requests = [
        world.isend(("hello", rank), other, tag=7) for other in range(size) if other != rank
    ]
    seen = set()
    for _ in range(size - 1):
        word, sender = world.recv(source=MPI.ANY_SOURCE, tag=7, status=status)
        assert word == "hello" and sender == status.source and status.tag == 7
        seen.add(sender)
    MPI.Request.waitall(requests)
    assert seen == set(range(size)) - {rank}
    assert world.sendrecv(rank, dest=right, source=left) == left
    message = world.irecv(source=left, tag=9)
    world.ssend([None, 1.5, "x" * rank], right, tag=9)
    assert message.wait() == [None, 1.5, "x" * left]


def probes_and_requests():
    world.isend(b"probed", right, tag=11).wait()
    status = MPI.Status()
    message = world.mprobe(source=left, tag=11, status=status)
    assert status.source == left and message.recv() == b"probed"
    out, back = array.array("d", [rank] * 10), array.array("d", [-1] * 10)
    send, receive = world.Send_init([out, MPI.DOUBLE], right, 12), world.Recv_init(
        [back, MPI.DOUBLE], left, 12
    )
    for turn in range(3):
        out[:] = array.array("d", [rank + turn] * 10)
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
        assert back.tolist() == [left + turn] * 10
    send.Free()
    receive.Free()


def collectives():
    assert world.bcast({"root": 1} if rank == 1 else None, root=1) == {"root": 1}
    assert world.allgather(("a", rank)) == [("a", other) for other in range(size)]
    assert world.gather("x" * rank, root=0) == (
        ["x" * other for other in range(size)] if rank == 0 else None
    )
    assert world.scatter(
        [{"to": other} for other in range(size)] if rank == 0 else None, root=0
    ) == {"to": rank}
    assert world.alltoall([(rank, other) for other in range(size)]) == [
        (other, rank) for other in range(size)
    ]
    assert world.scan(rank) == rank * (rank + 1) // 2
    assert world.allreduce(rank) == size * (size - 1) // 2
    assert world.reduce([rank], op=MPI.SUM, root=0) == (list(range(size)) if rank == 0 else None)
    total = array.array("l", [0])
    world.Allreduce([array.array("l", [rank]), MPI.LONG], [total, MPI.LONG], op=MPI.MAX)
    assert total[0] == size - 1
    world.Barrier()


def communicators():
    part = world.Split(rank % 2, -rank)
    members = sorted((other for other in range(size) if other % 2 == rank % 2), reverse=True)
    assert part.size == len(members) and members[part.rank] == rank
    assert part.allreduce([rank]) == members
    part.Free()
    twin = world.Dup()
    assert MPI.Comm.Compare(world, twin) == MPI.CONGRUENT
    twin.Free()
    world.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        world.send(0, dest=size)
        raise AssertionError("a rank that is not there was accepted")
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_RANK


for part_of_test in (point_to_point, probes_and_requests, collectives, communicators):
    part_of_test()
sys.stdout.write(f"rank {rank} of {size}: objects as they should be\n")
