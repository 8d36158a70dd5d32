# SPDX-License-Identifier: Apache-2.0
"""IMPI 4: barrier, bcast, reduce and allreduce on MPI_COMM_WORLD by a client with one process,
which is its client's master."""

from point_to_point import WORLD, WORLD_COLLECTIVE

BARRIER_TAG, BCAST_TAG, REDUCE_TAG = 110, 120, 190


def cube_dimension(number):
    dimension = 0
    while 1 << dimension < number:
        dimension += 1
    return dimension


def highest_bit(value):
    return value.bit_length() - 1


class Collectives:
    """`lam`: as the implementation in use does it, where it departs from the specification."""

    def __init__(self, process, lam=False):
        self.process, self.job, self.lam = process, process.job, lam
        clients = [self.job.client_of(rank) for rank in range(len(self.job.procs))]
        self.masters = [clients.index(client) for client in sorted(set(clients))]
        self.clients = clients
        self.number = self.masters.index(process.rank)
        self.linear = len(self.masters) <= (4 if lam else self.job.maxlinear)
        self.reduce_context = WORLD if lam else WORLD_COLLECTIVE

    def speakers(self, root):
        """The masters, by number, with the root in the place of its client's."""
        return [
            root if self.clients[root] == self.clients[master] else master
            for master in self.masters
        ]

    def send(self, to, tag, data=b"", cid=WORLD_COLLECTIVE):
        self.process.send(to, tag, data, cid)

    def receive(self, source, tag, cid=WORLD_COLLECTIVE):
        return self.process.receive(source, tag, cid)

    def barrier(self):
        fan_in, parent = self.barrier_neighbours()
        for child in fan_in:
            self.receive(child, BARRIER_TAG)
        if parent is not None:
            self.send(parent, BARRIER_TAG)
            self.receive(parent, BARRIER_TAG)
        for child in fan_in if self.linear else reversed(fan_in):
            self.send(child, BARRIER_TAG)

    def barrier_neighbours(self):
        """The masters that this one hears, in order, and the one that it tells."""
        if self.linear:
            return (self.masters[1:], None) if self.number == 0 else ([], self.masters[0])
        lowest = highest_bit(self.number)
        children = [
            self.number | 1 << bit
            for bit in range(cube_dimension(len(self.masters)) - 1, lowest, -1)
        ]
        parent = None if self.number == 0 else self.masters[self.number & ~(1 << lowest)]
        return [self.masters[child] for child in children if child < len(self.masters)], parent

    def bcast(self, root, data=None):
        """`data` at the root; the data."""
        speakers = self.speakers(root)
        count = len(speakers)
        first = speakers.index(root)
        mine = (self.number - first) % count
        if self.linear:
            parent, children = 0, range(1, count) if mine == 0 else ()
        else:
            parent = mine & ~(1 << max(highest_bit(mine), 0))
            children = [
                mine | 1 << bit
                for bit in range(highest_bit(mine) + 1, cube_dimension(count))
                if mine | 1 << bit < count
            ]
        if mine != 0:
            data = self.receive(speakers[(parent + first) % count], BCAST_TAG)
        # Linear: to every other master in order; tree: ascending.
        for child in (
            sorted((each + first) % count for each in children)
            if self.linear
            else ((each + first) % count for each in children)
        ):
            self.send(speakers[child], BCAST_TAG, data)
        return data

    def reduce(self, root, data, combine, commutative=True):
        """combine(left, right) of packed data; the result at the root, elsewhere None."""
        if not commutative:
            return self.reduce_in_order(root, data, combine)
        speakers = self.speakers(root)
        count, first = len(speakers), speakers.index(root)
        mine = (self.number - first) % count
        if self.linear:
            if mine != 0:
                self.send(root, REDUCE_TAG, data, self.reduce_context)
                return None
            for speaker in speakers:
                if speaker != root:
                    data = combine(data, self.receive(speaker, REDUCE_TAG, self.reduce_context))
            return data
        bit = 1
        while bit < count:
            if mine & bit:
                self.send(
                    speakers[(mine - bit + first) % count], REDUCE_TAG, data, self.reduce_context
                )
                return None
            if mine | bit < count:
                data = combine(
                    data,
                    self.receive(
                        speakers[((mine | bit) + first) % count], REDUCE_TAG, self.reduce_context
                    ),
                )
            bit <<= 1
        return data

    def reduce_in_order(self, root, data, combine):
        """Every process sends to the root, which combines from the highest rank down."""
        if self.process.rank != root:
            self.send(root, REDUCE_TAG, data, self.reduce_context)
            return None
        result = None
        for rank in reversed(range(len(self.clients))):
            part = data if rank == root else self.receive(rank, REDUCE_TAG, self.reduce_context)
            result = part if result is None else combine(part, result)
        return result

    def allreduce(self, data, combine, commutative=True):
        return self.bcast(0, self.reduce(0, data, combine, commutative))
