# SPDX-License-Identifier: Apache-2.0
"""Three systems, one of which is lost: the others go on if their error handlers say so."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, Server, impirun, main  # noqa: E402

# A loss is told by the end of its connections, at once.
PATIENCE = 45
KEY = {"IMPI_AUTH_KEY": "4242"}


class Survivors(Case):
    def start(self, server, client, *words):
        program = ARGUMENTS.foreign_program if client == 2 else ARGUMENTS.program
        ranks = "2" if client == 0 else "1"
        place = ("-client", str(client), server.address)
        return impirun(*place, "-np", ranks, program, *words, **KEY)

    def run_job(self, *words):
        """Runs the systems; returns the server, and the systems in their order."""
        begin = time.monotonic()
        with Server("3", **KEY) as server:
            with self.start(server, 0, *words) as one, self.start(server, 1, *words) as lost:
                with self.start(server, 2, *words) as other:
                    for system in (lost, one, other):
                        system.end()
                    server.end()
        self.assertLess(time.monotonic() - begin, PATIENCE)
        return server, one, lost, other

    def expect_survival(self, way):
        server, one, lost, other = self.run_job(way)
        for system, ranks in ((one, (0, 1)), (other, (3,))):
            self.assertEqual(system.process.returncode, 0, system)
            for rank in ranks:
                self.assertRegex(system.out, rf"rank {rank} ended its wait .*, and went on", system)
        self.assertNotEqual(lost.process.returncode, 0, lost)
        self.assertNotEqual(server.process.returncode, 0, server)
        self.assertRegex(server.err, r"client 1 at .* was lost", server)

    def test_receive(self):
        self.expect_survival("recv")

    def test_probe(self):
        self.expect_survival("probe")

    def test_synchronous_send(self):
        self.expect_survival("ssend")

    def test_collective(self):
        self.expect_survival("allreduce")

    def test_duplicate(self):
        self.expect_survival("dup")

    def test_group_with_the_lost(self):
        self.expect_survival("create_group")

    def expect_end(self, way, object):
        """What cannot go on without the lost system ends the job, with a message that names both."""
        _, one, lost, other = self.run_job(way)
        for system in (one, lost, other):
            self.assertNotEqual(system.process.returncode, 0, system)
        text = f"system 1 is lost: .*; {object} cannot go on without its processes"
        self.assertRegex(one.err + other.err, text)

    def test_window(self):
        self.expect_end("window", "a window")

    def test_file(self):
        self.expect_end("file", "an open file")

    def test_one_that_does_not_go_on_ends_all(self):
        """The last rank has the default error handler."""
        _, one, lost, other = self.run_job("recv", "fatal")
        for system in (one, lost, other):
            self.assertNotEqual(system.process.returncode, 0, system)
        self.assertRegex(other.err, "system 1.* has died", other)


if __name__ == "__main__":
    main()
