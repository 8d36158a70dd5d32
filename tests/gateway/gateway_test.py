# SPDX-License-Identifier: Apache-2.0
"""Gateways: values that are refused, a gateway that dies, and a system of network namespaces of
which only the gateway's has a route out.

The last needs root and the right to make namespaces; without it those tests are skipped and say so.
"""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fault"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from network_test import ip, made_namespaces  # noqa: E402
from support import ARGUMENTS, Case, Run, impirun, main  # noqa: E402


def by_rank(folder, words):
    """A script that MPICH starts in place of a program: `words`, in which the shell replaces
    $PMI_RANK, and then its arguments."""
    script = pathlib.Path(folder) / "by_rank"
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


class Values(Case):
    def refused(self, *words, says, **environment):
        with impirun(*words, **environment) as run:
            self.assertNotEqual(run.end(), 0, run)
            self.assertIn(says, run.err, run)

    def test_ranks_that_are_not_there(self):
        self.refused(
            "-np",
            2,
            "-gateway",
            "0,2",
            ARGUMENTS.program,
            ":",
            "-np",
            1,
            ARGUMENTS.program,
            says='IMPISHIM_GATEWAY=0,2: "2" names no rank of this system, which has the ranks 0 to 1',
        )

    def test_hosts_of_another_size(self):
        self.refused(
            "-np",
            2,
            ARGUMENTS.program,
            ":",
            "-np",
            1,
            ARGUMENTS.program,
            IMPISHIM_GATEWAY="0",
            IMPISHIM_HOST_PROCS="1",
            says="IMPISHIM_GATEWAY=0: each gateway has a host of its own",
        )

    def test_address_of_no_gateway(self):
        self.refused(
            "-np",
            1,
            ARGUMENTS.program,
            ":",
            "-np",
            1,
            ARGUMENTS.program,
            IMPISHIM_GATEWAY_ADDRESS="127.0.0.1",
            says="IMPISHIM_GATEWAY_ADDRESS=127.0.0.1: it needs IMPISHIM_GATEWAY, which is not set",
        )

    def test_address_of_another_machine(self):
        self.refused(
            "-np",
            2,
            "-gateway",
            0,
            ARGUMENTS.program,
            ":",
            "-np",
            1,
            "-gateway",
            0,
            ARGUMENTS.program,
            IMPISHIM_GATEWAY_ADDRESS="192.0.2.1",
            IMPISHIM_TEST_NODE_PROCS="1",
            says="a gateway cannot listen on 192.0.2.1",
        )

    def test_addresses_of_many(self):
        for variable, section in (
            ("IMPISHIM_HOST_ADDRESS", ()),
            ("IMPISHIM_GATEWAY_ADDRESS", ("-gateway", 0)),
        ):
            for address, kind in (
                ("0.0.0.0", "the wildcard address"),
                ("255.255.255.255", "the broadcast address"),
            ):
                self.refused(
                    "-np",
                    1,
                    *section,
                    ARGUMENTS.program,
                    ":",
                    "-np",
                    1,
                    *section,
                    ARGUMENTS.program,
                    **{variable: address},
                    says=f"{variable}={address}: that is {kind}, which names no single machine",
                )

    def test_values_that_differ_among_ranks(self):
        with tempfile.TemporaryDirectory() as folder, impirun(
            "-server", 1, IMPI_AUTH_NONE="1"
        ) as server:
            address = server.await_line("out", ":")
            script = by_rank(folder, "env IMPISHIM_GATEWAY=$PMI_RANK")
            with impirun(
                "-client",
                0,
                address,
                "--",
                ARGUMENTS.mpiexec,
                "-n",
                2,
                script,
                ARGUMENTS.program,
                IMPI_AUTH_NONE="1",
            ) as run:
                self.assertNotEqual(run.end(), 0, run)
                self.assertIn(
                    "IMPISHIM_GATEWAY is 0 on rank 0 of this system and 1 on its rank 1",
                    run.err,
                    run,
                )
            server.process.send_signal(signal.SIGTERM)
            server.end()


class Death(Case):
    def gateway_dies(self, **environment):
        """Rank 1 of system 1 is killed, rank 3 of the job, while all wait."""
        with impirun(
            "-np",
            2,
            "-gateway",
            0,
            ARGUMENTS.foreign_program,
            ":",
            "-np",
            3,
            "-gateway",
            1,
            ARGUMENTS.foreign_program,
            IMPI_AUTH_NONE="1",
            **environment,
        ) as run:
            run.await_line("out", "talking")
            killed = [
                process for process in run.processes() if self.is_rank(process, client=1, rank=1)
            ]
            self.assertEqual(len(killed), 1, run)
            os.kill(killed[0], signal.SIGKILL)
            self.assertNotEqual(run.end(), 0, run)
            self.assertRegex(
                run.err,
                r"the connection to host 1 \(system 1, 127.0.0.1 port \d+, gateway rank 3\), "
                r"rank 3 \(pid \d+ on .+\) ended without FINI",
                run,
            )

    @staticmethod
    def is_rank(process, client, rank):
        if not pathlib.Path(f"/proc/{process}/exe").samefile(ARGUMENTS.foreign_program):
            return False
        variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        return (
            f"IMPISHIM_CLIENT={client}".encode() in variables
            and f"PMI_RANK={rank}".encode() in variables
        )

    def test_on_its_node(self):
        self.gateway_dies()

    def test_on_another_node(self):
        self.gateway_dies(IMPISHIM_TEST_NODE_PROCS="1", IMPISHIM_GATEWAY_ADDRESS="127.0.0.1")


class Cluster:
    """Namespaces `outer`, where the other system is, `gate`, and one for each inner rank, which has
    a cable to `gate` alone."""

    def __init__(self, inner_ranks):
        self.prefix = f"impishim-{os.getpid()}-"
        self.inner = {rank: self.prefix + str(rank) for rank in inner_ranks}
        self.outer = self.prefix + "outer"
        self.gate = self.prefix + "1"  # the gateway is rank 1

    def __enter__(self):
        made_namespaces([self.outer, self.gate, *self.inner.values()])
        self.cable(self.outer, "10.99.0.2", self.gate, "10.99.0.1")
        for rank, namespace in self.inner.items():
            self.cable(namespace, f"10.99.{rank + 10}.2", self.gate, f"10.99.{rank + 10}.1")
        return self

    def __exit__(self, *_):
        for namespace in (self.outer, self.gate, *self.inner.values()):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)

    @staticmethod
    def cable(left, left_address, right, right_address):
        names = ("cable", "to-" + left_address.rsplit(".", 1)[0].replace(".", "-"))
        ip(
            "link",
            "add",
            names[0],
            "netns",
            left,
            "type",
            "veth",
            "peer",
            "name",
            names[1],
            "netns",
            right,
        )
        for namespace, name, address in (
            (left, names[0], left_address),
            (right, names[1], right_address),
        ):
            ip("-n", namespace, "address", "add", address + "/24", "dev", name)
            for device in ("lo", name):
                ip("-n", namespace, "link", "set", device, "up")

    def start(self, folder, program, **environment):
        """Server and system 1 outside; ranks 0 and 2 of system 0 in namespaces of their own, rank 1
        at the gate."""
        environment["IMPI_AUTH_NONE"] = "1"
        environment["IMPISHIM_TLS"] = "off"
        server = Run(
            "ip", "netns", "exec", self.outer, ARGUMENTS.impirun, "-server", 2, **environment
        )
        address = server.await_line("out", ":")
        script = by_rank(folder, f"ip netns exec {self.prefix}$PMI_RANK")
        inner = Run(
            "ip",
            "netns",
            "exec",
            self.gate,
            ARGUMENTS.impirun,
            "-client",
            0,
            address,
            "--",
            ARGUMENTS.mpiexec,
            "-n",
            3,
            script,
            program,
            **environment,
        )
        clean = {
            name: value
            for name, value in environment.items()
            if not name.startswith("IMPISHIM_GATEWAY")
        }
        outer = Run(
            "ip",
            "netns",
            "exec",
            self.outer,
            ARGUMENTS.impirun,
            "-client",
            1,
            address,
            "-np",
            1,
            program,
            **clean,
        )
        return server, inner, outer


class Namespaces(Case):
    def joined(self, program, **environment):
        with tempfile.TemporaryDirectory() as folder, Cluster([0, 2]) as cluster:
            for namespace in cluster.inner.values():
                way_out = subprocess.run(
                    ["ip", "-n", namespace, "route", "get", "10.99.0.2"],
                    capture_output=True,
                    check=False,
                )
                self.assertNotEqual(
                    way_out.returncode, 0, "an inner rank can reach the other system by itself"
                )
            server, inner, outer = cluster.start(folder, program, **environment)
            with server, inner, outer:
                code = inner.end()
                if code != 0:  # the server and the other system would wait for it for ever
                    server.process.send_signal(signal.SIGTERM)
                return code, server.end(), outer.end(), server, inner, outer

    def test_only_the_gateway_has_a_way_out(self):
        *codes, server, inner, outer = self.joined(ARGUMENTS.program, IMPISHIM_GATEWAY="1")
        self.assertEqual(codes, [0, 0, 0], f"{server}\n{inner}\n{outer}")
        self.assertIn("4 ranks in 2 systems on 2 hosts", inner.out)
        for rank, system in enumerate((0, 0, 0, 1)):
            self.assertIn(f"rank {rank}: system {system}, host {system}", inner.out)

    def test_without_it_there_is_no_way(self):
        *codes, server, inner, outer = self.joined(ARGUMENTS.program)
        self.assertNotIn(0, codes, f"{server}\n{inner}\n{outer}")
        self.assertIn("there is no route to 10.99.0.2", inner.err)

    def test_an_address_that_not_all_reach(self):
        *codes, server, inner, outer = self.joined(
            ARGUMENTS.program, IMPISHIM_GATEWAY="1", IMPISHIM_GATEWAY_ADDRESS="10.99.10.1"
        )
        self.assertNotIn(0, codes, f"{server}\n{inner}\n{outer}")
        self.assertRegex(
            inner.err,
            r"the gateway of this host cannot be reached at 10\.99\.10\.1:\d+ \(Network is unreachable\)",
        )


if __name__ == "__main__":
    main()
