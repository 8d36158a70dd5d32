# SPDX-License-Identifier: Apache-2.0
"""IMPI 3.6 for one pair of processes. All packets count but PROTOACK (3.6) and FINI (3.8); answers
are never held back."""

import collections

from packets import ANSWERS, NAMES, Departure


def listed(kinds):
    return ", ".join(f"{number} {NAMES[kind]}" for kind, number in sorted(kinds.items())) or "none"


class SentPackets:
    """What the source counts: packets on their way to one process."""

    def __init__(self, other, ackmark, hiwater):
        self.other, self.ackmark, self.hiwater = other, ackmark, hiwater
        self.kinds = collections.Counter()
        self.protoacks = 0

    @property
    def total(self):
        return sum(self.kinds.values())

    @property
    def counter(self):
        return self.total - self.protoacks * self.ackmark

    @property
    def may_send(self):
        return self.counter < self.hiwater

    def sent(self, packet):
        self.kinds[packet.type] += 1

    def acknowledged(self):
        self.protoacks += 1
        if self.counter < 0:
            raise Departure(
                f"{self.other} acknowledged {self.protoacks * self.ackmark} packets with {self.protoacks} PROTOACKs; "
                f"it was sent {self.total} ({listed(self.kinds)})"
            )

    @property
    def settled(self):
        """Everything has been received, and acknowledged as the specification has it."""
        return self.protoacks == self.total // self.ackmark

    def __str__(self):
        return (
            f"{self.other} was sent {self.total} packets that count ({listed(self.kinds)}), for which {self.total // self.ackmark} "
            f"PROTOACKs are due when all are received, and sent {self.protoacks}: counter {self.counter}, hiwater {self.hiwater}"
        )


class ReceivedPackets:
    """What the destination counts: packets from one process. A message's first packet is received
    when it matches or is destroyed, every other packet when it has come."""

    def __init__(self, other, ackmark, hiwater):
        self.other, self.ackmark, self.hiwater = other, ackmark, hiwater
        self.kinds = collections.Counter()
        self.received = 0

    @property
    def counter(self):
        """The source's counter, as far as is known here."""
        return sum(self.kinds.values()) - self.received // self.ackmark * self.ackmark

    def arrives(self, packet):
        self.kinds[packet.type] += 1
        if packet.type not in ANSWERS and self.counter > self.hiwater:
            raise Departure(
                f"{self.other} sent {packet} beyond hiwater: its counter is {self.counter}, hiwater {self.hiwater} "
                f"({listed(self.kinds)} have come, {self.received // self.ackmark} PROTOACKs were sent)"
            )

    def receive(self):
        """Counts one packet as received; true when a PROTOACK is due."""
        self.received += 1
        return self.received % self.ackmark == 0

    def __str__(self):
        return (
            f"from {self.other} {sum(self.kinds.values())} packets that count have come ({listed(self.kinds)}), {self.received} of them "
            f"received"
        )
