"""Jobs with a foreign implementation of IMPI (the other files of this folder) and a real program on this library.

Fails with the first departure from the specification that the foreign side sees.
"""

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


def environment_of(key):
    """Everything listens on the loopback only."""
    return {"IMPISHIM_HOST_ADDRESS": "127.0.0.1", **({"IMPI_AUTH_NONE": "1"} if key is None else {"IMPI_AUTH_KEY": str(key)})}


class Foreign(Case):
    """A job of foreign clients and systems of this library."""

    def setUp(self):
        self.runs, self.server = [], None
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def play(self, server, clients, systems, names, key=None, lam=False, variables=None, **values):
        """Foreign clients of these numbers, and systems as {client: (program, ranks)}, play the scenarios `names`."""
        marks = startup.Parameters(**values)
        peers = [ForeignClient(server, client, names, parameters_of(client, **values), key, lam) for client in clients]
        environment = {**LAUNCHER_VARIABLES, **environment_of(key), **(variables or {})}
        foreign_rank = sum(systems.get(client, ("", 1))[1] for client in range(clients[0]))
        runs = [self.started(impirun("-client", client, server, "-np", count, program, foreign_rank, scenarios.cancels(marks), *names,
                                     **environment))
                for client, (program, count) in systems.items()]
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
            self.assertEqual(out.count(f": {word}"), sum(count for _, count in systems.values()), out)

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

    def test_as_client_0(self):
        server = self.real_server(2)
        self.play(server.address, [0], {1: (ARGUMENTS.program, 1)}, ALL)
        self.expect(server, 0)

    def test_as_client_1(self):
        """Two ranks of the system, of which each has counters of its own; the address as ::ffff:a.b.c.d; a key."""
        server = self.real_server(2, KEY)
        self.play(server.address, [1], {0: (ARGUMENTS.program, 2)}, ALL, KEY, mapped=True)
        self.expect(server, 0)

    def test_as_server(self):
        self.server = startup.RendezvousServer(2, KEY)
        self.server.start()
        self.play(self.server.address, [1], {0: (ARGUMENTS.program, 1)}, ("short", "collectives"), KEY)
        self.server.join(LONG)
        self.assertEqual(self.server.departures, [])


if __name__ == "__main__":
    main()
