# SPDX-License-Identifier: Apache-2.0
"""Jobs with a foreign implementation of IMPI (the other files of this folder) and a real program on
this library.

Fails with the first departure from the specification that the foreign side sees. """

import contextlib
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, LONG, Case, Server, impirun, main  # noqa: E402
from run_system_test import LAUNCHER_VARIABLES  # noqa: E402

import scenarios  # noqa: E402
import startup  # noqa: E402
from foreign_peer import ForeignClient, parameters_of  # noqa: E402

POINT_TO_POINT = ("short", "synchronous", "long", "cancel", "probe", "types")
ALL = POINT_TO_POINT + ("collectives", "unmatched")
KEY = 1234567890123456789
AS_LAM = {"IMPISHIM_FOREIGN": "lam"}


def environment_of(key):
    """Everything listens on the loopback only."""
    return {
        "IMPISHIM_HOST_ADDRESS": "127.0.0.1",
        **({"IMPI_AUTH_NONE": "1"} if key is None else {"IMPI_AUTH_KEY": str(key)}),
    }


class ForeignCase(Case):
    """A job of foreign clients and systems of this library."""

    def setUp(self):
        self.runs, self.server = [], None
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def play(self, server, clients, systems, names, key=None, lam=False, variables=None, **values):
        """Foreign clients of these numbers, and systems as {client: (program, ranks)}, play the
        scenarios `names`."""
        marks = startup.Parameters(**values)
        peers = [
            ForeignClient(server, client, names, parameters_of(client, **values), key, lam)
            for client in clients
        ]
        environment = {**LAUNCHER_VARIABLES, **environment_of(key), **(variables or {})}
        foreign_rank = sum(systems.get(client, ("", 1))[1] for client in range(clients[0]))
        runs = [
            self.started(
                impirun(
                    "-client",
                    client,
                    server,
                    "-np",
                    count,
                    program,
                    foreign_rank,
                    scenarios.cancels(marks),
                    *names,
                    **environment,
                )
            )
            for client, (program, count) in systems.items()
        ]
        for peer in peers:
            peer.start()
        for peer in peers:
            peer.join(LONG)
        departures = self.server.departures if self.server else []
        if departures := departures + [peer.departure for peer in peers if peer.departure]:
            self.fail("\n".join(departures + [self.last_words(run) for run in self.runs]))
        for run in runs:
            self.expect(run, 0)
        out = "\n".join(run.out for run in runs)
        for word in (*names, "finalized"):
            self.assertEqual(
                out.count(f": {word}"), sum(count for _, count in systems.values()), out
            )

    @staticmethod
    def last_words(run):
        """What a system or server says when the foreign implementation has gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.process.wait(5)
        run.process.terminate()
        return str(run)

    def started(self, run):
        self.runs.append(self.resources.enter_context(run))
        return run

    def real_server(self, clients, key=None):
        return self.started(Server(clients, **environment_of(key)))


class Foreign(ForeignCase):
    def test_as_client_0(self):
        server = self.real_server(2)
        self.play(server.address, [0], {1: (ARGUMENTS.program, 1)}, ALL)
        self.expect(server, 0)

    def test_as_client_1(self):
        """Two ranks of the system, of which each has counters of its own; the address as
        ::ffff:a.b.c.d; a key."""
        server = self.real_server(2, KEY)
        self.play(server.address, [1], {0: (ARGUMENTS.program, 2)}, ALL, KEY, mapped=True)
        self.expect(server, 0)

    def test_as_server(self):
        self.server = startup.RendezvousServer(2, KEY)
        self.server.start()
        self.play(self.server.address, [1], {0: (ARGUMENTS.program, 1)}, ALL, KEY)
        self.server.join(LONG)
        self.assertEqual(self.server.departures, [])

    def test_as_lam(self):
        server = self.real_server(2)
        self.play(server.address, [1], {0: (ARGUMENTS.program, 2)}, ALL, lam=True, variables=AS_LAM)
        self.expect(server, 0)

    def test_between_two_systems(self):
        """The second system has the other MPI; between the two the library speaks in its own
        ways."""
        server = self.real_server(3)
        self.play(
            server.address, [1], {0: (ARGUMENTS.program, 1), 2: (ARGUMENTS.foreign_program, 1)}, ALL
        )
        self.expect(server, 0)


class ForeignOnce(ForeignCase):
    """What no MPI library has a part in."""

    def test_acknowledging_every_packet(self):
        """A message that is not received leaves no room, for CANCEL neither."""
        names = [name for name in ALL if name not in ("cancel", "unmatched")]
        server = self.real_server(2)
        self.play(
            server.address,
            [0],
            {1: (ARGUMENTS.program, 1)},
            names,
            ackmark=1,
            hiwater=1,
            datalen=1000,
        )
        self.expect(server, 0)

    def test_odd_marks(self):
        server = self.real_server(2)
        self.play(
            server.address,
            [1],
            {0: (ARGUMENTS.program, 1)},
            ALL,
            ackmark=3,
            hiwater=7,
            datalen=5001,
        )
        self.expect(server, 0)

    def four_clients(self, lam, variables):
        server = self.real_server(4)
        self.play(
            server.address,
            [0, 1, 2],
            {3: (ARGUMENTS.program, 2)},
            ["collectives"],
            lam=lam,
            maxlinear=2,
            variables={"IMPISHIM_COLL_MAXLINEAR": "2", **variables},
        )
        self.expect(server, 0)

    def test_trees_of_four_clients(self):
        self.four_clients(False, {})

    def test_as_lam_four_clients_are_linear(self):
        self.four_clients(True, AS_LAM)

    def test_lam_needs_its_setting(self):
        server = self.real_server(2)
        with self.assertRaisesRegex(AssertionError, "rank 0 sent short .* Native has"):
            self.play(server.address, [1], {0: (ARGUMENTS.program, 1)}, ["types"], lam=True)

    def test_setting_that_is_none(self):
        run = self.started(
            impirun(
                "-np",
                1,
                ARGUMENTS.program,
                ":",
                "-np",
                1,
                ARGUMENTS.program,
                IMPISHIM_FOREIGN="LAM",
            )
        )
        self.assertNotEqual(run.end(), 0, run)
        self.assertIn("IMPISHIM_FOREIGN=LAM: use strict (default) or lam", run.err)

    def test_settings_that_differ(self):
        server = self.real_server(2)
        runs = [
            self.started(
                impirun(
                    "-client",
                    client,
                    server.address,
                    "-np",
                    1,
                    ARGUMENTS.program,
                    **environment_of(None),
                    **setting,
                )
            )
            for client, setting in enumerate((AS_LAM, {}))
        ]
        for run in runs:
            self.assertNotEqual(run.end(), 0, run)
            self.assertIn("IMPISHIM_FOREIGN", run.err)
        self.assertNotEqual(server.end(), 0, server)


if __name__ == "__main__":
    main()
