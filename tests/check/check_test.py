# SPDX-License-Identifier: Apache-2.0
"""impirun -check on one machine: what it reports, and cause and cure of each problem."""

import contextlib
import json
import pathlib
import re
import socket
import struct
import types

from checking import Check
from support import ARGUMENTS, HELLO, Client, Run, certificates, main

CHECK_REPORT, SYSTEM_SIZE = 0x0E00, 0x0F00


def on_this_machine(*words, **variables):
    return Run(ARGUMENTS.impirun, *words, **{"IMPI_AUTH_KEY": "77", **variables})


def shaped(*arguments, **variables):
    """A check in one system, whose shell has this limit of descriptors."""
    limit, *words = arguments
    command = f'ulimit -n {limit}; exec "$@"'
    return Run(
        "sh", "-c", command, "sh", ARGUMENTS.impirun, *words, **{"IMPI_AUTH_KEY": "77", **variables}
    )


def client_of(address):
    return Client(types.SimpleNamespace(port=int(address.rsplit(":", 1)[1])))


class OneMachine(Check):
    @contextlib.contextmanager
    def server(self, count=2, **variables):
        variables = {"IMPISHIM_HOST_ADDRESS": "127.0.0.1", **variables}
        with on_this_machine("-server", str(count), **variables) as server:
            yield server, server.await_line("out", ":")

    def check(self, address, system, *words, **variables):
        return on_this_machine(
            "-check", address, "-client", str(system), "-json", *words, **variables
        )

    def test_two_systems(self):
        with self.server() as (server, address):
            with self.check(address, 0) as first, self.check(address, 1) as second:
                reports = [self.report(run, 0) for run in (first, second)]
            self.expect(server, 0)
        for number, report in enumerate(reports):
            self.assertEqual(report["here"], number)
            self.assertEqual([each["system"] for each in report["systems"]], [0, 1])
            self.assertEqual(len(report["roads"]), 2)
            for road in report["roads"]:
                self.expect_measured(road)
                self.assertTrue(road["connects"], road)
                self.assertFalse(road["relayed"] or road["encrypted"], road)
                self.assertEqual(road["interface"], "lo")
        # Both have the same measurements.
        self.assertEqual(
            *(sorted(report["roads"], key=lambda road: road["from"]) for report in reports)
        )

    def test_three_systems(self):
        with self.server(3) as (server, address):
            runs = [self.check(address, system) for system in range(3)]
            with runs[0], runs[1], runs[2]:
                reports = [self.report(run, 0) for run in runs]
            self.expect(server, 0)
        # Each knows the roads from and to itself, and those of the others.
        for report in reports:
            self.assertEqual(
                {(road["from"], road["to"]) for road in report["roads"]},
                {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)},
            )

    def test_libraries_tell_their_versions(self):
        with self.server(1) as (server, address), self.check(address, 0) as run:
            (system,) = self.report(run, 0)["systems"]
            self.expect(server, 0)
        self.assertTrue(system["libraries"])
        for each in system["libraries"]:
            if not each["error"]:
                self.assertRegex(each["version"], r"MPI")

    def test_what_a_library_prints_is_no_report(self):
        folder = pathlib.Path(ARGUMENTS.program).parent
        variables = {
            "LD_LIBRARY_PATH": str(folder),
            "IMPISHIM_LIBRARY": str(folder / "openmpi" / "libimpishim.so"),
        }
        with self.server(1) as (server, address), self.check(address, 0, **variables) as run:
            (system,) = self.report(run, 0)["systems"]
            self.expect(server, 0)
        (library,) = system["libraries"]
        self.assertEqual(library["version"], "Talkative MPI 1.0")
        self.assertNotIn("talkative", run.err)

    def expect_encrypted(self, reports, by):
        for report in reports:
            self.assertEqual(
                [each["settings"]["encryption"] for each in report["systems"]], [by] * 2
            )
            for road in report["roads"]:
                self.expect_measured(road)
                self.assertTrue(road["encrypted"])

    def test_a_secret_encrypts(self):
        secret = {"IMPISHIM_SECRET": "of the two systems"}
        with self.server(**secret) as (server, address):
            with self.check(address, 0, **secret) as first:
                with self.check(address, 1, **secret) as second:
                    reports = [self.report(run, 0) for run in (first, second)]
            self.expect(server, 0)
        self.expect_encrypted(reports, "secret")

    def test_certificates(self):
        """They encrypt, and one of another authority is turned away."""
        with certificates() as files, self.server(**files("server")) as (server, address):
            with self.check(address, 1, **files("foreign")) as stranger:
                turned_away = self.report(stranger, 1)
            with self.check(address, 0, **files("server")) as first:
                with self.check(address, 1, **files("system")) as second:
                    reports = [self.report(run, 0) for run in (first, second)]
            self.expect(server, 0)
        self.expect_finding(turned_away, True, [1], "certificate", "certificates of one authority")
        self.expect_encrypted(reports, "certificates")

    def test_several_streams(self):
        """On one machine a job has them only if a user asks for them."""
        variables = {"IMPISHIM_RECONNECT": "10", "IMPISHIM_STREAMS": "3"}
        with self.server(IMPISHIM_RECONNECT="10") as (server, address):
            with self.check(address, 0, **variables) as first:
                with self.check(address, 1, **variables) as second:
                    reports = [self.report(run, 0) for run in (first, second)]
            self.expect(server, 0)
        for report in reports:
            for road in report["roads"]:
                self.assertEqual(road["streams"], 3)
                self.assertGreater(road["rate_streams"], 0)

    def expect_alone(self, system, cause, cure, **variables):
        """This system cannot join, and says so without the others."""
        with self.server() as (server, address):
            with self.check(address, system, **variables) as run:
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(report, True, [system], cause, cure)

    def test_a_wrong_key(self):
        self.expect_alone(
            0, "key", "give the server and all systems the same secret", IMPI_AUTH_KEY="78"
        )

    def test_a_number_that_does_not_exist(self):
        self.expect_alone(2, "system 2 does not exist", "a number of its own with -client")

    def test_no_key(self):
        with self.server() as (server, address):
            run = Run(ARGUMENTS.impirun, "-check", address, "-client", "0", "-json")
            with run:
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(report, True, [0], "IMPI_AUTH", "secret or key of the job")

    def test_no_server(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            with self.check(address, 0) as run:
                report = self.report(run, 1)
        self.expect_finding(
            report, True, [0], re.escape(address), "see that impirun -server runs at this address"
        )

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken, self.server() as (server, address):
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            with self.check(address, 0, IMPISHIM_PORT=port) as first:
                with self.check(address, 1) as second:
                    reports = [self.report(run, 1) for run in (first, second)]
            self.expect(server, 0)
        # The other system learns of it as well.
        for report in reports:
            self.expect_finding(
                report,
                True,
                [0],
                f"no port of IMPISHIM_PORT={port} is free in system 0",
                "end what listens there, or set IMPISHIM_PORT",
            )
            for road in report["roads"]:
                self.expect_measured(road)

    def test_few_descriptors(self):
        with self.server() as (server, address):
            words = ("-check", address, "-json", "-np", "64", "-client")
            with shaped(100, *words, "0") as first, on_this_machine(*words, "1") as second:
                reports = [self.report(run, 1) for run in (first, second)]
            self.expect(server, 0)
        for report in reports:
            self.expect_finding(
                report,
                True,
                [0],
                "system 0 allows 100 file descriptors, and a process may need 128",
                r"ulimit -n 128 \(the hard limit is \d+\)",
            )

    def test_another_version(self):
        """The other system is of a version that speaks another protocol."""
        told = json.dumps({"system": 1, "version": "99.1", "protocol": 99}).encode()
        with self.server() as (server, address), self.check(address, 0) as run:
            with client_of(address) as other:
                self.join_as(other, 1)
                other.coll(CHECK_REPORT, struct.pack(">I", len(told)) + told)
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(
            report,
            True,
            [0, 1],
            r"system 0 has impishim .* \(protocol \d+\), system 1 has impishim 99.1 \(protocol 99\)",
            "install the same version",
        )

    def test_a_program_instead_of_a_check(self):
        with self.server() as (server, address), self.check(address, 0) as run:
            with client_of(address) as other:
                self.join_as(other, 1)
                other.coll(SYSTEM_SIZE, bytes(32))
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(
            report, True, [1], "system 1 has joined, but is no impirun -check", "-client 1"
        )

    def test_bad_reports(self):
        """Bytes of another system are checked."""
        deep = b'{"system": 1, "version": "1", "protocol": 1, "from": ' + b"[" * 99 + b"]" * 99
        for told, wrong in (
            (b"\xff{", "it is no JSON"),
            (b'{"version": "1", "protocol": 1}', "system is missing"),
            (b'{"system": 1, "version": 7, "protocol": 1}', "version: a text belongs there"),
            (deep + b"}", "nested too deeply"),
            (b" " * 70000, "too long"),
        ):
            with self.subTest(wrong), self.server() as (server, address):
                with self.check(address, 0) as run, client_of(address) as other:
                    self.join_as(other, 1)
                    other.coll(CHECK_REPORT, struct.pack(">I", len(told)) + told)
                    report = self.report(run, 1)
                server.process.terminate()
                self.expect_finding(report, True, [0], wrong, "use the same impishim")

    def join_as(self, other, number):
        """Joins with the key, as a client of ours."""
        other.authenticate(1 << 1, key=77)
        other.send(HELLO, b"")
        other.send(0x494D5049, struct.pack(">i", number))

    def test_wrong_commands(self):
        for words, wrong in (
            (("-check",), "-check needs the address:port"),
            (("-check", "127.0.0.1:5"), "-check needs -client I"),
            (("-check", "127.0.0.1", "-client", "0"), "address:port"),
            (("-check", "127.0.0.1:5", "-client", "32"), "32"),
            (("-check", "127.0.0.1:5", "-client", "0", "-nonsense"), "nonsense"),
        ):
            with self.subTest(words), on_this_machine(*words) as run:
                self.expect(run, 2)
                self.assertIn(wrong, run.err)
                self.assertEqual(run.out, "")

    def test_a_wrong_variable(self):
        self.expect_alone(
            0, "IMPISHIM_STREAMS=17", "correct what the cause names", IMPISHIM_STREAMS="17"
        )

    def test_settings_that_differ(self):
        with self.server() as (server, address):
            with self.check(address, 0, IMPISHIM_LANES="2") as first:
                with self.check(address, 1) as second:
                    reports = [self.report(run, 1) for run in (first, second)]
            server.process.terminate()
        for number, report in enumerate(reports):
            self.expect_finding(
                report, True, [number], "IMPISHIM_LANES is 2 in system 0", "same settings"
            )


if __name__ == "__main__":
    main()
