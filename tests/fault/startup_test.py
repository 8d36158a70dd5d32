# SPDX-License-Identifier: Apache-2.0
"""Nodes and servers that are lost while a job comes together.

The test with a network needs root and the right to make namespaces; without it, it is skipped and
says so. """

import contextlib
import ctypes
import os
import socket
import struct
import sys
import pathlib
import signal
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from network_test import Network, inside  # noqa: E402
from support import (
    ARGUMENTS,
    DONE,
    HELLO,
    KEY,
    LONG,
    NONE,
    WAITING,
    Case,
    Client,
    Server,
    impirun,
    main,
)  # noqa: E402

CLONE_NEWNET = 0x40000000


class ClientInside(Client):
    """A client whose connection begins in a network namespace."""

    def __init__(self, namespace, address):  # pylint: disable=super-init-not-called
        host, port = address.rsplit(":", 1)
        thread = threading.Thread(target=self.connect, args=(namespace, (host, int(port))))
        thread.start()
        thread.join(LONG)
        self.name = "{} port {}".format(*self.socket.getsockname())

    def connect(self, namespace, address):
        with open(f"/run/netns/{namespace}", "rb") as handle:
            if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        self.socket = socket.create_connection(address, timeout=LONG)

    def join_as(self, number, announced=False):
        self.authenticate(1 << KEY, 77)
        if announced:
            self.send(HELLO)
        self.send(0x494D5049, struct.pack(">i", number))
        return self


def labels(client, hosts=1):
    """What a foreign client with one process for each host has to say; nobody can reach its
    hosts."""
    address = socket.inet_aton("127.0.0.1").rjust(16, b"\0")
    for label, value in (
        (0x1000, struct.pack(">II", 0, 0)),
        (0x1100, struct.pack(">I", hosts)),
        (0x1200, struct.pack(">I", hosts)),
        (0x1300, struct.pack(">I", 65536)),
        (0x1400, struct.pack(">i", 2147483647)),
        (0x1500, struct.pack(">i", -1)),
        (0x1600, struct.pack(">i", -1)),
        (0x2000, address * hosts),
        (0x2100, struct.pack(">I", 9) * hosts),
        (0x2200, struct.pack(">I", 1) * hosts),
        (0x2300, struct.pack(">I", 10) * hosts),
        (0x2400, struct.pack(">I", 20) * hosts),
        (0x3000, address * hosts),
        (0x3100, b"".join(struct.pack(">q", 1 + host) for host in range(hosts))),
    ):
        client.coll(label, value)


class Startup(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def test_lost_node(self):
        """Three clients and a system have joined when their node is cut off. Newcomers take the
        places of two, announced or not, as soon as the server has asked the node in vain. The third
        is noticed after half a minute; so is the server, there."""
        with Network() as network, inside(network.left, "-v", "-server", "5") as server:
            address = server.await_line("out", ":")
            lost = [
                ClientInside(network.right, address).join_as(number, announced=number == 0)
                for number in range(3)
            ]
            system = self.resources.enter_context(
                inside(network.right, "-client", "3", address, "-np", "1", ARGUMENTS.program)
            )
            server.await_line("err", "4 of 5 systems have joined")
            while lost[0].receive() != (WAITING, struct.pack(">III", 0, 5, 0b10000)):
                pass
            # The system knows the server for one of ours, and for whom it waits.
            system.await_line("err", "waiting for system 4 of 5, 10 s")
            network.cut()
            clients = [ClientInside(network.left, address).join_as(number) for number in (0, 1)]
            for _ in clients:
                server.await_line("err", "4 of 5 systems have joined")
            self.assertIn(
                f"the machine of system 0 at {lost[0].name} does not answer; {clients[0].name} takes its place",
                server.err,
            )
            self.assertIn(f"system 1 at {lost[1].name} left before all had joined", server.err)
            server.await_line("err", f"system 2 at {lost[2].name} left before all had joined")
            self.assertNotEqual(system.end(), 0, system)
            self.assertIn(
                f"rendezvous server: the machine of {address} does not answer: is the network cut?",
                system.err,
            )
            # The system may find the cut before the server does, which refuses a newcomer until
            # then.
            server.await_line("err", "system 3 at")
            clients += [ClientInside(network.left, address).join_as(number) for number in (2, 3, 4)]
            for client in clients:
                self.assertEqual(client.size(), 5)
                client.send(DONE)
            for client in clients:
                client.answers()
                client.send(0x46494E49)
            self.expect(server, 0)
            for client in clients + lost:
                client.close()

    def system(self, server, number, *words, **environment):
        return self.resources.enter_context(
            impirun("-client", number, server.address, *words, IMPI_AUTH_NONE="", **environment)
        )

    def test_lost_client(self):
        """A system says for whom it waits. The one that it has waited for is lost when the job has
        begun: it does not try to reach it, on none of its hosts."""
        server = self.resources.enter_context(Server(2, IMPI_AUTH_NONE=""))
        system = self.system(server, 0, "-host-procs", 1, "-np", 2, ARGUMENTS.program)
        system.await_line("err", "waiting for system 1 of 2, 10 s")
        other = self.resources.enter_context(Client(server)).join(1, 1 << NONE)
        self.assertEqual(other.size(), 2)
        labels(other)
        other.send(DONE)
        other.answers()
        other.close()
        self.assertNotEqual(system.end(), 0, system)
        self.assertIn(
            f"rendezvous server: system 1 at {other.name} was lost: its connection ended without FINI",
            system.err,
        )
        self.assertNotIn("in time", system.err)
        self.expect(server, 1)

    def test_server_killed(self):
        """A system that waits for another one ends, with a reason, when its server has gone."""
        server = self.resources.enter_context(Server(2, IMPI_AUTH_NONE=""))
        system = self.system(server, 0, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2 systems have joined")
        os.kill(server.process.pid, signal.SIGKILL)
        self.assertNotEqual(system.end(), 0, system)
        self.assertIn("rendezvous server: it disconnected", system.err)
        server.end()


if __name__ == "__main__":
    main()
