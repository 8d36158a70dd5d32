# SPDX-License-Identifier: Apache-2.0
"""What the tests of impirun share: runs that leave nothing behind, and clients of the rendezvous
server made of sockets."""

import argparse
import contextlib
import os
import pathlib
import queue
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid

SHARED = pathlib.Path(__file__).resolve().parent.parent / "support"
sys.path.insert(0, str(SHARED))
from run_system_test import MARK, end_leftovers, processes_of, whole_lines  # noqa: E402

# Longer than anything that is awaited here takes on a loaded machine, and than a system tries to
# connect with others.
LONG = 90

parser = argparse.ArgumentParser()
for option in ("--impirun", "--mpiexec", "--program", "--foreign-program"):
    parser.add_argument(option, required=True)
parser.add_argument("--other-program", default="")
parser.add_argument("--pages", default="")
ARGUMENTS, REST = parser.parse_known_args()

AUTH, IMPI, COLL, DONE, FINI, SAID = (
    0x41555448,
    0x494D5049,
    0x434F4C4C,
    0x444F4E45,
    0x46494E49,
    0x53414944,
)
# Of servers and clients of ours, to each other.
HELLO, WAITING, NOTE, ENDED = 0x49534849, 0x49535754, 0x49534E54, 0x49534544
NONE, KEY = 0, 1


class Run:
    """A started command whose output is read line by line while it runs. As a context it ends with
    no process left behind."""

    def __init__(self, *command, stdin=subprocess.DEVNULL, **environment):
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("IMPI", "LD_PRELOAD"))
        }
        self.mark = uuid.uuid4().hex
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(
            self.command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean, **environment, MARK: self.mark},
            start_new_session=True,
        )
        self.lines = {"out": [], "err": []}
        self.waiting = {"out": queue.Queue(), "err": queue.Queue()}
        self.threads = []
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            self.threads.append(threading.Thread(target=self.read, args=(name, stream)))
            self.threads[-1].start()

    def read(self, name, stream):
        for line in stream:
            self.lines[name].append(line.rstrip("\n"))
            self.waiting[name].put(line.rstrip("\n"))
        self.waiting[name].put(None)

    def await_line(self, name, text):
        """The next line of that stream that contains `text`."""
        while True:
            line = self.waiting[name].get(timeout=LONG)
            if line is None:
                raise AssertionError(f'"{text}" was not printed\n{self}')
            if text in line:
                return line

    def await_times(self, name, text, times):
        """`text` comes that many times. A launcher may put two ranks' lines into one."""
        while times > 0:
            times -= self.await_line(name, text).count(text)

    def end(self):
        """Waits for the end; the exit status."""
        try:
            status = self.process.wait(timeout=LONG)
        except subprocess.TimeoutExpired:
            end_leftovers(self.mark, 0)
            raise AssertionError(f"not over after {LONG} s\n{self}") from None
        for thread in self.threads:
            thread.join(LONG)
        return status

    def processes(self):
        return processes_of(self.mark)

    @property
    def out(self):
        return "\n".join(self.lines["out"])

    @property
    def err(self):
        return "\n".join(self.lines["err"])

    def __str__(self):
        return f"{' '.join(self.command)}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        failed = kind is not None
        if failed and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        left = end_leftovers(self.mark, 0 if failed else 10)
        self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        if left and not failed:
            raise AssertionError(f"left {len(left)} processes behind\n{self}")


def impirun(*words, **environment):
    return Run(ARGUMENTS.impirun, *words, **environment)


NOHUP = ("sh", "-c", """trap '' HUP; exec "$0" "$@" """)


def blocked_signals(run):
    """The signals that a run's process has blocked, to take them from a descriptor."""
    status = pathlib.Path(f"/proc/{run.process.pid}/status").read_text(encoding="utf-8")
    mask = int(
        next(line for line in status.splitlines() if line.startswith("SigBlk")).split()[1], 16
    )
    return {each for each in signal.Signals if mask >> (each - 1) & 1}


def free_port():
    """A port of this machine that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server(Run):
    """impirun -server that tells at once who has joined; `address` is what its first line says."""

    def __init__(self, *words, through=(), **environment):
        super().__init__(*through, ARGUMENTS.impirun, "-v", "-server", *words, **environment)
        self.address = self.await_line("out", "")
        self.port = int(self.address.rsplit(":", 1)[1])


class Client:
    """A client of the server as IMPI 2.3 describes it, with any departure that a test wants."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=LONG)
        self.name = "{} port {}".format(*self.socket.getsockname())

    def send(self, command, payload=b""):
        self.socket.sendall(struct.pack(">II", command, len(payload)) + payload)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError(f"the server closed; before it came {data!r}")
            data += more
        return data

    def receive(self):
        command, length = struct.unpack(">II", self.exactly(8))
        return command, self.exactly(length)

    def authenticate(self, mask, key=None):
        """The method that the server chose."""
        self.send(AUTH, struct.pack(">I", mask))
        which, length = struct.unpack(">iI", self.exactly(8))
        self.exactly(length)
        if which == KEY and key is not None:
            self.socket.sendall(struct.pack(">Q", key))
        return which

    def join(self, client, mask=1 << NONE, key=None):
        self.authenticate(mask, key)
        self.send(IMPI, struct.pack(">i", client))
        return self

    def size(self):
        """Number of clients, once all are there."""
        command, payload = self.receive()
        assert command == IMPI, f"{command:#x}: {payload!r}"
        return struct.unpack(">i", payload)[0]

    def coll(self, label, data):
        self.send(COLL, struct.pack(">I", label) + data)

    def answers(self):
        """Labels that the server sends until its DONE: label -> (client mask, data), in their
        order."""
        labels = {}
        while True:
            command, payload = self.receive()
            if command == DONE:
                return labels
            assert command == COLL, hex(command)
            label, mask = struct.unpack(">II", payload[:8])
            labels[label] = (mask, payload[8:])

    def reason(self):
        """Why the server turns this client away; it must close then."""
        command, text = self.receive()
        assert command == SAID, hex(command)
        assert self.closed()
        return text.decode()

    def closed(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def certificates(**others):
    """Makes those of make_certificates.sh, and gives a function that returns the variables for one
    of them by its name, and `others`."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", SHARED / "make_certificates.sh", folder], check=True)
        yield lambda name: {
            "IMPISHIM_CERTIFICATE": f"{folder}/{name}.pem",
            "IMPISHIM_PRIVATE_KEY": f"{folder}/{name}.key",
            "IMPISHIM_AUTHORITY": f"{folder}/authority.pem",
            **others,
        }


class Case(unittest.TestCase):
    maxDiff = None

    def expect(self, run, status):
        self.assertEqual(run.end(), status, run)
        return run


def main():
    unittest.main(module="__main__", argv=[sys.argv[0]] + REST, verbosity=2)
