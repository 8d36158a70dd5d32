# SPDX-License-Identifier: Apache-2.0
"""Connections that are lost while a job runs, and taken up again: reset, cut for seconds, with
another address, behind an address translator, through a relay. And those that are not.

Connections are reset by `ss -K`, which needs root and a kernel that can; machines are network
namespaces. Where that is not to be had the tests are skipped, and say so. """

import functools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from network_test import Network, inside, ip  # noqa: E402
from reach_test import LEFT, ROUTER, Sites  # noqa: E402
from support import ARGUMENTS, Case, impirun, main  # noqa: E402

PORTS = (4730, 4749)
FOREVER = ("0", "0")


def soak(seconds):
    """The program and its arguments: at least so many seconds."""
    return (ARGUMENTS.program, *FOREVER, str(seconds))


def sockets(*words, namespace=None):
    """What ss(8) says."""
    enter = ("ip", "netns", "exec", namespace) if namespace else ()
    done = subprocess.run((*enter, "ss", *words), capture_output=True, text=True, check=True)
    return done.stdout


def reset():
    """Resets all connections of the hosts' ports. Returns their number."""
    ports = f"( sport >= :{PORTS[0]} and sport <= :{PORTS[1]} )"
    ports += f" or ( dport >= :{PORTS[0]} and dport <= :{PORTS[1]} )"
    return sockets("-K", "-tnH", ports).count("ESTAB")


def reset_one():
    """Resets one connection of the hosts' ports, if there is one."""
    ports = f"sport >= :{PORTS[0]} and sport <= :{PORTS[1]}"
    found = re.findall(r"\S+:(\d+) +\S+:(\d+) *$", sockets("-tnH", ports), re.MULTILINE)
    if not found:
        return 0
    near, far = random.choice(found)
    both = f"( sport = :{near} and dport = :{far} )"
    return sockets("-K", "-tnH", both).count("ESTAB")


def reset_relayed(namespace):
    """Resets the connections to the relay over which much has gone, and not those to the server,
    which has the same port."""
    count = 0
    for port, sent in re.findall(
        r"\S+:(\d+) +\S+:\d+ *\n.*bytes_sent:(\d+)",
        sockets("-tniH", "dst", ROUTER, namespace=namespace),
    ):
        if int(sent) > 100000:
            count += sockets("-K", "-tnH", f"sport = :{port}", namespace=namespace).count("ESTAB")
    return count


def reset_again_and_again(seconds, reset_some=reset):
    random.seed(7)
    count = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # Not at fixed times: each cut finds the connection in another state.
        time.sleep(random.random() / 10)
        count += reset_some()
    if count == 0:
        raise unittest.SkipTest(
            "`ss -K` resets no connection here: it needs root and the kernel's "
            "CONFIG_INET_DIAG_DESTROY"
        )
    return count


VARIABLES = {
    "IMPISHIM_PORT": f"{PORTS[0]}-{PORTS[1]}",
    "IMPISHIM_RECONNECT": "20",
    "IMPISHIM_LOG": "info",
}


class Resets(Case):
    def survives(self, *words, reset_some=reset, **variables):
        """Cuts for four seconds, at random times. Nothing is lost, and nothing comes twice."""
        section = words or ("-np", "2", *soak(6))
        with impirun(*section, ":", *section, **VARIABLES, **variables) as run:
            run.await_line("out", "soaking")
            cuts = reset_again_and_again(4, reset_some)
            self.expect(run, 0)
            self.assertIn("all as they were sent", run.out)
            again = run.err.count("is taken up again")
            print(f"{cuts} connections were reset; {again} times one was taken up again")
            self.assertGreater(again, 10, run)
            return run.err

    def test_between_hosts_of_one_process(self):
        self.survives()

    def test_of_an_encrypted_job(self):
        self.survives(IMPISHIM_SECRET="of the two systems")

    def test_of_hosts_of_two_processes(self):
        self.survives(IMPISHIM_HOST_PROCS="2")

    def test_of_gateways(self):
        self.survives(IMPISHIM_GATEWAY="0")

    def test_of_several_streams(self):
        """All of them at once."""
        self.survives(IMPISHIM_STREAMS="4")

    def test_of_several_streams_one_by_one(self):
        self.survives(IMPISHIM_STREAMS="4", reset_some=reset_one)

    def test_of_several_encrypted_streams(self):
        self.survives(
            IMPISHIM_STREAMS="4", IMPISHIM_SECRET="of the two systems", reset_some=reset_one
        )

    def test_of_several_streams_of_hosts_of_two_processes(self):
        self.survives(IMPISHIM_STREAMS="3", IMPISHIM_HOST_PROCS="2", reset_some=reset_one)

    def test_of_several_streams_of_gateways(self):
        self.survives(IMPISHIM_STREAMS="3", IMPISHIM_GATEWAY="0")

    def compresses(self, **variables):
        """The same with compressed streams. Some of the bytes were compressed."""
        errors = self.survives(IMPISHIM_COMPRESSION="zstd", **variables)
        found = re.findall(r"compression to .*: (\d+) bytes became (\d+)", errors)
        print(f"compressed: {found}")
        self.assertGreater(sum(int(before) for before, _ in found), 0, errors)

    def test_of_a_compressed_job(self):
        self.compresses()

    def test_of_a_compressed_and_encrypted_job(self):
        self.compresses(IMPISHIM_SECRET="of the two systems")

    def test_of_compressed_streams(self):
        self.compresses(IMPISHIM_STREAMS="4", reset_some=reset_one)

    def test_of_compressed_gateways(self):
        self.compresses(IMPISHIM_GATEWAY="0")

    def test_that_nothing_takes_up(self):
        """IMPISHIM_RECONNECT=0: the first one ends the job."""
        words = ("-np", "1", *soak(60))
        variables = {**VARIABLES, "IMPISHIM_RECONNECT": "0"}
        with impirun(*words, ":", *words, **variables) as run:
            run.await_line("out", "soaking")
            if reset() == 0:
                raise unittest.SkipTest("`ss -K` resets no connection here")
            self.assertNotEqual(run.end(), 0, run)
            self.assertIn("a process there has died, or the network is cut", run.err)


def systems_of(where, address, words, variables):
    """A system of one or two ranks at each of two places."""
    return [
        place("-client", str(number), address, *words, **variables)
        for number, place in enumerate(where)
    ]


class Ends(Case):
    """Each system has a launcher of its own, which knows nothing of the other one."""

    def killed(self, number, before=None):
        """Kills the process of one system, once the other one has said `before`."""
        launch = functools.partial(impirun, IMPI_AUTH_KEY="77")
        server = launch("-server", "2")
        words = ("-np", "1", *soak(60))
        variables = {**VARIABLES, "IMPISHIM_RECONNECT": "60", "IMPISHIM_LOG": "debug"}
        runs = systems_of((launch, launch), server.await_line("out", ":"), words, variables)
        with server, runs[0], runs[1]:
            runs[0].await_line("out", "soaking")
            if before:
                runs[1 - number].await_line("err", before)
            victim = int(runs[number].lines["out"][0].split()[-1])
            begin = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            for run in (*runs, server):
                self.assertNotEqual(run.end(), 0, run)
            told = runs[1 - number].err
            self.assertIn("no process listens at its port any more: it has ended", told)
            self.assertRegex(told, rf"the connection to host {number} .*rank {number} \(pid \d+")
            # Nothing listens there any more, so that nothing is to be waited for.
            self.assertLess(time.monotonic() - begin, 30)

    def test_a_killed_process_whose_port_was_open(self):
        self.killed(0)

    def test_a_killed_process_that_had_connected(self):
        self.killed(1, before="can be reached from here, too")

    def asked(self, *arguments):
        """Two systems whose processes must answer within 10 s."""
        launch = functools.partial(impirun, IMPI_AUTH_KEY="77")
        server = launch("-server", "2")
        runs = systems_of(
            (launch, launch),
            server.await_line("out", ":"),
            ("-np", "1", ARGUMENTS.foreign_program, *arguments),
            {**VARIABLES, "IMPISHIM_ANSWER_TIME": "10"},
        )
        return server, *runs

    def test_a_stopped_process(self):
        """Its machine answers. It hears of the end when it goes on."""
        server, left, right = self.asked()
        with server, left, right:
            left.await_line("out", "talking")
            (victim,) = [
                each
                for each in right.processes()
                if pathlib.Path(f"/proc/{each}/exe").samefile(ARGUMENTS.foreign_program)
            ]
            os.kill(victim, signal.SIGSTOP)
            try:
                begin = time.monotonic()
                for run in (left, server):
                    self.assertNotEqual(run.end(), 0, run)
                self.assertLess(time.monotonic() - begin, 40)
                self.assertRegex(
                    left.err,
                    r"the connection to host 1 .*rank 1 \(pid \d+ on .+\) is given up: it has not "
                    r"answered for 10 s, though its machine has: it is stopped",
                )
            finally:
                os.kill(victim, signal.SIGCONT)
            self.assertNotEqual(right.end(), 0, right)

    def test_a_process_that_computes_answers(self):
        server, left, right = self.asked("compute")
        with server, left, right:
            for run in (left, right, server):
                self.expect(run, 0)

    def test_an_exit_without_finalize(self):
        """The last rank says that all is well, and leaves."""
        launch = functools.partial(impirun, IMPI_AUTH_KEY="77")
        server = launch("-server", "2")
        words = ("-np", "1", ARGUMENTS.foreign_program, "leave")
        runs = systems_of((launch, launch), server.await_line("out", ":"), words, VARIABLES)
        with server, runs[0], runs[1]:
            runs[0].await_line("out", "talking")
            begin = time.monotonic()
            for run in (runs[0], server):
                self.assertNotEqual(run.end(), 0, run)
            # The launchers of MPI libraries do not agree on whether that is a failure.
            runs[1].end()
            self.assertRegex(runs[0].err, r"the connection to host 1 .*rank 1 \(pid \d+")
            self.assertLess(time.monotonic() - begin, 45)

    def test_a_lost_server(self):
        """The job needs it no more, but each system says that it could not tell it of its end."""
        launch = functools.partial(impirun, IMPI_AUTH_KEY="77")
        server = launch("-server", "2")
        runs = systems_of(
            (launch, launch), server.await_line("out", ":"), ("-np", "1", *soak(2)), VARIABLES
        )
        with server, runs[0], runs[1]:
            runs[0].await_line("out", "soaking")
            server.process.kill()
            for run in runs:
                self.expect(run, 0)
                self.assertIn("rendezvous server", run.err)
            self.assertIn("all as they were sent", runs[0].out)


class Roads(Case):
    """Machines of their own, between which connections are taken up again by default."""

    def goes_on(self, sites, fault, words=(), server_words=(), router=None, left=None, **variables):
        """A job over both sites to which `fault` happens. Returns what it has said."""
        of_left = left or {}
        variables = {"IMPISHIM_HEARTBEAT": "1", "IMPISHIM_LOG": "info", **variables}
        place = router or sites.left
        own = {"IMPISHIM_HOST_ADDRESS": ROUTER} if router else {}
        server = inside(place, "-server", "2", *server_words, **variables, **own)
        address = server.await_line("out", ":")
        where = [
            functools.partial(inside, sites.left, **of_left),
            functools.partial(inside, sites.right),
        ]
        words = words or ("-np", "1", *soak(4))
        left, right = systems_of(where, address, words, variables)
        with server, left, right:
            left.await_line("out", "soaking")
            fault()
            for run in (left, right, server):
                self.expect(run, 0)
            self.assertIn("all as they were sent", left.out)
            self.assertIn("is taken up again", left.err)
            return left.err + right.err

    def test_cable_out(self):
        """Nothing tells the machines of it but that there are no answers. IMPISHIM_CABLE_SECONDS
        asks for longer."""
        seconds = float(os.environ.get("IMPISHIM_CABLE_SECONDS", "12"))

        def fault():
            ip("-n", network.right, "link", "set", "cable", "down")
            # The time is what is tested: nothing happens that could be awaited.
            time.sleep(seconds)
            ip("-n", network.right, "link", "set", "cable", "up")

        with Network() as network:
            told = self.goes_on(network, fault, ("-np", "1", *soak(seconds + 4)))
            self.assertIn("its machine has not answered for 6 s", told)

    def test_one_of_two_addresses(self):
        """The first one of the left, to which alone connections are let, reaches nothing more."""

        def fault():
            sites.rules(
                "add table inet cutter",
                "add chain inet cutter road { type filter hook forward priority -1 ; }",
                "add rule inet cutter road ip daddr 10.99.0.77 drop",
                "add rule inet cutter road ip saddr 10.99.0.77 drop",
            )

        with Sites() as sites:
            ip("-n", sites.left, "address", "add", "10.99.0.77/24", "dev", "west")
            sites.admit("iifname east")
            self.goes_on(
                sites,
                fault,
                ("-np", "1", *soak(20)),
                router=sites.router,
                left={"IMPISHIM_HOST_ADDRESS": f"10.99.0.77,{LEFT}"},
            )

    def test_another_address(self):
        """The machine at the right, whose host connects, gets another address."""

        def fault():
            ip("-n", network.right, "address", "delete", "10.99.0.2/24", "dev", "cable")
            ip("-n", network.right, "address", "add", "10.99.0.9/24", "dev", "cable")

        with Network() as network:
            self.goes_on(network, fault, ("-np", "1", *soak(12)))

    def test_a_translator_that_forgets(self):
        """Its entries are gone, and it resets what it does not know."""

        def fault():
            sites.rules(
                "add table inet cutter",
                "add chain inet cutter road { type filter hook forward priority -1 ; }",
                "add rule inet cutter road ip protocol tcp reject with tcp reset",
            )
            time.sleep(1)  # as long as it forgets
            sites.rules("delete table inet cutter")

        with Sites() as sites:
            ip("-n", sites.left, "route", "delete", "default")
            sites.rules(
                "add table ip translate",
                "add chain ip translate out { type nat hook postrouting priority 100 ; }",
                "add rule ip translate out oifname west masquerade",
            )
            self.goes_on(sites, fault, router=sites.router)

    def test_through_a_relay(self):
        with Sites() as sites:
            sites.admit()
            self.goes_on(
                sites,
                lambda: reset_again_and_again(3, lambda: reset_relayed(sites.left)),
                server_words=("-relay",),
                router=sites.router,
            )

    def test_cable_out_for_too_long(self):
        with Network() as network:
            variables = {
                "IMPISHIM_HEARTBEAT": "1",
                "IMPISHIM_RECONNECT": "3",
                "IMPISHIM_LOG": "info",
            }
            server = inside(network.left, "-server", "2", **variables)
            where = [functools.partial(inside, site) for site in (network.left, network.right)]
            runs = systems_of(
                where, server.await_line("out", ":"), ("-np", "1", *soak(60)), variables
            )
            with server, runs[0], runs[1]:
                runs[0].await_line("out", "soaking")
                network.cut()
                for run in (*runs, server):
                    self.assertNotEqual(run.end(), 0, run)
                for run, other in ((runs[0], "host 1"), (runs[1], "host 0")):
                    self.assertRegex(
                        run.err,
                        rf"the connection to {other} .*its machine has not answered for 6 s; it was "
                        r"not taken up again within 3 s \(IMPISHIM_RECONNECT\)",
                        run,
                    )


if __name__ == "__main__":
    main()
