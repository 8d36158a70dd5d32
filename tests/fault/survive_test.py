# SPDX-License-Identifier: Apache-2.0
"""Jobs that go on when a system is lost: --program is left_behind and --foreign-program shrinking, of
one MPI library or of two (IMPISHIM_TEST_SECOND: the same programs of the second one)."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from network_test import Network, inside  # noqa: E402
from support import ARGUMENTS, Case, Server, impirun, main  # noqa: E402

# The programs of systems 0, 2, ... and those of 1, 3, ...
SECOND = os.environ.get("IMPISHIM_TEST_SECOND", "").split(":")
LEFT_BEHIND = [ARGUMENTS.program, SECOND[0] or ARGUMENTS.program]
SHRINKING = [ARGUMENTS.foreign_program, SECOND[-1] or ARGUMENTS.foreign_program]
KILLED = 137


def job(programs, shape, *words):
    sections = []
    for system, ranks in enumerate(shape):
        sections += [":"] if system else []
        sections += ["-np", str(ranks), programs[system % 2], *words]
    return sections


class Survive(Case):
    def survivors_go_on(self, shape, *words):
        with impirun(*job(LEFT_BEHIND, shape, *words)) as run:
            self.assertNotEqual(run.end(), 0, run)
            survivors = sum(shape) - shape[1]
            self.assertEqual(run.out.count("went on"), survivors, run)
            self.assertEqual(run.err.count("the others go on without it"), 1, run)

    def shrinks_to(self, left, shape, plan):
        with impirun(*job(SHRINKING, shape, plan)) as run:
            self.assertNotEqual(run.end(), 0, run)
            line = f"ends with {left} of {len(plan)}"
            self.assertEqual(run.out.count(line), left, run)

    def test_receive(self):
        self.survivors_go_on((1, 1, 1), "recv")

    def test_probes(self):
        for way in ("probe", "mprobe", "iprobe"):
            self.survivors_go_on((1, 1, 1), way)

    def test_sends(self):
        for way in ("ssend", "send"):
            self.survivors_go_on((1, 1, 1), way)

    def test_requests(self):
        for way in ("waitall", "test"):
            self.survivors_go_on((2, 1, 1), way)

    def test_any_source(self):
        for shape in ((1, 1, 1), (2, 1, 1)):
            self.survivors_go_on(shape, "any")

    def test_collectives(self):
        for way in ("allreduce", "ibarrier"):
            self.survivors_go_on((2, 1, 2), way)

    def test_creations(self):
        for way in ("dup", "split", "group"):
            self.survivors_go_on((2, 1, 1), way)

    def test_lost_system_of_several_processes(self):
        self.survivors_go_on((1, 2, 1), "recv")

    def test_error_handler_of_the_program(self):
        self.survivors_go_on((1, 1, 1), "recv", "handler")

    def test_one_fatal_process_ends_the_job(self):
        with impirun(*job(LEFT_BEHIND, (1, 1, 1), "recv", "fatal")) as run:
            self.assertNotEqual(run.end(), 0, run)
            self.assertNotIn("went on", run.out, run)

    def test_window_ends_the_job(self):
        with impirun(*job(LEFT_BEHIND, (1, 1, 1), "window")) as run:
            self.assertNotEqual(run.end(), 0, run)
            self.assertIn("cannot go on without it", run.err, run)

    def test_open_objects_end_the_job(self):
        """What cannot go on without the lost system ends the job, with a message that names both."""
        for way, object in (("open_window", "a window"), ("open_file", "an open file")):
            with impirun(*job(LEFT_BEHIND, (1, 1, 1), way)) as run:
                self.assertNotEqual(run.end(), 0, run)
                text = f"system 1 is lost: .*; {object} cannot go on without its processes"
                self.assertRegex(run.err, text, run)
                self.assertNotIn("went on", run.out, run)

    def test_communicator_from_groups_ends_the_job(self):
        """The others wait in a call that has no communicator."""
        with impirun(*job(LEFT_BEHIND, (1, 1, 1), "from_group")) as run:
            self.assertNotEqual(run.end(), 0, run)
            if "no such function" in run.out:
                self.skipTest("Open MPI 4 has no MPI_Comm_create_from_group")
            # The meeting or the loss itself is found first.
            ends = "the group has processes of a lost system|cannot go on without it"
            self.assertRegex(run.err, ends, run)

    def test_launchers_of_their_own(self):
        """A launcher for each system, and a server: the survivors' launchers end with success."""
        key = {"IMPI_AUTH_NONE": "1"}
        with Server("3", **key) as server:
            runs = [
                impirun("-client", n, server.address, "-np", "1", LEFT_BEHIND[n % 2], "recv", **key)
                for n in range(3)
            ]
            with runs[0], runs[1], runs[2]:
                statuses = [run.end() for run in runs]
                self.assertEqual((statuses[0], statuses[2]), (0, 0), f"{runs[0]}\n{runs[2]}")
                self.assertNotEqual(statuses[1], 0, runs[1])
                self.assertEqual(server.end(), 1, server)
                self.assertEqual(server.err.count("system 1 at"), 2, server)
                self.assertRegex(server.err, r"system 1 at .* was lost", server)
                self.assertIn("the others have finished without it", server.err, server)

    def test_cut_network(self):
        """Systems 0 and 2 stand on one side of a network that is cut, system 1 on the other. The
        roads are tried again for a while first."""
        tries = {"IMPISHIM_RECONNECT": "2", "IMPISHIM_HEARTBEAT": "1"}
        with Network() as network:
            server = inside(network.left, "-server", "3", **tries)
            address = server.await_line("out", ":")
            sides = (network.left, network.right, network.left)
            runs = [
                inside(
                    side, "-client", str(n), address, "-np", "1", LEFT_BEHIND[n % 2], "cut", **tries
                )
                for n, side in enumerate(sides)
            ]
            with server, runs[0], runs[1], runs[2]:
                runs[1].await_line("out", "waits")
                network.cut()
                for run in (runs[0], runs[2]):
                    self.assertEqual(run.end(), 0, run)
                    self.assertIn("went on", run.out, run)
                self.assertEqual(server.end(), 1, server)
                runs[1].end()

    def test_shrink(self):
        self.shrinks_to(2, (1, 1, 1), "-w-")

    def test_shrink_with_several_processes(self):
        self.shrinks_to(4, (2, 1, 2), "-w-")

    def test_loss_of_the_first_system(self):
        self.shrinks_to(2, (1, 1, 1), "w--")

    def test_second_loss_at_each_step(self):
        for when in "nrs":
            self.shrinks_to(3, (2, 1, 1, 1), f"-w-{when}")


if __name__ == "__main__":
    main()
