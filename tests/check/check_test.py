# SPDX-License-Identifier: Apache-2.0
"""impirun -check: what it reports of systems and roads, and cause and cure of each problem.

The tests of class Roads need root, the right to make namespaces, and nftables; without them each is
skipped and says so. """

import contextlib
import json
import pathlib
import re
import socket
import struct
import sys
import types

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "launch"), str(TESTS / "fault")]
from network_test import inside, ip  # noqa: E402
from reach_test import LEFT, RIGHT, ROUTER, Sites  # noqa: E402
from support import ARGUMENTS, HELLO, Case, Client, Run, main  # noqa: E402

CHECK_REPORT, SYSTEM_SIZE = 0x0E00, 0x0F00

# Fields of the JSON report, and the types of their values. A list has the fields of its elements.
NUMBER, TEXT, TRUTH = (int, float), str, bool
SYSTEM = {
    "system": int,
    "version": TEXT,
    "protocol": int,
    "node": TEXT,
    "kernel": TEXT,
    "server": TEXT,
    "from": [TEXT],
    "libraries": [{"name": TEXT, "file": TEXT, "version": TEXT, "error": TEXT}],
    "interfaces": [{"name": TEXT, "address": TEXT, "mtu": int}],
    "names": [{"name": TEXT, "address": TEXT}],
    "limits": {
        "descriptors": int,
        "descriptors_hard": int,
        "shared_memory": int,
        "shared_memory_free": int,
        "memory": int,
        "memory_available": int,
        "receive_buffer": int,
        "send_buffer": int,
        "receive_window": int,
        "send_window": int,
        "congestion": TEXT,
    },
    "settings": {
        "encryption": TEXT,
        "clear_allowed": TRUTH,
        "authentication": TEXT,
        "ports": TEXT,
        "ports_free": int,
        "ports_all": int,
        "streams": int,
        "max_channels": int,
        "processes": int,
    },
}
ROAD = {
    "from": int,
    "to": int,
    "joined": TRUTH,
    "relayed": TRUTH,
    "connects": TRUTH,
    "why_not": TEXT,
    "encrypted": TRUTH,
    "local": TEXT,
    "remote": TEXT,
    "interface": TEXT,
    "mtu": int,
    "path_mtu": int,
    "congestion": TEXT,
    "round_trip_us": NUMBER,
    "round_trip_99_us": NUMBER,
    "clock_ahead_us": NUMBER,
    "clock_error_us": NUMBER,
    "rate": NUMBER,
    "rate_streams": NUMBER,
    "streams": int,
    "trouble": TEXT,
}
FINDING = {"breaks": TRUTH, "systems": [int], "cause": TEXT, "cure": TEXT}
REPORT = {
    "format": int,
    "ok": TRUTH,
    "here": int,
    "systems_wanted": int,
    "systems": [SYSTEM],
    "roads": [ROAD],
    "findings": [FINDING],
}


def wrong_form(value, form, where="report"):
    """What of a JSON value does not have this form; nothing if it has."""
    if isinstance(form, dict):
        if not isinstance(value, dict) or list(value) != list(form):
            return f"{where}: {value}"
        wrong = (wrong_form(value[name], form[name], f"{where}.{name}") for name in form)
        return next(filter(None, wrong), None)
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{where}: {value}"
        wrong = (wrong_form(each, form[0], f"{where}[]") for each in value)
        return next(filter(None, wrong), None)
    fits = isinstance(value, form) and (form is bool or not isinstance(value, bool))
    return None if fits else f"{where}: {value}"


class Check(Case):
    def report(self, run, status):
        """The checked JSON report of a run that ends with this status."""
        self.expect(run, status)
        report = json.loads(run.out)
        self.assertIsNone(wrong_form(report, REPORT), run)
        self.assertEqual(report["format"], 1)
        self.assertEqual(report["ok"], status == 0)
        return report

    def expect_finding(self, report, breaks, systems, cause, cure):
        """The report has a finding whose cause and cure match these regular expressions."""
        for each in report["findings"]:
            if re.search(cause, each["cause"]):
                self.assertEqual((each["breaks"], each["systems"]), (breaks, systems), each)
                self.assertRegex(each["cure"], cure)
                self.assertNotIn("\n", each["cause"] + each["cure"])
                return
        self.fail(f"no finding has the cause {cause}: {json.dumps(report['findings'], indent=1)}")

    def expect_no_problem(self, report):
        problems = [each for each in report["findings"] if each["breaks"]]
        self.assertEqual(problems, [])

    def road(self, report, begin, end):
        (found,) = (each for each in report["roads"] if (each["from"], each["to"]) == (begin, end))
        return found

    def expect_measured(self, road):
        self.assertTrue(road["joined"], road)
        self.assertEqual(road["trouble"], "", road)
        self.assertGreater(road["round_trip_us"], 0)
        self.assertGreaterEqual(road["round_trip_99_us"], road["round_trip_us"])
        self.assertGreater(road["rate"], 0)
        # One clock in all namespaces.
        self.assertLessEqual(abs(road["clock_ahead_us"]), road["clock_error_us"] + 1)


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

    def test_a_secret_encrypts(self):
        secret = {"IMPISHIM_SECRET": "of the two systems"}
        with self.server(**secret) as (server, address):
            with self.check(address, 0, **secret) as first:
                with self.check(address, 1, **secret) as second:
                    reports = [self.report(run, 0) for run in (first, second)]
            self.expect(server, 0)
        for report in reports:
            self.assertEqual(
                [each["settings"]["encryption"] for each in report["systems"]], ["secret"] * 2
            )
            for road in report["roads"]:
                self.expect_measured(road)
                self.assertTrue(road["encrypted"])

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

    def test_a_wrong_key(self):
        with self.server() as (server, address):
            with self.check(address, 0, IMPI_AUTH_KEY="78") as run:
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(
            report, True, [0], "key", "give the server and all systems the same secret"
        )

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
        with self.server() as (server, address):
            with self.check(address, 0, IMPISHIM_STREAMS="17") as run:
                report = self.report(run, 1)
            server.process.terminate()
        self.expect_finding(
            report, True, [0], "IMPISHIM_STREAMS=17", "correct what the cause names"
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


class Roads(Check):
    def checked(self, sites, left=None, right=None, server_words=(), json=True, **server):
        """The runs of a server on the router and of a check at each site, all ended."""
        variables = {"IMPISHIM_HOST_ADDRESS": ROUTER, **server}
        with inside(sites.router, "-server", "2", *server_words, **variables) as run:
            address = run.await_line("out", ":")
            form = ("-json",) if json else ()
            runs = [
                inside(site, "-check", address, "-client", str(number), *form, **(own or {}))
                for number, (site, own) in enumerate(((sites.left, left), (sites.right, right)))
            ]
            with runs[0], runs[1]:
                for each in runs:
                    each.end()
            self.expect(run, 0)
        return runs

    def reports(self, sites, status, *arguments, **options):
        runs = self.checked(sites, *arguments, **options)
        return [self.report(run, status) for run in runs]

    def test_both_directions(self):
        with Sites() as sites:
            reports = self.reports(sites, 0)
        for report in reports:
            self.expect_no_problem(report)
            self.expect_finding(report, False, [0, 1], "in clear", "IMPISHIM_SECRET_FILE")
            for begin, end, addresses in ((0, 1, (LEFT, RIGHT)), (1, 0, (RIGHT, LEFT))):
                road = self.road(report, begin, end)
                self.expect_measured(road)
                self.assertTrue(road["connects"], road)
                self.assertEqual(
                    [road[name].split(":")[0] for name in ("local", "remote")], list(addresses)
                )
                self.assertEqual(road["interface"], ("west", "east")[begin])
                self.assertEqual((road["mtu"], road["path_mtu"]), (1500, 1500))
                # A job between machines can have several connections.
                self.assertEqual(road["streams"], 4)
                self.assertGreater(road["rate_streams"], 0)

    def test_one_direction(self):
        with Sites() as sites:
            sites.admit("iifname east")
            runs = self.checked(sites, json=False)
            reports = self.reports(sites, 0)
        for run in runs:
            self.expect(run, 0)
            self.assertIn("connects    1 -> 0 alone", run.out)
            self.assertIn("a job can run: 0 problem(s)", run.out)
        for report in reports:
            self.expect_no_problem(report)
            self.assertTrue(self.road(report, 1, 0)["connects"])
            road = self.road(report, 0, 1)
            self.assertFalse(road["connects"])
            self.assertIn(f"no connection with host 1 (system 1, {RIGHT}", road["why_not"])
            self.expect_measured(road)

    def test_neither_direction(self):
        with Sites() as sites:
            sites.admit()
            runs = self.checked(sites, json=False)
            reports = self.reports(sites, 1)
        for run in runs:
            self.expect(run, 1)
            self.assertRegex(
                run.out,
                r"\nPROBLEM: systems 0 and 1 cannot connect to each other in either direction"
                r".*\n  cure: open a port at one of the two sites",
            )
            self.assertIn("a job cannot run: 1 problem(s)", run.out)
        for report in reports:
            self.expect_finding(
                report,
                True,
                [0, 1],
                "cannot connect to each other in either direction: no connection with host",
                "IMPISHIM_PORT, or start the server with -relay",
            )
            # What the systems say of themselves comes by the server.
            self.assertEqual(len(report["systems"]), 2)

    def test_a_relay(self):
        with Sites() as sites:
            sites.admit()
            reports = self.reports(sites, 0, server_words=("-relay",))
        for report in reports:
            self.expect_finding(
                report,
                False,
                [0, 1],
                "only through the relay of the rendezvous server, which costs bandwidth",
                "open a port at one of the two sites",
            )
            for road in report["roads"]:
                self.expect_measured(road)
                self.assertTrue(road["relayed"], road)
                self.assertFalse(road["connects"], road)

    def test_a_closed_port(self):
        """The firewall opens a port, and the system listens at another one."""
        with Sites() as sites:
            sites.admit("iifname east tcp dport 4712")
            reports = self.reports(sites, 1, {"IMPISHIM_PORT": "4711"})
        for report in reports:
            self.expect_finding(
                report, True, [0, 1], "in either direction", "name it there with IMPISHIM_PORT"
            )
        self.assertIn(
            f"{LEFT} port 4711", reports[1]["findings"][0]["cause"], reports[1]["findings"]
        )

    def test_an_open_port(self):
        with Sites() as sites:
            sites.admit("iifname east tcp dport 4711")
            reports = self.reports(sites, 0, {"IMPISHIM_PORT": "4711"})
        for report in reports:
            self.expect_no_problem(report)
            road = self.road(report, 1, 0)
            self.assertTrue(road["connects"])
            self.assertEqual(road["remote"], f"{LEFT}:4711")

    def test_different_mtus(self):
        with Sites() as sites:
            ip("-n", sites.left, "link", "set", "west", "mtu", "1400")
            reports = self.reports(sites, 0)
        for report in reports:
            self.expect_finding(
                report,
                False,
                [0, 1],
                "interface (west of system 0 has MTU 1400, and east of system 1 has 1500)",
                "give both the same MTU",
            )

    def test_packets_of_full_size_are_lost(self):
        """A part of the path takes less than both ends think, and no ICMP tells them."""
        with Sites() as sites:
            sites.rules(
                "add table inet hole",
                "add chain inet hole road { type filter hook forward priority 0 ; policy accept ; }",
                "add rule inet hole road meta length > 1200 drop",
            )
            reports = self.reports(sites, 1)
        for report in reports:
            self.expect_finding(
                report, True, [0, 1], "under long messages, although short ones pass", "MTU"
            )

    def test_neither_a_secret_nor_clear(self):
        """Of what a job would be refused for, the check says so, too."""
        with Sites() as sites:
            variables = {"IMPISHIM_TLS": "auto"}
            with inside(sites.router, "-server", "2", IMPISHIM_HOST_ADDRESS=ROUTER) as server:
                address = server.await_line("out", ":")
                runs = [
                    inside(site, "-check", address, "-client", str(number), "-json", **variables)
                    for number, site in enumerate((sites.left, sites.right))
                ]
                with runs[0], runs[1]:
                    reports = [self.report(run, 1) for run in runs]
                server.process.terminate()
        for number, report in enumerate(reports):
            self.expect_finding(
                report, True, [number], "would cross the network in clear", "same settings"
            )

    def test_the_page_shows_what_is_printed(self):
        """Runs the commands of docs/check.md that are marked so, each where its prompt says, and
        compares what they print, but for numbers and what a machine says of itself."""
        server, *checks = marked_commands("run between two sites")
        self.assertEqual([where for where, _, _ in (server, *checks)], ["", "a", "b"])
        printed = server[2]
        with Sites() as sites:
            sites.admit("iifname east")
            variables = {"IMPISHIM_HOST_ADDRESS": ROUTER}
            with inside(sites.router, *server[1], **variables) as run:
                address = run.await_line("out", ":")
                self.assertEqual(plain(address), plain(printed))
                at = {"a": sites.left, "b": sites.right}
                runs = []
                for where, command, _ in checks:
                    self.assertIn(printed, command)
                    words = [address if word == printed else word for word in command]
                    runs.append(inside(at[where], *words))
                with runs[0], runs[1]:
                    for each in runs:
                        self.expect(each, 0)
                self.expect(run, 0)
        for each, (_, _, shown) in zip(runs, checks):
            if shown:
                self.assertEqual(plain(each.out), plain(shown))
        self.assertTrue(checks[-1][2], "the page shows nothing")


def marked_commands(mark):
    """The commands of the block of docs/check.md behind this comment: where they run, the words
    behind `impirun`, and what the page says they print."""
    page = (TESTS.parent / "docs" / "check.md").read_text(encoding="utf-8")
    block = page.split(f"<!-- {mark} -->\n```\n")[1].split("\n```\n")[0]
    parts = re.split(r"^(\w*)\$ impirun (.*)$", block, flags=re.MULTILINE)[1:]
    return [
        (where, words.split(), said.strip())
        for where, words, said in zip(parts[::3], parts[1::3], parts[2::3])
    ]


def plain(text):
    """Lines without numbers, units, and what a machine says of itself."""
    own = re.compile(r"  (impishim|MPI|name|memory) |^system \d")
    lines = [line.rstrip() for line in text.strip().splitlines() if not own.match(line)]
    masked = [re.sub(r"\d[\d.]*( (us|ms|s|[KMG]iB|[MG]bit/s))?\b", "#", line) for line in lines]
    return [re.sub(r"(cubic|bbr|reno)$", "CONTROL", line) for line in masked]


if __name__ == "__main__":
    main()
