# SPDX-License-Identifier: Apache-2.0
"""Two machines with a network between them, made of network namespaces: systems on each of them
over IPv4 and IPv6, and the network cut.

Needs root and the right to make namespaces; without it each test is skipped and says so. """

import os
import subprocess
import sys
import pathlib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, Run, main  # noqa: E402


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def made_namespaces(names):
    """Makes these network namespaces; where that is not allowed the test is skipped, with the
    reason."""
    made = []
    try:
        for namespace in names:
            ip("netns", "add", namespace)
            made.append(namespace)
    except (OSError, subprocess.CalledProcessError) as error:
        for namespace in made:
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)
        reason = getattr(error, "stderr", None) or error
        raise unittest.SkipTest(f"no network namespaces can be made here: {reason}") from None


class Network:
    """Namespaces `left` and `right` and a cable between them."""

    def __init__(self):
        self.left, self.right = (f"impishim-{side}-{os.getpid()}" for side in "lr")

    def __enter__(self):
        made_namespaces((self.left, self.right))
        ip(
            "link",
            "add",
            "cable",
            "netns",
            self.left,
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            self.right,
        )
        for number, namespace in enumerate((self.left, self.right), 1):
            ip("-n", namespace, "address", "add", f"10.99.0.{number}/24", "dev", "cable")
            ip("-n", namespace, "address", "add", f"fd99::{number}/64", "dev", "cable", "nodad")
            for device in ("lo", "cable"):
                ip("-n", namespace, "link", "set", device, "up")
        return self

    def __exit__(self, *_):
        for namespace in (self.left, self.right):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)

    def cut(self):
        ip("-n", self.right, "link", "set", "cable", "down")


def inside(namespace, *words, **environment):
    """Without a secret, in clear, which must be asked for between machines."""
    if not {"IMPISHIM_SECRET", "IMPISHIM_SECRET_FILE"} & environment.keys():
        environment.setdefault("IMPISHIM_TLS", "off")
    return Run(
        "ip",
        "netns",
        "exec",
        namespace,
        ARGUMENTS.impirun,
        *words,
        IMPI_AUTH_KEY="77",
        **environment,
    )


class Networks(Case):
    def joined(self, network, program, **environment):
        """Server and system 0 on the left, system 1 on the right."""
        server = inside(network.left, "-server", "2", **environment)
        address = server.await_line("out", ":")
        own = {
            name: value
            for name, value in environment.items()
            if name != "IMPISHIM_HOST_ADDRESS"  # of the server alone
        }
        systems = [
            inside(side, "-client", str(number), address, "-np", "2", program, **own)
            for number, side in enumerate((network.left, network.right))
        ]
        return address, server, systems

    def everybody_ends_well(self, expected, **server_environment):
        with Network() as network:
            address, server, (left, right) = self.joined(
                network, ARGUMENTS.program, **server_environment
            )
            with server, left, right:
                self.assertTrue(address.startswith(expected), address)
                for run in (left, right, server):
                    self.expect(run, 0)
                for rank, system in enumerate((0, 0, 1, 1)):
                    self.assertIn(
                        f"rank {rank}: system {system}, host {rank}", left.out + right.out
                    )

    def test_ipv4(self):
        self.everybody_ends_well("10.99.0.1:")

    def test_ipv6(self):
        self.everybody_ends_well("[fd99::1]:", IMPISHIM_HOST_ADDRESS="fd99::1")

    def test_neither_a_secret_nor_clear(self):
        with Network() as network:
            _, server, systems = self.joined(network, ARGUMENTS.program, IMPISHIM_TLS="auto")
            with server, systems[0], systems[1]:
                for run in (*systems, server):
                    self.assertNotEqual(run.end(), 0, run)
                for run in systems:
                    self.assertIn(
                        "the systems are on several machines (such as 10.99.0.1 and 10.99.0.2), and "
                        "what they send to each other would cross the network in clear: give all "
                        "systems and the server one secret",
                        run.err,
                        run,
                    )
                    self.assertNotIn("rank", run.out, run)

    def test_cut(self):
        """Nothing arrives any more, not even the end of a connection: TCP's own probes find out, in
        half a minute. Nothing is waited for after that."""
        with Network() as network:
            _, server, (left, right) = self.joined(
                network, ARGUMENTS.foreign_program, IMPISHIM_RECONNECT="0"
            )
            with server, left, right:
                left.await_line("out", "talking")
                network.cut()
                for run in (left, right, server):
                    self.assertNotEqual(run.end(), 0, run)
                for run, other in (
                    (left, r"host [23] \(system 1, 10\.99\.0\.2"),
                    (right, r"host [01] \(system 0, 10\.99\.0\.1"),
                ):
                    self.assertRegex(run.err, f"the connection to {other}")
                    self.assertIn("the network is cut", run.err, run)


if __name__ == "__main__":
    main()
