# SPDX-License-Identifier: Apache-2.0
"""IMPI 3.7 and 3.8 for one process that is a host of its own: messages, probes, cancels, and the
end. Everything that arrives is checked against the specification; what departs from it raises
Departure."""

import collections
import dataclasses
import itertools
import selectors
import socket
import time

from flow_control import ReceivedPackets, SentPackets
from packets import (
    ANSWERS,
    CANCEL,
    CANCELNO,
    CANCELYES,
    DATA,
    DATASYNC,
    FINI,
    MESSAGES,
    PROTOACK,
    SYNCACK,
    Departure,
    Packet,
    PacketReader,
)

ANY = None
WORLD, WORLD_COLLECTIVE = 0, 1


class Channel:
    """The connection to one host."""

    def __init__(self, host, connection, maxdatalen):
        self.host, self.socket, self.reader = host, connection, PacketReader(maxdatalen)
        self.socket.setblocking(False)
        self.output = bytearray()
        self.fini_came = self.fini_sent = self.ended = False

    def flush(self):
        try:
            while self.output:
                del self.output[: self.socket.send(memoryview(self.output)[: 1 << 20])]
        except BlockingIOError:
            pass
        except OSError as error:
            if not self.fini_came:
                raise Departure(
                    f"host {self.host} closed its connection without FINI ({error.strerror})"
                ) from None
            self.output.clear()

    def read(self):
        """Whole packets that have come."""
        try:
            while not self.ended:
                data = self.socket.recv(1 << 18)
                self.ended = not data
                self.reader.feed(data)
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.ended = True
        yield from self.reader.packets()
        if self.ended and (self.reader.rest or not self.fini_came):
            raise Departure(
                f"host {self.host} closed its connection "
                + (
                    f"in the middle of a packet ({self.reader.rest} bytes had come)"
                    if self.reader.rest
                    else "without FINI"
                )
            )


@dataclasses.dataclass
class Send:
    """A message that leaves."""

    dest: int
    packet: Packet  # its first
    payload: bytes
    left: bool = False  # the first packet
    acknowledged: bool = False  # by SYNCACK
    done: bool = False
    cancel: Packet = None  # our CANCEL, once it is wanted
    cancelled: bool = None  # the answer to it

    @property
    def synchronous(self):
        return self.packet.type == DATASYNC


@dataclasses.dataclass
class Incoming:
    """A message that has begun to arrive."""

    source: int
    first: Packet
    data: bytearray
    matched: bool = False
    done: bool = False


class Process:
    """One process of the job. `patience`: seconds that it waits for anything before it says what
    has not come."""

    def __init__(self, job, rank, connections, patience=20):
        self.job, self.rank, self.patience = job, rank, patience
        self.channels = {
            host: Channel(host, connection, job.datalen) for host, connection in connections.items()
        }
        self.selector = selectors.DefaultSelector()
        for channel in self.channels.values():
            self.selector.register(channel.socket, selectors.EVENT_READ, channel)
        self.ranks = {proc: number for number, proc in enumerate(job.procs)}
        others = [number for number in range(len(job.procs)) if number != rank]
        self.sent = {
            number: SentPackets(f"rank {number}", job.ackmark, job.hiwater) for number in others
        }
        self.received = {
            number: ReceivedPackets(f"rank {number}", job.ackmark, job.hiwater) for number in others
        }
        self.held = {
            number: collections.deque() for number in others
        }  # packets that wait, in order; some with a Send
        self.sends = {}  # srqid -> Send
        self.unexpected = []  # Incoming, in order of arrival
        self.posted = []  # (Incoming to fill, source, tag, cid)
        self.long = {}  # our drqid -> Incoming
        self.active = (
            {}
        )  # (source, srqid) -> Incoming of a DATASYNC that has had no SYNCACK and no CANCELYES
        self.known = collections.defaultdict(set)  # source -> srqids of messages that have come
        self.numbers = itertools.count(0x1000)

    # What arrives.

    def progress(self, timeout=None):
        for channel in self.channels.values():
            channel.flush()
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.output else 0)
            if not channel.ended:
                self.selector.modify(channel.socket, events, channel)
        for key, _ in self.selector.select(timeout):
            for packet in key.data.read():
                self.take(key.data, packet)
            if key.data.ended:
                self.selector.unregister(key.data.socket)

    def wait(self, what, condition):
        """Serves the connections until condition()."""
        deadline = time.monotonic() + self.patience
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise Departure(f"{what} did not come within {self.patience} s; {self.state()}")
            self.progress(left)
        for channel in self.channels.values():
            channel.flush()

    def serve(self, seconds):
        """Serves the connections for a while."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.progress(left)

    def state(self):
        return "; ".join(
            f"{self.sent[other]}; {self.received[other]}"
            for other in self.sent
            if self.sent[other].total or self.received[other].kinds
        )

    def take(self, channel, packet):
        if channel.fini_came and packet.type not in (PROTOACK, SYNCACK):
            raise Departure(
                f"host {channel.host} sent {packet} after its FINI, where only acknowledgements may come"
            )
        if packet.type == FINI:
            channel.fini_came = True
            return
        source = self.ranks.get(packet.src)
        if source is None or self.job.host_of_proc[source] != channel.host:
            raise Departure(
                f"host {channel.host} sent {packet} of {packet.src}, which is no process of it"
            )
        if packet.dest != self.job.procs[self.rank]:
            raise Departure(
                f"rank {source} sent {packet} for {packet.dest} to the host of {self.job.procs[self.rank]}"
            )
        if packet.type == PROTOACK:
            self.sent[source].acknowledged()
            self.release(source)
            return
        self.received[source].arrives(packet)
        {
            DATA: self.take_data,
            DATASYNC: self.take_first,
            SYNCACK: self.take_syncack,
            CANCEL: self.take_cancel,
            CANCELYES: self.take_cancel_answer,
            CANCELNO: self.take_cancel_answer,
        }[packet.type](source, packet)

    def count_received(self, source):
        if self.received[source].receive():
            self.emit(source, PROTOACK)

    def take_data(self, source, packet):
        if packet.len == packet.msglen:
            self.take_first(source, packet)
            return
        self.count_received(source)
        incoming = self.long.get(packet.drqid)
        if incoming is None or incoming.source != source or incoming.first.srqid != packet.srqid:
            raise Departure(
                f"rank {source} sent {packet} with drqid {packet.drqid}, which no SYNCACK has given it for that message"
            )
        if (
            packet.msglen != incoming.first.msglen
            or packet.len == 0
            or len(incoming.data) + packet.len > packet.msglen
        ):
            raise Departure(
                f"rank {source} sent {packet} after {len(incoming.data)} bytes of {incoming.first}"
            )
        incoming.data += packet.payload
        if len(incoming.data) == packet.msglen:
            del self.long[packet.drqid]
            incoming.done = True

    def take_first(self, source, packet):
        self.check_first(source, packet)
        incoming = Incoming(source, packet, bytearray(packet.payload))
        self.known[source].add(packet.srqid)
        if packet.type == DATASYNC:
            self.active[source, packet.srqid] = incoming
        for posted in self.posted:
            if self.fits(incoming, *posted[1:]):
                self.posted.remove(posted)
                self.match(incoming, posted[0])
                return
        self.unexpected.append(incoming)

    def check_first(self, source, packet):
        due = min(packet.msglen, self.job.datalen)
        if packet.len != due:
            raise Departure(
                f"rank {source} sent {packet} as the first packet of a message; it has {due} bytes"
            )
        if packet.lsrank != source:
            raise Departure(f"rank {source} sent {packet} with pk_lsrank {packet.lsrank}")
        if packet.cid not in (WORLD, WORLD_COLLECTIVE) or not 0 <= packet.tag <= self.job.tagub:
            raise Departure(
                f"rank {source} sent {packet}; contexts 0 and 1 and tags up to {self.job.tagub} exist"
            )
        if (source, packet.srqid) in self.active:
            raise Departure(
                f"rank {source} sent {packet} while {self.active[source, packet.srqid].first} has no answer: its source request "
                f"id is in use"
            )

    def take_syncack(self, source, packet):
        self.count_received(source)
        send = self.sends.get(packet.srqid)
        if send is None or send.dest != source or not send.synchronous or not send.left:
            raise Departure(f"rank {source} sent {packet} for no DATASYNC that it was sent")
        if send.acknowledged or send.cancelled:
            raise Departure(
                f"rank {source} sent {packet} for {send.packet}, which it has {'cancelled' if send.cancelled else 'acknowledged'}"
            )
        send.acknowledged = True
        rest = send.payload[self.job.datalen :]
        send.done = not rest
        for begin in range(0, len(rest), self.job.datalen):
            part = rest[begin : begin + self.job.datalen]
            last = begin + len(part) == len(rest)
            self.hold(
                source,
                dataclasses.replace(
                    send.packet, type=DATA, len=len(part), drqid=packet.drqid, payload=part
                ),
                send if last else None,
            )

    def take_cancel(self, source, packet):
        self.count_received(source)
        if packet.srqid not in self.known[source]:
            raise Departure(
                f"rank {source} sent {packet}, but no message with this id has come before"
            )
        for incoming in reversed(self.unexpected):
            if incoming.source == source and incoming.first.srqid == packet.srqid:
                self.unexpected.remove(incoming)
                self.active.pop((source, packet.srqid), None)
                self.emit(source, CANCELYES, srqid=packet.srqid)
                self.count_received(source)
                return
        self.emit(source, CANCELNO, srqid=packet.srqid)

    def take_cancel_answer(self, source, packet):
        self.count_received(source)
        send = self.sends.get(packet.srqid)
        if send is None or send.dest != source or send.cancel is None or send.cancelled is not None:
            raise Departure(f"rank {source} sent {packet} for no CANCEL that waits for an answer")
        if packet.type == CANCELYES and send.acknowledged:
            raise Departure(
                f"rank {source} sent {packet} for {send.packet}, which it had acknowledged as matched"
            )
        send.cancelled = packet.type == CANCELYES

    # What leaves.

    def emit(self, dest, kind, **fields):
        """Answers and acknowledgements, which are never held back."""
        self.put(dest, Packet(kind, self.job.procs[self.rank], self.job.procs[dest], **fields))

    def put(self, dest, packet):
        self.channels[self.job.host_of_proc[dest]].output += packet.encode()
        if packet.type != PROTOACK:
            self.sent[dest].sent(packet)

    def hold(self, dest, packet, send=None):
        self.held[dest].append((packet, send))
        self.release(dest)

    def release(self, dest):
        while self.held[dest] and self.sent[dest].may_send:
            packet, send = self.held[dest].popleft()
            self.put(dest, packet)
            if send is not None:
                send.left = True
                send.done = not send.synchronous or packet.type == DATA

    # What programs call.

    def start_send(self, dest, tag, payload, cid=WORLD, synchronous=False, count=-1):
        kind = DATASYNC if synchronous or len(payload) > self.job.datalen else DATA
        first = payload[: self.job.datalen]
        packet = Packet(
            kind,
            self.job.procs[self.rank],
            self.job.procs[dest],
            len(first),
            next(self.numbers),
            0,
            len(payload),
            self.rank,
            tag,
            cid,
            count=count,
            payload=first,
        )
        send = self.sends[packet.srqid] = Send(dest, packet, payload)
        self.hold(dest, packet, send)
        return send

    def wait_sent(self, *sends):
        for send in sends:
            self.wait(
                f"an acknowledgement by rank {send.dest} of {send.packet}, or room for it,",
                lambda each=send: each.done,
            )

    def send(self, *arguments, **options):
        self.wait_sent(self.start_send(*arguments, **options))

    def start_receive(self, source, tag, cid=WORLD):
        wanted = (source, tag, cid)
        room = Incoming(-1, None, bytearray())
        for incoming in self.unexpected:
            if self.fits(incoming, *wanted):
                self.unexpected.remove(incoming)
                self.match(incoming, room)
                return room
        self.posted.append((room, *wanted))
        return room

    @staticmethod
    def fits(incoming, source, tag, cid):
        first = incoming.first
        return source in (ANY, incoming.source) and tag in (ANY, first.tag) and cid == first.cid

    def match(self, incoming, room):
        room.source, room.first, room.data, room.matched = (
            incoming.source,
            incoming.first,
            incoming.data,
            True,
        )
        room.done = len(room.data) == room.first.msglen
        self.count_received(room.source)
        if room.first.type == DATASYNC:
            del self.active[room.source, room.first.srqid]
            number = next(self.numbers)
            if not room.done:
                self.long[number] = room
            self.emit(room.source, SYNCACK, srqid=room.first.srqid, drqid=number)

    def wait_received(self, room, what):
        self.wait(what, lambda: room.done)
        return bytes(room.data)

    def receive(self, source, tag, cid=WORLD):
        return self.wait_received(
            self.start_receive(source, tag, cid),
            f"a message from rank {source}, tag {tag}, context {cid}",
        )

    def probe(self, source, tag, cid=WORLD):
        """Bytes of the first message that fits."""
        self.wait(
            f"a message from rank {source}, tag {tag}, to probe",
            lambda: any(self.fits(each, source, tag, cid) for each in self.unexpected),
        )
        return next(
            each.first.msglen for each in self.unexpected if self.fits(each, source, tag, cid)
        )

    def unmatched(self, source):
        return sum(each.source == source for each in self.unexpected)

    def start_cancel(self, send):
        if not send.left:
            self.held[send.dest] = collections.deque(
                each for each in self.held[send.dest] if each[1] is not send
            )
            send.done = send.cancelled = True
            return
        send.cancel = Packet(
            CANCEL, self.job.procs[self.rank], self.job.procs[send.dest], srqid=send.packet.srqid
        )
        self.hold(send.dest, send.cancel)

    def wait_cancelled(self, send):
        self.wait(
            f"an answer of rank {send.dest} to the CANCEL of {send.packet}",
            lambda: send.cancelled is not None,
        )
        return send.cancelled

    def settle(self, other):
        """All that was sent to `other` has been received there: the acknowledgements that are due
        must be there, or come."""
        self.wait(f"an acknowledgement by rank {other}", lambda: self.sent[other].settled)

    def finish(self):
        """FINI both ways on every channel. Unmatched messages are destroyed, and acknowledged as
        received."""
        while self.unexpected:
            incoming = self.unexpected.pop()
            self.count_received(incoming.source)
        for channel in self.channels.values():
            channel.output += Packet(
                FINI, self.job.procs[self.rank], self.job.procs[self.rank]
            ).encode()
            channel.fini_sent = True
        for channel in self.channels.values():
            self.wait(
                f"FINI of host {channel.host}",
                lambda each=channel: each.fini_came and not each.output,
            )
        for channel in self.channels.values():
            channel.socket.shutdown(socket.SHUT_WR)
            self.wait(
                f"the end of the connection of host {channel.host} after both FINIs",
                lambda each=channel: each.ended,
            )
            channel.socket.close()

    def abandon(self):
        """Closes all connections: the others' jobs end."""
        for channel in self.channels.values():
            channel.socket.close()
