# SPDX-License-Identifier: Apache-2.0
"""What the foreign process and programs/partner.c do together: the two sides of each scenario have
one name and the same values."""

import functools
import operator
import struct

from packets import Departure

(
    SHORT_TAG,
    SYNC_TAG,
    LONG_TAG,
    CANCEL_TAG,
    MATCHED_TAG,
    PROBE_TAG,
    TYPE_TAG,
    UNMATCHED_TAG,
    TOKEN_TAG,
) = range(11, 20)
SHORT_COUNT, SYNC_COUNT = 45, 50
LONG_BYTES = (
    70000,
    800004,
    3200000,
)  # more than one packet; more than ackmark packets; more than hiwater
PERIOD = 1000
CANCEL_ROUNDS = 4
BARRIERS = 25
BCAST_COUNTS = (3, 0, 30000)
REDUCTIONS = (("int", 5, operator.add), ("double", 20000, operator.add), ("int", 4, max))


def value(rank, message, index):
    return (rank * 1009 + message * 31 + index % PERIOD * 7) % 100003


def cancels(job):
    """Messages that may be unmatched at once so that a CANCEL can follow: an acknowledgement always
    comes due."""
    return min(10, job.hiwater - job.ackmark)


class Scenarios:
    """One side of each scenario; `others` are the ranks of the program under test."""

    def __init__(self, process, group, form, others):
        self.process, self.group, self.form, self.others = process, group, form, others

    def run(self, names):
        for name in names:
            if name in ("collectives", "unmatched"):
                getattr(self, name)()
                continue
            for other in self.others:
                getattr(self, name)(other)

    # Values.

    def ints(self, rank, message, count):
        period = self.form.pack(
            "int", [value(rank, message, index) for index in range(min(count, PERIOD))]
        )
        return (period * (count // PERIOD + 1))[: 4 * count]

    def require_ints(self, data, rank, message, count, what):
        expected = self.ints(rank, message, count)
        if data == expected:
            return
        if len(data) != len(expected):
            raise Departure(f"{what} has {len(data)} bytes, not {len(expected)}")
        at = (
            next(
                index
                for index in range(count)
                if data[4 * index : 4 * index + 4] != expected[4 * index : 4 * index + 4]
            )
            * 4
        )
        raise Departure(
            f"{what} has {data[at:at + 8].hex()} at byte {at}; {expected[at:at + 8].hex()} is what {self.form.__name__} has"
        )

    def token_from(self, other):
        self.process.receive(other, TOKEN_TAG)

    def token_to(self, other):
        self.process.send(other, TOKEN_TAG, b"")

    def settled(self, other):
        """The other one tells that it has received all, so all acknowledgements are due."""
        self.token_from(other)
        self.process.settle(other)

    # Scenarios. The names of parameters: `other` is the rank of the program under test.

    def short(self, other):
        process, received = self.process, self.process.received[other]
        # Nothing is received: what leaves the source stops at hiwater.
        room = process.job.hiwater - received.counter
        first = min(SHORT_COUNT, room)
        process.wait(
            f"{first} unmatched packets of {SHORT_COUNT} messages",
            lambda: process.unmatched(other) >= first,
        )
        process.serve(0.1)  # more would raise Departure
        for number in range(SHORT_COUNT):
            data = process.receive(other, SHORT_TAG)
            self.require_ints(
                data, other, number, number * 5, f"short message {number} from rank {other}"
            )
        sends = [
            process.start_send(other, SHORT_TAG, self.ints(process.rank, number, number * 5))
            for number in range(SHORT_COUNT)
        ]
        process.wait_sent(*sends)
        self.settled(other)

    def synchronous(self, other):
        process = self.process
        for number in range(SYNC_COUNT):
            data = process.receive(other, SYNC_TAG)
            self.require_ints(
                data, other, number, number, f"synchronous message {number} from rank {other}"
            )
        self.settled(other)  # the SYNCACKs have been received
        sends = [
            process.start_send(
                other, SYNC_TAG, self.ints(process.rank, number, number), synchronous=True
            )
            for number in range(SYNC_COUNT)
        ]
        process.wait_sent(*sends)
        self.settled(other)

    def long(self, other):
        process = self.process
        for number, size in enumerate(LONG_BYTES):
            data = process.receive(other, LONG_TAG)
            self.require_ints(
                data, other, number, size // 4, f"long message {number} from rank {other}"
            )
            process.send(
                other,
                LONG_TAG,
                self.ints(process.rank, number, size // 4),
                synchronous=number % 2 == 1,
            )
        # Both directions at once, and several at once.
        rooms = [process.start_receive(other, LONG_TAG) for _ in LONG_BYTES]
        sends = [
            process.start_send(other, LONG_TAG, self.ints(process.rank, number, size // 4))
            for number, size in enumerate(LONG_BYTES)
        ]
        for number, room in enumerate(rooms):
            data = process.wait_received(
                room, f"long message {number} of several from rank {other}"
            )
            self.require_ints(
                data,
                other,
                number,
                LONG_BYTES[number] // 4,
                f"long message {number} of several from rank {other}",
            )
        process.wait_sent(*sends)
        self.settled(other)

    def cancel(self, other):
        process, number = self.process, cancels(self.process.job)
        # The other one cancels what is never received here, also a long message, then what has
        # matched.
        for _ in range(CANCEL_ROUNDS):
            self.token_from(other)
            if left := process.unmatched(other):
                raise Departure(
                    f"rank {other} has cancelled {number} messages and a long one, but {left} are still here"
                )
            self.token_to(other)
        process.receive(other, MATCHED_TAG)
        self.token_to(other)
        self.token_from(other)
        # The same from here: synchronous ones, standard ones, a long one.
        for turn in range(CANCEL_ROUNDS):
            sends = [
                process.start_send(
                    other, CANCEL_TAG, self.ints(process.rank, turn, 3), synchronous=turn % 2 == 0
                )
                for _ in range(number - 1)
            ]
            sends.append(
                process.start_send(
                    other, CANCEL_TAG, self.ints(process.rank, turn, LONG_BYTES[0] // 4)
                )
            )
            process.wait(
                "room for messages that are to be cancelled",
                lambda: all(send.left for send in sends),
            )
            for send in sends:
                process.start_cancel(send)
            for send in sends:
                if not process.wait_cancelled(send):
                    raise Departure(
                        f"rank {other} answered CANCELNO for {send.packet}, which it never received"
                    )
            self.token_to(other)
            self.token_from(other)
        matched = process.start_send(other, MATCHED_TAG, self.ints(process.rank, 0, 3))
        self.token_from(other)
        process.start_cancel(matched)
        if process.wait_cancelled(matched):
            raise Departure(
                f"rank {other} answered CANCELYES for {matched.packet}, which it had received"
            )
        self.token_to(other)
        self.settled(other)

    def probe(self, other):
        process, sizes = self.process, (0, 40, LONG_BYTES[1])
        sends = [
            process.start_send(
                other, PROBE_TAG + number * 100, self.ints(process.rank, number, size // 4)
            )
            for number, size in enumerate(sizes)
        ]
        for number, size in enumerate(sizes):
            length = process.probe(other, PROBE_TAG + number * 100)
            if length != size:
                raise Departure(f"rank {other} announced {length} bytes; its message has {size}")
            data = process.receive(other, PROBE_TAG + number * 100)
            self.require_ints(
                data, other, number, size // 4, f"probed message {number} from rank {other}"
            )
        process.wait_sent(*sends)
        self.settled(other)

    KINDS = (
        ("char", (-3, 0, 100)),
        ("short", (-300, 0, 30000)),
        ("int", (-70000, 0, 70000)),
        ("long", (-70000, 0, 2000000000)),
        ("long long", (-1 << 40, 0, 1 << 40)),
        ("float", (-1.5, 0.0, 0.15625)),
        ("double", (-1e100, 0.0, 0.1)),
        ("long double", (-1e100, 0.1, 3.0)),
    )

    def types(self, other):
        process = self.process
        for kind, values in self.KINDS:
            expected = self.form.pack(kind, values)
            data = process.receive(other, TYPE_TAG)
            if data != expected:
                raise Departure(
                    f"rank {other} sent {kind} {values} as {data.hex()}; {self.form.__name__} has {expected.hex()}"
                )
            process.send(other, TYPE_TAG, expected)
        expected = struct.pack(self.form.pair, 7, 0.5) + struct.pack(self.form.pair, -8, 0.25)
        data = process.receive(other, TYPE_TAG)
        if data != expected:
            raise Departure(
                f"rank {other} sent two structures of int and double as {data.hex()}, not {expected.hex()}"
            )
        process.send(other, TYPE_TAG, expected)
        # MPI_Pack on a spanning communicator: the wire's form without header or trailer (IMPI 4.1).
        expected = self.form.pack("int", (1, 2, 3)) + self.form.pack("double", (0.5,))
        data = process.receive(other, TYPE_TAG)
        if data != expected:
            raise Departure(
                f"rank {other} packed three integers and a double as {data.hex()}, not {expected.hex()}"
            )
        self.settled(other)

    def unmatched(self):
        """Messages that nobody receives, in both directions, before MPI_Finalize."""
        for other in self.others:
            for _ in range(3):
                self.process.send(other, UNMATCHED_TAG, self.ints(self.process.rank, 0, 10))
            self.process.wait(
                f"3 messages of rank {other} that are not received",
                lambda each=other: self.process.unmatched(each) >= 3,
            )

    def collectives(self):
        group, mine, size = self.group, self.process.rank, len(self.process.job.procs)
        for _ in range(BARRIERS):
            group.barrier()
        for root in range(size):
            for count in BCAST_COUNTS:
                data = group.bcast(root, self.ints(root, count, count) if root == mine else None)
                self.require_ints(
                    data, root, count, count, f"broadcast of {count} integers from rank {root}"
                )
        for root in range(size):
            for kind, count, operate in REDUCTIONS:
                data = group.reduce(
                    root, self.numbers(kind, mine, root, count), self.by_element(kind, operate)
                )
                if root == mine:
                    self.require_reduced(data, kind, root, count, operate)
            data = group.reduce(root, self.maps(mine), affine(self.form), commutative=False)
            if root == mine:
                self.require(
                    data,
                    functools.reduce(affine(self.form), map(self.maps, range(size))),
                    "reduction that does not commute",
                )
        for _ in range(3):
            data = group.allreduce(
                self.numbers("int", mine, 0, 5), self.by_element("int", operator.add)
            )
            self.require_reduced(data, "int", 0, 5, operator.add)

    def numbers(self, kind, rank, message, count):
        return self.form.pack(kind, [value(rank, message, index) for index in range(count)])

    def maps(self, rank):
        return self.form.pack("int", [value(rank, 1, index) + 1 for index in range(4)])

    def by_element(self, kind, operate):
        form = self.form
        return lambda left, right: form.pack(
            kind,
            [operate(*pair) for pair in zip(form.unpack(kind, left), form.unpack(kind, right))],
        )

    def require_reduced(self, data, kind, message, count, operate):
        parts = [
            self.numbers(kind, rank, message, count) for rank in range(len(self.process.job.procs))
        ]
        self.require(
            data,
            functools.reduce(self.by_element(kind, operate), parts),
            f"reduction of {count} {kind}s to rank {message}",
        )

    @staticmethod
    def require(data, expected, what):
        if data != expected:
            raise Departure(
                f"the {what} gives {data[:32].hex()}...; {expected[:32].hex()}... is right"
            )


def affine(form):
    """x -> a x + b, one after the other: associative, not commutative; modulo 2^31 - 1 so that it
    stays exact."""
    modulus = (1 << 31) - 1

    def combine(left, right):
        result = []
        a, b = form.unpack("int", left), form.unpack("int", right)
        for index in range(0, len(a), 2):
            result += [
                a[index] * b[index] % modulus,
                (a[index + 1] * b[index] + b[index + 1]) % modulus,
            ]
        return form.pack("int", result)

    return combine
