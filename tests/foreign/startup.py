# SPDX-License-Identifier: Apache-2.0
"""IMPI 2.3: the rendezvous server and a client's side of startup, and the dance in which hosts
connect."""

import dataclasses
import ipaddress
import socket
import struct
import threading

from packets import Departure, Proc

AUTH, IMPI, COLL, DONE, FINI = 0x41555448, 0x494D5049, 0x434F4C4C, 0x444F4E45, 0x46494E49
COMMANDS = (AUTH, IMPI, COLL, DONE, FINI)
NONE, KEY = 0, 1

C_VERSION, C_NHOSTS, C_NPROCS, C_DATALEN, C_TAGUB, C_COLL_XSIZE, C_COLL_MAXLINEAR = range(
    0x1000, 0x1700, 0x100
)
H_IPV6, H_PORT, H_NPROCS, H_ACKMARK, H_HIWATER = range(0x2000, 0x2500, 0x100)
P_IPV6, P_PID = 0x3000, 0x3100
LABELS = (
    C_VERSION,
    C_NHOSTS,
    C_NPROCS,
    C_DATALEN,
    C_TAGUB,
    C_COLL_XSIZE,
    C_COLL_MAXLINEAR,
    H_IPV6,
    H_PORT,
    H_NPROCS,
    H_ACKMARK,
    H_HIWATER,
    P_IPV6,
    P_PID,
)

PATIENCE = 30


class Line:
    """A connection of startup: framed messages both ways."""

    def __init__(self, connection, other, skips_unknown=False):
        self.socket, self.other, self.skips_unknown = connection, other, skips_unknown
        self.socket.settimeout(PATIENCE)

    def exactly(self, count, what):
        data = b""
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except TimeoutError:
                raise Departure(f"{self.other} sent no {what} within {PATIENCE} s") from None
            except ConnectionResetError:
                more = b""
            if not more:
                raise Departure(f"{self.other} closed its connection where {what} was due")
            data += more
        return data

    def send(self, command, payload=b""):
        self.socket.sendall(struct.pack(">II", command, len(payload)) + payload)

    def receive(self, what):
        while True:
            command, length = struct.unpack(">II", self.exactly(8, what))
            payload = self.exactly(length, what)
            if command in COMMANDS or not self.skips_unknown:
                return command, payload

    def close(self):
        self.socket.close()


@dataclasses.dataclass
class Parameters:
    """What a client of this program submits: one host with one process."""

    address: str = "127.0.0.10"
    mapped: bool = False  # the address as ::ffff:a.b.c.d
    pid: int = 1
    datalen: int = 65536
    tagub: int = 2147483647
    xsize: int = -1
    maxlinear: int = -1
    ackmark: int = 10
    hiwater: int = 20

    def host_id(self):
        front = b"\0" * 10 + b"\xff\xff" if self.mapped else b"\0" * 12
        return front + ipaddress.IPv4Address(self.address).packed

    def values(self, port):
        one = struct.Struct(">I").pack
        return {
            C_VERSION: struct.pack(">II", 0, 0),
            C_NHOSTS: one(1),
            C_NPROCS: one(1),
            C_DATALEN: one(self.datalen),
            C_TAGUB: one(self.tagub),
            C_COLL_XSIZE: struct.pack(">i", self.xsize),
            C_COLL_MAXLINEAR: struct.pack(">i", self.maxlinear),
            H_IPV6: self.host_id(),
            H_PORT: one(port),
            H_NPROCS: one(1),
            H_ACKMARK: one(self.ackmark),
            H_HIWATER: one(self.hiwater),
            P_IPV6: self.host_id(),
            P_PID: struct.pack(">q", self.pid),
        }


@dataclasses.dataclass
class Job:
    """What all clients have agreed on. Hosts and processes are numbered over all clients."""

    size: int
    client_of_host: list
    host_addresses: list
    host_ports: list
    procs: list
    host_of_proc: list
    datalen: int
    tagub: int
    xsize: int
    maxlinear: int
    ackmark: int
    hiwater: int

    def client_of(self, rank):
        return self.client_of_host[self.host_of_proc[rank]]


class ClientStartup:
    """A client's conversation with the rendezvous server."""

    def __init__(self, server, client, parameters, key=None):
        host, port = server.rsplit(":", 1)
        self.client, self.parameters = client, parameters
        self.line = Line(
            socket.create_connection((host, int(port)), timeout=PATIENCE), "the rendezvous server"
        )
        self.listener = socket.create_server((parameters.address, 0))
        self.authenticate(key)

    def authenticate(self, key):
        self.line.send(AUTH, struct.pack(">I", 1 << (NONE if key is None else KEY)))
        which, length = struct.unpack(
            ">iI", self.line.exactly(8, "choice of an authentication method")
        )
        if which != (NONE if key is None else KEY) or length != 0:
            raise Departure(
                f"the server chose authentication method {which} with {length} more bytes; it was offered "
                f"{NONE if key is None else KEY}"
            )
        if key is not None:
            self.line.socket.sendall(struct.pack(">Q", key))

    def exchange(self):
        """The job."""
        self.line.send(IMPI, struct.pack(">i", self.client))
        command, payload = self.line.receive("IMPI answer")
        if command != IMPI or len(payload) != 4:
            raise Departure(
                f"the server answered IMPI with command {command:#x} and {len(payload)} bytes"
            )
        size = struct.unpack(">i", payload)[0]
        mine = self.parameters.values(self.listener.getsockname()[1])
        for label in LABELS:
            self.line.send(COLL, struct.pack(">I", label) + mine[label])
        self.line.send(DONE)
        return JobReader(size, self.answers((1 << size) - 1)).job()

    def answers(self, everybody):
        got = {}
        while True:
            command, payload = self.line.receive("COLL answer or DONE")
            if command == DONE:
                break
            if command != COLL:
                raise Departure(
                    f"the server sent command {command:#x} during startup; COLL answers and DONE are due"
                )
            label, mask = struct.unpack(">II", payload[:8])
            if label not in LABELS:
                raise Departure(
                    f"the server sent this client the answer of label {label:#x}, which it did not submit and IMPI 0.0 does not "
                    f"have: an implementation in use takes what follows its own last label for DONE"
                )
            if got and label <= max(got):
                raise Departure(
                    f"the server sent label {label:#x} after {max(got):#x}; labels ascend"
                )
            if mask != everybody:
                raise Departure(
                    f"the clients of mask {mask:#x} submitted label {label:#x}; all must, which is {everybody:#x}"
                )
            got[label] = payload[8:]
        if missing := [hex(label) for label in LABELS if label not in got]:
            raise Departure(f"the server sent DONE, but no answer of {', '.join(missing)}")
        return got

    def finish(self):
        self.line.send(FINI)
        if self.line.socket.recv(1) != b"":
            raise Departure("the server sent something after FINI")
        self.line.close()


class JobReader:
    """Makes a job of what the server has collected, and checks each value."""

    def __init__(self, size, answers):
        self.size, self.answers = size, answers

    def values(self, label, format_, count):
        data = self.answers[label]
        if len(data) != struct.calcsize(format_) * count:
            raise Departure(
                f"label {label:#x} has {len(data)} bytes; {count} values of {struct.calcsize(format_)} bytes are due"
            )
        return [value[0] for value in struct.iter_unpack(f">{format_}", data)]

    def equal(self, label, default):
        values = {default if value == -1 else value for value in self.values(label, "i", self.size)}
        if len(values) != 1:
            raise Departure(f"clients want different values of label {label:#x}: {sorted(values)}")
        return values.pop()

    def job(self):
        if len(self.answers[C_VERSION]) % 8 != 0 or self.answers[C_VERSION][:8] != bytes(8):
            raise Departure(
                f"the versions are {self.answers[C_VERSION].hex()}; pairs beginning with 0.0 are due"
            )
        hosts = self.values(C_NHOSTS, "I", self.size)
        procs = self.values(C_NPROCS, "I", self.size)
        host_procs = self.values(H_NPROCS, "I", sum(hosts))
        if sum(host_procs) != sum(procs) or min(host_procs) < 1:
            raise Departure(f"hosts have {host_procs} processes, clients {procs}")
        ackmarks, hiwaters = (
            self.values(label, "I", sum(hosts)) for label in (H_ACKMARK, H_HIWATER)
        )
        identities = [
            Proc(*each)
            for each in zip(
                self.values(P_IPV6, "16s", sum(procs)), self.values(P_PID, "q", sum(procs))
            )
        ]
        if len(set(identities)) != len(identities):
            raise Departure(f"two processes have one identity: {', '.join(map(str, identities))}")
        return Job(
            self.size,
            [client for client, number in enumerate(hosts) for _ in range(number)],
            self.values(H_IPV6, "16s", sum(hosts)),
            self.values(H_PORT, "I", sum(hosts)),
            identities,
            [host for host, number in enumerate(host_procs) for _ in range(number)],
            min(self.values(C_DATALEN, "I", self.size)),
            min(self.values(C_TAGUB, "i", self.size)),
            self.equal(C_COLL_XSIZE, 1024),
            self.equal(C_COLL_MAXLINEAR, 4),
            min(ackmarks),
            min(hiwaters),
        )


def dance(job, mine, listener):
    """IMPI 2.3.8: connections by host number. The higher one connects and sends its number."""
    connections = {}
    for other in range(len(job.host_ports)):
        if other < mine:
            address = str(ipaddress.IPv4Address(job.host_addresses[other][12:]))
            own = listener.getsockname()[0]
            connections[other] = socket.create_connection(
                (address, job.host_ports[other]), PATIENCE, source_address=(own, 0)
            )
            connections[other].sendall(struct.pack(">i", mine))
        elif other > mine:
            accept(job, mine, listener, connections)
    return connections


def accept(job, mine, listener, connections):
    listener.settimeout(PATIENCE)
    try:
        connection, (address, _) = listener.accept()
    except TimeoutError:
        missing = [host for host in range(mine + 1, len(job.host_ports)) if host not in connections]
        raise Departure(f"hosts {missing} did not connect within {PATIENCE} s") from None
    number = struct.unpack(
        ">i", Line(connection, f"the host that connected from {address}").exactly(4, "host number")
    )[0]
    if not mine < number < len(job.host_ports) or number in connections:
        raise Departure(
            f"a host connected as number {number} from {address}; this is host {mine} of {len(job.host_ports)}, and "
            f"{sorted(connections)} are connected"
        )
    if job.host_addresses[number][12:] != ipaddress.IPv4Address(address).packed:
        raise Departure(
            f"host {number} connected from {address}, which is not the address that it submitted"
        )
    connections[number] = connection


class RendezvousServer(threading.Thread):
    """A server as 2.3.2 has it: it skips commands that it does not know, and sends every answer to
    all clients. Labels that IMPI does not have are a departure: an implementation in use breaks on
    their answers."""

    def __init__(self, clients, key=None, address="127.0.0.1", port=0):
        super().__init__(daemon=True)
        self.clients, self.key = clients, key
        self.listener = socket.create_server((address, port))
        self.address = "{}:{}".format(*self.listener.getsockname())
        self.lines, self.last, self.collected = {}, {}, {}
        self.answered = -1
        self.changed = threading.Condition()
        self.departures = []

    def run(self):
        self.listener.settimeout(PATIENCE)
        serving = []
        try:
            for _ in range(self.clients):
                connection, address = self.listener.accept()
                serving.append(
                    threading.Thread(
                        target=self.serve,
                        args=(Line(connection, f"the client at {address[1]}", True),),
                        daemon=True,
                    )
                )
                serving[-1].start()
        except TimeoutError:
            self.departures.append(
                f"{len(serving)} of {self.clients} clients connected within {PATIENCE} s"
            )
        for thread in serving:
            thread.join()
        self.listener.close()

    def serve(self, line):
        try:
            self.authenticate(line)
            client = self.join_job(line)
            self.collect(line, client)
            line.socket.settimeout(None)  # the job takes as long as it takes
            command, payload = line.receive("FINI")
            if command != FINI or payload:
                raise Departure(
                    f"client {client} sent command {command:#x} with {len(payload)} bytes where FINI without any is due"
                )
            line.close()
        except Departure as departure:
            with self.changed:
                self.departures.append(str(departure))
                for each in self.lines.values():
                    each.close()
                self.changed.notify_all()

    def authenticate(self, line):
        command, payload = line.receive("AUTH")
        if command != AUTH or len(payload) < 4 or len(payload) % 4 != 0:
            raise Departure(
                f"the first command of {line.other} is {command:#x} with {len(payload)} bytes; AUTH with masks is due"
            )
        method = NONE if self.key is None else KEY
        if not struct.unpack(">I", payload[:4])[0] >> method & 1:
            raise Departure(
                f"{line.other} offers the authentication methods {payload.hex()}, not {method}"
            )
        line.socket.sendall(struct.pack(">iI", method, 0))
        if method == KEY and struct.unpack(">Q", line.exactly(8, "key"))[0] != self.key:
            raise Departure(f"{line.other} has a wrong key")

    def join_job(self, line):
        command, payload = line.receive("IMPI")
        if command != IMPI or len(payload) != 4:
            raise Departure(
                f"{line.other} sent command {command:#x} with {len(payload)} bytes where IMPI with 4 is due"
            )
        client = struct.unpack(">i", payload)[0]
        line.other = f"client {client}"
        with self.changed:
            if client in self.lines or not 0 <= client < self.clients:
                raise Departure(
                    f"a client joined as number {client} of {self.clients}; {sorted(self.lines)} were there"
                )
            self.lines[client], self.last[client] = line, -1
            self.changed.notify_all()
            if not self.changed.wait_for(lambda: len(self.lines) == self.clients, PATIENCE):
                raise Departure(
                    f"only the clients {sorted(self.lines)} have joined within {PATIENCE} s"
                )
            line.send(IMPI, struct.pack(">i", self.clients))
        return client

    def collect(self, line, client):
        while True:
            command, payload = line.receive("COLL or DONE")
            if command == DONE and not payload:
                break
            if command != COLL or len(payload) < 4:
                raise Departure(
                    f"client {client} sent command {command:#x} with {len(payload)} bytes where COLL or DONE is due"
                )
            label = struct.unpack(">I", payload[:4])[0]
            if label not in LABELS:
                raise Departure(
                    f"client {client} offered the private label {label:#x} to a server that is not known to be of its own kind"
                )
            if label <= self.last[client]:
                raise Departure(
                    f"client {client} sent label {label:#x} after {self.last[client]:#x}; labels ascend"
                )
            with self.changed:
                self.last[client] = label
                self.collected.setdefault(label, {})[client] = payload[4:]
                self.answer()
        with self.changed:
            self.last[client] = 1 << 32
            self.answer()
            if min(self.last.values()) == 1 << 32:
                self.send_all(DONE)

    def answer(self):
        """Sends each label that no client can still send."""
        for label in sorted(
            each for each in self.collected if self.answered < each <= min(self.last.values())
        ):
            parts = self.collected[label]
            mask = sum(1 << client for client in parts)
            self.send_all(
                COLL,
                struct.pack(">II", label, mask)
                + b"".join(parts[client] for client in sorted(parts)),
            )
            self.answered = label

    def send_all(self, command, payload=b""):
        for line in self.lines.values():
            line.send(command, payload)
