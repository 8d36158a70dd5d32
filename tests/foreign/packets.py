# SPDX-License-Identifier: Apache-2.0
"""IMPI 3.5: packets between hosts, read and written as the specification has them."""

import dataclasses
import struct


class Departure(Exception):
    """The other implementation departs from the specification; the text says what was seen."""


DATA, DATASYNC, PROTOACK, SYNCACK, CANCEL, CANCELYES, CANCELNO, FINI = range(8)
NAMES = ("DATA", "DATASYNC", "PROTOACK", "SYNCACK", "CANCEL", "CANCELYES", "CANCELNO", "FINI")
MESSAGES = (DATA, DATASYNC)
ANSWERS = (SYNCACK, CANCELYES, CANCELNO)

HEADER = struct.Struct(">II16sq16sqQQQiiQQqQQ")
assert HEADER.size == 128


@dataclasses.dataclass(frozen=True)
class Proc:
    """IMPI 3.2: a process's identity."""

    host: bytes
    pid: int

    def __str__(self):
        return f"{'.'.join(map(str, self.host[12:]))} pid {self.pid}"


@dataclasses.dataclass
class Packet:
    """All fields of a header without their pk_, and the payload. Fields that a type does not use
    are filled with what an implementation in use has there, since nobody may read them."""

    type: int
    src: Proc
    dest: Proc
    len: int = 128
    srqid: int = 0
    drqid: int = 0
    msglen: int = 128
    lsrank: int = -1
    tag: int = -1
    cid: int = 0xDEADBEEFDEADBEEF
    seqnum: int = 0
    count: int = -1
    dtype: int = 0
    reserved: int = 0
    payload: bytes = b""

    @property
    def name(self):
        return NAMES[self.type]

    def encode(self):
        return (
            HEADER.pack(
                self.type,
                self.len,
                self.src.host,
                self.src.pid,
                self.dest.host,
                self.dest.pid,
                self.srqid,
                self.drqid,
                self.msglen,
                self.lsrank,
                self.tag,
                self.cid,
                self.seqnum,
                self.count,
                self.dtype,
                self.reserved,
            )
            + self.payload
        )

    def __str__(self):
        if self.type in MESSAGES:
            return f"{self.name} (cid {self.cid}, tag {self.tag}, srqid {self.srqid}, {self.len} of {self.msglen} bytes)"
        return f"{self.name} (srqid {self.srqid})"


class PacketReader:
    """Bytes of one connection in, whole packets out."""

    def __init__(self, maxdatalen):
        self.maxdatalen = maxdatalen
        self.bytes = bytearray()

    def feed(self, data):
        self.bytes += data

    def packets(self):
        begin = 0
        while len(self.bytes) - begin >= HEADER.size:
            kind, length = struct.unpack_from(">II", self.bytes, begin)
            if kind >= len(NAMES):
                raise Departure(
                    f"a packet of type {kind:#x} came; IMPI 0.0 has the types 0 to 7 only"
                )
            if kind not in MESSAGES:
                length = 0
            elif length > self.maxdatalen:
                raise Departure(
                    f"a {NAMES[kind]} packet with {length} bytes came; the agreed maximum is {self.maxdatalen}"
                )
            end = begin + HEADER.size + length
            if len(self.bytes) < end:
                break
            yield self.decode(begin, end)
            begin = end
        del self.bytes[:begin]

    def decode(self, begin, end):
        (kind, length, src_host, src_pid, dest_host, dest_pid, *others) = HEADER.unpack_from(
            self.bytes, begin
        )
        return Packet(
            kind,
            Proc(src_host, src_pid),
            Proc(dest_host, dest_pid),
            length,
            *others,
            payload=bytes(self.bytes[begin + HEADER.size : end]),
        )

    @property
    def rest(self):
        """Bytes of a packet that has not come whole."""
        return len(self.bytes)
