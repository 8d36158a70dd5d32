"""impirun with server and all systems on this machine: outputs, statuses, and ends that leave nothing behind."""

import contextlib
import os
import signal
import tempfile

from support import ARGUMENTS, Case, Run, impirun, main, whole_lines


def sections(*commands):
    words = []
    for procs, *command in commands:
        words += ([":"] if words else []) + ["-np", procs, ARGUMENTS.program, *command]
    return words


class LocalTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def start(self, *words, **environment):
        return self.resources.enter_context(impirun(*words, **environment))

    def test_output_is_passed_through(self):
        run = self.expect(self.start(*sections((1, "hello", "a"), (2, "hello", ":b"))), 0)
        self.assertEqual(whole_lines(run.out), ["rank 0 of 3 [a]", "rank 1 of 3 [:b]", "rank 2 of 3 [:b]"])
        for rank in range(3):
            self.assertEqual(run.err.count(f"error output of rank {rank}"), 1, run)

    def test_ranks_split_over_systems(self):
        run = self.expect(self.start("-systems", 2, "-n", 3, ARGUMENTS.program, "hello"), 0)
        self.assertEqual(whole_lines(run.out), [f"rank {rank} of 3" for rank in range(3)])
        self.assertIn("2 of 2 clients have joined", run.err)

    def test_input_goes_to_the_first_system(self):
        reader, writer = os.pipe()
        os.write(writer, b"one\ntwo\n")
        os.close(writer)
        run = self.resources.enter_context(Run(ARGUMENTS.impirun, *sections((1, "echo"), (1, "echo")), stdin=reader))
        os.close(reader)
        self.expect(run, 0)
        self.assertEqual(run.lines["out"], ["read: one", "read: two"])

    def test_variables_of_another_key_do_not_matter(self):
        run = self.expect(self.start(*sections((1, "hello"), (1, "hello")), IMPI_AUTH_KEY="5", IMPI_AUTH_NONE=""), 0)
        self.assertNotIn("Warning", run.err)

    def test_status_of_the_failing_system(self):
        run = self.start(*sections((1, "status", 0), (1, "status", 9)))
        self.expect(run, 9)
        self.assertIn("system 1 ended with status 9", run.err)

    def test_failing_system_ends_those_that_wait_for_it(self):
        run = self.start(*sections((1, "exit_early", 3), (2, "wait"), (1, "wait")))
        self.expect(run, 3)
        self.assertIn("system 0 ended with status 3", run.err)

    def test_killed_rank_ends_the_job(self):
        run = self.start(*sections((1, "wait"), (2, "wait")))
        run.await_times("out", "ready", 3)
        program = os.path.realpath(ARGUMENTS.program)
        ranks = [each for each in run.processes() if os.path.realpath(f"/proc/{each}/exe") == program]
        self.assertEqual(len(ranks), 3, run)
        os.kill(ranks[0], signal.SIGKILL)
        self.assertNotEqual(run.end(), 0, run)

    def test_system_that_ends_without_joining(self):
        """A status of 0 is no failure, but the others would wait for ever."""
        run = self.start(*sections((1, "exit_early", 0), (1, "hello"), (1, "hello")))
        self.expect(run, 1)
        self.assertEqual(run.out, "")
        self.assertIn("client 0 ended before it had joined", run.err)

    def test_systems_that_all_end_without_joining(self):
        """What `program --help` does is no failure."""
        self.expect(self.start(*sections((2, "exit_early", 0), (1, "exit_early", 0))), 0)
        self.expect(self.start(*sections((1, "exit_early", 0))), 0)
        self.expect(self.start(*sections((1, "exit_early", 6))), 6)

    def test_launchers_files_are_apart_and_gone_at_the_end(self):
        """Open MPI's launchers that share a folder remove it from under each other; others need none."""
        folder = self.resources.enter_context(tempfile.TemporaryDirectory())
        run = self.start(*sections((1, "wait"), (1, "wait")), TMPDIR=folder)
        run.await_times("out", "ready", 2)
        own = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("impirun-")]
        expected = [["0", "1"]] if "openmpi" in ARGUMENTS.mpiexec else []
        self.assertEqual([sorted(os.listdir(each)) for each in own], expected, run)
        run.process.send_signal(signal.SIGTERM)
        self.expect(run, 128 + signal.SIGTERM)
        self.assertFalse(any(os.path.exists(each) for each in own), run)

    def ended_by(self, number):
        run = self.start(*sections((2, "wait"), (1, "wait")))
        run.await_times("out", "ready", 3)
        self.assertGreaterEqual(len(run.processes()), 6, run)  # impirun, server, two launchers, three ranks, proxies
        run.process.send_signal(number)
        return run

    def test_interrupt_ends_everything(self):
        self.expect(self.ended_by(signal.SIGINT), 128 + signal.SIGINT)

    def test_termination_ends_everything(self):
        self.expect(self.ended_by(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_interrupt_before_all_have_joined(self):
        """`sleep` stands for a program that is long before its MPI_Init."""
        mpi = "openmpi" if "openmpi" in ARGUMENTS.mpiexec else "mpich"
        run = self.start("-mpi", mpi, *sections((1, "hello")), ":", "-np", 1, "sleep", 1000)
        run.await_line("err", "1 of 2")
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)

    def test_killed_impirun_leaves_nothing(self):
        self.expect(self.ended_by(signal.SIGKILL), -signal.SIGKILL)

    def test_help_and_version(self):
        run = self.expect(self.start("-help"), 0)
        for option in ("-server", "-client", "-np", "-systems", "-auth", "-timeout", "-port", "-mpi", "-host-procs", "-gateway"):
            self.assertIn(option, run.out)
        self.assertRegex(self.expect(self.start("-version"), 0).out, r"^impirun \d+\.\d+\.\d+ \(IMPI 0\.0\)$")


if __name__ == "__main__":
    main()
