# SPDX-License-Identifier: Apache-2.0
"""impirun -check between two sites: which direction connects, what is measured, and cause and cure of
each problem of the network; the transcript of docs/check.md.

The tests need root, the right to make namespaces, and nftables; without them each is skipped and
says so. """

import re

from checking import TESTS, Check
from network_test import inside, ip
from reach_test import LEFT, RIGHT, ROUTER, Sites
from support import main


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
                    if ">" in words:  # a shell's business
                        words = words[: words.index(">")]
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
    own = re.compile(r"  (impishim|MPI|name|memory|interface +lo) |^system \d")
    lines = [line.rstrip() for line in text.strip().splitlines() if not own.match(line)]
    masked = [re.sub(r"\d[\d.]*( (us|ms|s|[KMG]iB|[MG]bit/s))?\b", "#", line) for line in lines]
    masked = [re.sub(r"; \w+$", "; CONTROL", line) for line in masked]
    return [re.sub(r"# behind,", "# ahead,", line) for line in masked]


if __name__ == "__main__":
    main()
