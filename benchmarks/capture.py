# SPDX-License-Identifier: Apache-2.0
"""What crosses the TCP connections between the hosts of a joined job on this machine: a capture by
tcpdump, and the streams of bytes in it, one for each connection and direction."""

import os
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import threading

from harness import fail

# Where the hosts of each system listen. The rendezvous and the launchers have ports that the kernel
# chooses, from 32768 on.
PORTS = (range(20110, 20120), range(20120, 20130))
FIRST_PORT, LAST_PORT = PORTS[0][0], PORTS[1][-1]
CHUNK = 1 << 20
RING_KIB = 512 << 10  # the kernel's buffer: what a busy machine has no time to take out
PATIENCE_S = 60
WINDOW = 1 << 20  # zstd 1 keeps 512 KiB
HEADER = 128
# Bytes of the handshake between hosts (docs/protocol.md): random, and once for each connection.
FROM_CONNECTOR, FROM_ACCEPTOR = 104, 72
HELLO_MAGIC = b"IMPM"
DATA, DATASYNC = 0, 1


def why_not():
    """Why nothing can be captured here, or None."""
    if shutil.which("tcpdump") is None:
        return "tcpdump is not installed"
    if os.geteuid() != 0:
        return "only root can capture packets"
    return None


class Capture:
    """Writes what passes the loopback interface from and to the hosts' ports into a file while it is
    entered, up to `limit` bytes. Later bytes are counted in `left_out`."""

    def __init__(self, path, limit):
        self.path, self.limit = path, limit
        self.left_out = 0
        self.dropped = 0
        self.token = os.urandom(32)
        self.seen = threading.Event()

    def __enter__(self):
        ports = f"tcp portrange {FIRST_PORT}-{LAST_PORT} or udp port {FIRST_PORT}"
        words = ["tcpdump", "-i", "lo", "-n", "-s", "0", "-B", str(RING_KIB), "-w", "-", ports]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stderr.readline().decode()
        while "listening on" not in line:
            if not line:
                fail(f"tcpdump does not capture: {' '.join(words)}")
            line = self.process.stderr.readline().decode()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        return self

    def read(self):
        written, tail = 0, b""
        with self.path.open("wb") as file:
            while chunk := self.process.stdout.read1(CHUNK):
                if self.token in tail + chunk:
                    self.seen.set()
                tail = chunk[-len(self.token) :]
                kept = chunk[: self.limit - written]
                file.write(kept)
                written += len(kept)
                self.left_out += len(chunk) - len(kept)

    def __exit__(self, failure, *_):
        complete = failure is not None or self.last_packet_seen()
        self.process.send_signal(signal.SIGINT)
        self.reader.join()
        last_words = self.process.stderr.read().decode()
        self.process.wait()
        if not complete:
            fail(f"the capture has no end after {PATIENCE_S} s: {last_words}")
        self.dropped = int(re.search(r"(\d+) packets? dropped by kernel", last_words)[1])

    def last_packet_seen(self):
        """Sends a packet of our own, which tells that all before it have left the kernel's buffer, and
        awaits it. Its length drives everything out of tcpdump's buffer as well."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(self.token * 1024, ("127.0.0.1", FIRST_PORT))
        return self.seen.wait(PATIENCE_S)


class Stream:
    """One direction of a connection: the bytes of its segments in their order, behind the handshake."""

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.next_number = None
        self.segments = []
        self.missing = 0
        self.handshake = b""
        self.handshake_size = FROM_CONNECTOR if self.from_connector() else FROM_ACCEPTOR

    def from_connector(self):
        return FIRST_PORT <= self.target[1] <= LAST_PORT

    def add(self, number, payload):
        if self.next_number is not None:
            ahead = (number - self.next_number + (1 << 31)) % (1 << 32) - (1 << 31)
            if ahead < 0:  # sent again
                payload = payload[-ahead:]
            self.missing += max(ahead, 0)
            number -= min(ahead, 0)
        if not payload:
            return
        self.next_number = (number + len(payload)) % (1 << 32)
        rest = self.handshake_size - len(self.handshake)
        self.handshake += payload[:rest]
        payload = payload[rest:]
        if payload:
            self.segments.append(payload)

    def bytes(self):
        return sum(map(len, self.segments))


def read_streams(path):
    """The streams of a capture, by the addresses of their two ends."""
    content = path.read_bytes()
    streams = {}
    at = 24
    while at + 16 <= len(content):
        size = struct.unpack_from("<I", content, at + 8)[0]
        frame, at = at + 16, at + 16 + size
        internet = frame + 14
        transport = internet + (content[internet] & 15) * 4
        if at > len(content) or content[internet] >> 4 != 4 or content[internet + 9] != 6:
            continue
        ends = struct.unpack_from(">HH", content, transport)
        source = (content[internet + 12 : internet + 16], ends[0])
        target = (content[internet + 16 : internet + 20], ends[1])
        payload = transport + (content[transport + 12] >> 4) * 4
        length = struct.unpack_from(">H", content, internet + 2)[0]
        end = internet + length if length else at
        if end > payload:
            stream = streams.setdefault((source, target), Stream(source, target))
            stream.add(struct.unpack_from(">I", content, transport + 4)[0], content[payload:end])
    return streams


def directions(streams, hosts):
    """The streams from the first system to the second, and those that go back. Each system has so many
    hosts."""
    found = {"first to second": [], "second to first": []}
    for ends, stream in streams.items():
        connector = stream if stream.from_connector() else streams.get(ends[::-1])
        if connector is None or connector.handshake[4:8] != HELLO_MAGIC:
            fail(f"a connection without the hello of a host: {ends}")
        connects = int.from_bytes(connector.handshake[:4], "big") // hosts
        accepts = 0 if connector.target[1] in PORTS[0] else 1
        if connects != accepts:  # hosts of one system are connected, too, and have nothing to say
            source = connects if stream is connector else accepts
            found["first to second" if source == 0 else "second to first"].append(stream)
    return found


def packets_of(stream):
    """The payload sizes of the data packets in a stream, and the bytes of all headers."""
    content = b"".join(stream.segments)
    payloads, headers, at = [], 0, 0
    while at + HEADER <= len(content):
        kind, length = struct.unpack_from(">II", content, at)
        carries = kind in (DATA, DATASYNC)
        if carries:
            payloads.append(length)
        headers += HEADER
        at += HEADER + (length if carries else 0)
    return payloads, headers


def describe(streams):
    """Counts and sizes of what the streams of one direction carried."""
    segments = [len(segment) for stream in streams for segment in stream.segments]
    found = [packets_of(stream) for stream in streams if not stream.missing]
    payloads = [size for sizes, _ in found for size in sizes]
    counted = sum(stream.bytes() for stream in streams if not stream.missing)
    total = sum(segments)
    return {
        "bytes": total,
        "missing": sum(stream.missing for stream in streams),
        "segments": len(segments),
        "segment_median": statistics.median(segments),
        "segment_mean": total / len(segments),
        "in_long_segments": sum(size for size in segments if size >= 4096) / total,
        "packets": len(payloads),
        "payload_median": statistics.median(payloads) if payloads else None,
        "headers": sum(headers for _, headers in found) / counted if counted else None,
    }


def write_streams(streams, folder, limit):
    """Writes the files that bench_compression reads, one for each stream. Of more than `limit` bytes
    only windows are taken, which lie as far apart as each other. Returns the files' names."""
    share = min(limit / sum(stream.bytes() for stream in streams), 1)
    files = []
    for number, stream in enumerate(streams):
        files.append(folder / f"stream{number}")
        at = 0
        with files[-1].open("wb") as file:
            for segment in stream.segments:
                window = at // WINDOW
                if int((window + 1) * share) > int(window * share):
                    file.write(struct.pack("<I", len(segment)) + segment)
                at += len(segment)
    return files
