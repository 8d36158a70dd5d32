# SPDX-License-Identifier: Apache-2.0
"""impirun with server and all systems on this machine: outputs, statuses, and ends that leave
nothing behind."""

import contextlib
import os
import pathlib
import shlex
import signal
import tempfile

from support import ARGUMENTS, NOHUP, Case, Run, blocked_signals, impirun, main, whole_lines

MPI = "openmpi" if "openmpi" in ARGUMENTS.mpiexec else "mpich"


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
        self.assertEqual(
            whole_lines(run.out), ["rank 0 of 3 [a]", "rank 1 of 3 [:b]", "rank 2 of 3 [:b]"]
        )
        for rank in range(3):
            self.assertEqual(run.err.count(f"error output of rank {rank}"), 1, run)

    def test_ranks_split_over_systems(self):
        run = self.expect(self.start("-systems", 2, "-n", 3, ARGUMENTS.program, "hello"), 0)
        self.assertEqual(whole_lines(run.out), [f"rank {rank} of 3" for rank in range(3)])

    def test_input_goes_to_the_first_system(self):
        reader, writer = os.pipe()
        os.write(writer, b"one\ntwo\n")
        os.close(writer)
        run = self.resources.enter_context(
            Run(ARGUMENTS.impirun, *sections((1, "echo"), (1, "echo")), stdin=reader)
        )
        os.close(reader)
        self.expect(run, 0)
        self.assertEqual(run.lines["out"], ["read: one", "read: two"])

    def test_variables_of_another_key_do_not_matter(self):
        run = self.expect(
            self.start(*sections((1, "hello"), (1, "hello")), IMPI_AUTH_KEY="5", IMPI_AUTH_NONE=""),
            0,
        )
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
        ranks = [
            each for each in run.processes() if os.path.realpath(f"/proc/{each}/exe") == program
        ]
        self.assertEqual(len(ranks), 3, run)
        os.kill(ranks[0], signal.SIGKILL)
        self.expect(run, 128 + signal.SIGKILL)

    def test_rank_that_kills_itself_by_a_signal(self):
        """Whichever system tells first, and whatever the launchers make of it."""
        for number in (signal.SIGABRT, signal.SIGSEGV):
            self.expect(self.start(*sections((1, "wait"), (2, "raise", int(number)))), 128 + number)

    def test_lines_of_all_ranks_stay_whole(self):
        count = 2000
        run = self.expect(self.start(*sections((2, "lines", count), (2, "lines", count))), 0)
        expected = [
            f"rank {rank} line {i:06}, which is long enough to be taken apart <{rank}>"
            for rank in range(4)
            for i in range(count)
        ]
        self.assertEqual(sorted(run.lines["out"]), expected)

    def test_good_run_says_nothing(self):
        run = self.expect(self.start(*sections((1, "lines", 1), (1, "lines", 1))), 0)
        self.assertEqual(run.err, "")

    def test_who_has_joined_is_told_with_v(self):
        run = self.expect(self.start("-v", *sections((1, "lines", 1), (1, "lines", 1))), 0)
        self.assertEqual(run.lines["err"][-1], "impirun: 2 of 2 systems have joined")

    def late_first_system(self, *options):
        """System 1 joins at once, system 0 when its input ends: when the descriptor that is
        returned is closed."""
        reader, writer = os.pipe()
        run = self.resources.enter_context(
            Run(
                ARGUMENTS.impirun,
                *options,
                "-mpi",
                MPI,
                "-np",
                1,
                "sh",
                "-c",
                f"cat; exec {shlex.quote(ARGUMENTS.program)} lines 1",
                ":",
                *sections((1, "lines", 1)),
                stdin=reader,
            )
        )
        os.close(reader)
        return run, writer

    def test_who_has_joined_is_told_if_one_is_late(self):
        run, writer = self.late_first_system()
        self.assertEqual(
            run.await_line("err", "impirun: "), "impirun: 1 of 2 systems have joined; missing: 0"
        )
        os.close(writer)
        self.expect(run, 0)
        self.assertEqual(run.lines["err"][-1], "impirun: 2 of 2 systems have joined")

    def test_script_whose_program_needs_the_other_mpi(self):
        """impirun cannot know; the library refuses before it would crash."""
        other = "mpich" if MPI == "openmpi" else "openmpi"
        library = (
            pathlib.Path(ARGUMENTS.impirun).parent.parent
            / "lib"
            / "impishim"
            / other
            / "libimpishim.so"
        )
        if not library.exists():
            self.skipTest(f"{library} is not built")
        section = ["-np", 1, "sh", "-c", f"exec {shlex.quote(ARGUMENTS.program)} lines 1"]
        run = self.expect(self.start("-mpi", other, *section, ":", *section), 1)
        self.assertIn(f"use the other build (impirun -mpi {MPI})", run.err)

    def server_of(self, run):
        """The rendezvous server's process: another impirun."""
        own = os.path.realpath(ARGUMENTS.impirun)
        servers = [
            each
            for each in run.processes()
            if each != run.process.pid and os.path.realpath(f"/proc/{each}/exe") == own
        ]
        self.assertEqual(len(servers), 1, run)
        return servers[0]

    def test_server_that_dies_leaves_a_begun_job_alone(self):
        reader, writer = os.pipe()
        run = self.resources.enter_context(
            Run(ARGUMENTS.impirun, *sections((1, "echo"), (1, "echo")), stdin=reader)
        )
        os.close(reader)
        os.write(writer, b"one\n")
        run.await_line("out", "read: one")
        os.kill(self.server_of(run), signal.SIGKILL)
        self.assertIn("the rendezvous server ended with signal 9", run.await_line("err", "server"))
        os.write(writer, b"two\n")
        run.await_line("out", "read: two")
        os.close(writer)
        self.expect(run, 1)
        self.assertNotIn("ending the job", run.err)

    def test_server_that_dies_before_all_have_joined(self):
        run, writer = self.late_first_system("-v")
        run.await_line("err", "1 of 2")
        os.kill(self.server_of(run), signal.SIGKILL)
        run.await_line("err", "the rendezvous server ended with signal 9")
        os.close(writer)
        self.assertNotEqual(run.end(), 0, run)
        self.assertEqual(run.out, "")

    def in_shell(self, text, *words):
        """impirun with `words` in a shell's command, in place of @."""
        command = " ".join(shlex.quote(str(word)) for word in (ARGUMENTS.impirun, *words))
        return self.resources.enter_context(Run("bash", "-c", text.replace("@", command)))

    def test_output_that_cannot_be_written(self):
        run = self.expect(self.in_shell("@ > /dev/full", *sections((1, "hello"), (1, "hello"))), 1)
        self.assertEqual(
            run.err.count("impirun: cannot write standard output: No space left on device"), 1, run
        )
        for words in (("-new-key",), ("-help",), ("-version",)):
            run = self.expect(self.in_shell("@ > /dev/full", *words), 1)
            self.assertEqual(
                run.err, "impirun: cannot write standard output: No space left on device"
            )
        self.expect(self.in_shell("IMPI_AUTH_NONE= @ > /dev/full", "-server", 1), 1)

    def test_output_whose_reader_has_gone(self):
        """The job, which would wait for ever, ends."""
        run = self.expect(
            self.in_shell("@ | true; exit ${PIPESTATUS[0]}", *sections((1, "wait"), (1, "wait"))),
            128 + signal.SIGPIPE,
        )
        self.assertIn("cannot write standard output: its reader has gone", run.err)

    def test_system_that_ends_without_joining(self):
        """A status of 0 is no failure, but the others would wait for ever."""
        run = self.start(*sections((1, "exit_early", 0), (1, "hello"), (1, "hello")))
        self.expect(run, 1)
        self.assertEqual(run.out, "")
        self.assertIn("system 0 ended before it had joined", run.err)

    def test_systems_that_all_end_without_joining(self):
        """What `program --help` does is no failure, but it is told."""
        run = self.expect(self.start(*sections((2, "exit_early", 0), (1, "exit_early", 0))), 0)
        self.assertIn("impirun: no program has joined", run.err)
        self.expect(self.start(*sections((1, "exit_early", 6))), 6)
        run = self.expect(self.start("-mpi", MPI, "-np", 1, "true", ":", "-np", 1, "true"), 0)
        self.assertIn("impirun: no program has joined", run.err)

    def test_launchers_files_are_apart_and_gone_at_the_end(self):
        """Open MPI's launchers that share a folder remove it from under each other; others need
        none."""
        folder = self.resources.enter_context(tempfile.TemporaryDirectory())
        run = self.start(*sections((1, "wait"), (1, "wait")), TMPDIR=folder)
        run.await_times("out", "ready", 2)
        own = [
            os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("impirun-")
        ]
        expected = [["0", "1", "output"]] if "openmpi" in ARGUMENTS.mpiexec else []
        self.assertEqual([sorted(os.listdir(each)) for each in own], expected, run)
        run.process.send_signal(signal.SIGTERM)
        self.expect(run, 128 + signal.SIGTERM)
        self.assertFalse(any(os.path.exists(each) for each in own), run)

    def ended_by(self, number):
        run = self.start(*sections((2, "wait"), (1, "wait")))
        run.await_times("out", "ready", 3)
        self.assertGreaterEqual(
            len(run.processes()), 6, run
        )  # impirun, server, two launchers, three ranks, proxies
        run.process.send_signal(number)
        return run

    def test_interrupt_ends_everything(self):
        self.expect(self.ended_by(signal.SIGINT), 128 + signal.SIGINT)

    def test_termination_ends_everything(self):
        self.expect(self.ended_by(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_signals_that_the_caller_ignores(self):
        """nohup(1) ignores SIGHUP; the children's ends are seen even if SIGCHLD is ignored."""
        run = self.resources.enter_context(
            Run(
                *["sh", "-c", """trap '' HUP CHLD; exec "$0" "$@" """, ARGUMENTS.impirun],
                *sections((1, "wait"), (1, "wait")),
            )
        )
        run.await_times("out", "ready", 2)
        run.process.send_signal(signal.SIGHUP)
        run.process.send_signal(signal.SIGTERM)
        self.expect(run, 128 + signal.SIGTERM)

    def test_a_name_server_leaves_ignored_signals_ignored(self):
        for words, expected in (
            ((), {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}),
            (NOHUP, {signal.SIGINT, signal.SIGTERM}),
        ):
            with Run(
                *words, ARGUMENTS.impirun, "-name-server", IMPISHIM_HOST_ADDRESS="127.0.0.1"
            ) as run:
                run.await_line("out", "IMPISHIM_NAME_SERVER=")
                self.assertEqual(blocked_signals(run), expected)
                run.process.send_signal(signal.SIGTERM)
                self.expect(run, 0)

    def test_interrupt_before_all_have_joined(self):
        """`sleep` stands for a program that is long before its MPI_Init."""
        run = self.start("-v", "-mpi", MPI, *sections((1, "hello")), ":", "-np", 1, "sleep", 1000)
        run.await_line("err", "1 of 2")
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)

    def test_killed_impirun_leaves_nothing(self):
        self.expect(self.ended_by(signal.SIGKILL), -signal.SIGKILL)

    def test_help_and_version(self):
        for word in ("-help", "--help", "-h"):
            run = self.expect(self.start(word), 0)
            for option in (
                "-server",
                "-client",
                "-np",
                "-systems",
                "-auth",
                "-timeout",
                "-port",
                "-mpi",
                "-host-procs",
                "-gateway",
                "-new-key",
                "-v",
            ):
                self.assertIn(option, run.out)
        self.assertRegex(
            self.expect(self.start("-version"), 0).out, r"^impirun \d+\.\d+\.\d+ \(IMPI 0\.0\)$"
        )


if __name__ == "__main__":
    main()
