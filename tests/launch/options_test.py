# SPDX-License-Identifier: Apache-2.0
"""The options of impirun that people know from mpiexec, through the real launchers."""

import contextlib
import os
import pathlib
import signal
import tempfile

from support import ARGUMENTS, Case, Server, impirun, main
from run_system_test import LAUNCHER_VARIABLES

NONE = {"IMPI_AUTH_NONE": "1"}
OPEN_MPI = "openmpi" in ARGUMENTS.mpiexec
TIMED_OUT = 124


def labelled(run, name="out"):
    return sorted(line for line in run.lines[name] if line)


class OptionsTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-options-"))
        ).resolve()

    def start(self, *words, **environment):
        return self.resources.enter_context(impirun(*words, **environment))

    def test_variables_reach_the_ranks_of_their_section(self):
        show = [ARGUMENTS.program, "show", "A", "B", "C"]
        run = self.expect(
            self.start(
                *["-genv", "A", "1", "-np", 1, "-env", "B", "two words", *show, ":"],
                *["-np", 1, "-x", "B=-3", "-x", "C", *show],
                C="own",
            ),
            0,
        )
        lines = labelled(run)
        self.assertTrue(lines[0].endswith(" A=1 B=two words C=own"), run)
        self.assertTrue(lines[1].endswith(" A=1 B=-3 C=own"), run)

    def test_working_directory_of_each_section(self):
        show = [ARGUMENTS.program, "show"]
        run = self.expect(
            self.start("-np", 1, "-wdir", self.folder, *show, ":", "-np", 1, "-wdir", "/", *show), 0
        )
        self.assertEqual(labelled(run), [f"rank 0 in {self.folder}", "rank 1 in /"])

    def test_program_is_found_in_the_working_directory(self):
        (self.folder / "here").symlink_to(ARGUMENTS.program)
        run = self.expect(self.start("-np", 1, "-wdir", self.folder, "./here", "hello"), 0)
        self.assertEqual(labelled(run), ["rank 0 of 1"])

    def test_label_shows_system_and_joined_rank(self):
        hello = ["-np", 2, ARGUMENTS.program, "hello"]
        run = self.expect(self.start("-label", *hello, ":", *hello), 0)
        self.assertEqual(
            labelled(run), [f"[{rank // 2}:{rank}] rank {rank} of 4" for rank in range(4)]
        )
        self.assertEqual(
            labelled(run, "err"),
            [f"[{rank // 2}:{rank}] error output of rank {rank}" for rank in range(4)],
        )

    def test_label_of_a_client_shows_the_joined_rank(self):
        with Server(2, **NONE) as server:
            hello = ["-np", 2, ARGUMENTS.program, "hello"]
            first = self.start("-client", 0, server.address, "-l", *hello, **NONE)
            second = self.start("-client", 1, server.address, "-l", *hello, **NONE)
            self.expect(first, 0)
            self.expect(second, 0)
            self.expect(server, 0)
        self.assertEqual(labelled(first), ["[0:0] rank 0 of 4", "[0:1] rank 1 of 4"])
        self.assertEqual(labelled(second), ["[1:2] rank 2 of 4", "[1:3] rank 3 of 4"])

    def test_label_of_a_launcher_of_ones_own(self):
        with Server(1, **NONE) as server:
            words = [ARGUMENTS.mpiexec, "-n", "2", ARGUMENTS.program, "hello"]
            variables = {**LAUNCHER_VARIABLES, **NONE}
            run = self.start("-client", 0, server.address, "-label", "--", *words, **variables)
            self.expect(run, 0)
            self.expect(server, 0)
        self.assertEqual(labelled(run), ["[0:0] rank 0 of 2", "[0:1] rank 1 of 2"])

    def test_rank_beyond_this_machine_labels_its_lines_itself(self):
        """Where there is no socket of impirun's."""
        program = "echo out; echo err >&2; exit 3"
        words = ["-rank-output", "system=1", "first=4", "label", "--", "sh", "-c", program]
        run = self.expect(self.start(*words, PMI_RANK="2"), 3)
        self.assertEqual((run.lines["out"], run.lines["err"]), (["[1:6] out"], ["[1:6] err"]))
        words = ["-rank-output", "system=1", "label", "--", "sh", "-c", "echo x; kill -USR1 $$"]
        run = self.expect(self.start(*words, PMI_RANK="2"), -signal.SIGUSR1)
        self.assertEqual(run.lines["out"], ["[1:+2] x"])

    def test_output_files_by_pattern(self):
        hello = ["-np", 2, ARGUMENTS.program, "hello"]
        patterns = ["-outfile-pattern", "out.%s.%n.%r", "-errfile-pattern", self.folder / "err.%r"]
        run = self.expect(
            self.start(
                *patterns,
                "-np",
                2,
                "-wdir",
                self.folder,
                *hello[2:],
                ":",
                "-wdir",
                self.folder,
                *hello,
            ),
            0,
        )
        self.assertEqual(labelled(run), [])
        for rank in range(4):
            text = (self.folder / f"out.{rank // 2}.{rank % 2}.{rank}").read_text(encoding="utf-8")
            self.assertEqual(text, f"rank {rank} of 4\n")
            text = (self.folder / f"err.{rank}").read_text(encoding="utf-8")
            self.assertIn(f"error output of rank {rank}\n", text)

    def test_patterns_that_cannot_be_followed(self):
        for pattern, says in (("x", "put %r or %n"), ("%z", "behind % stands")):
            run = self.start("-outfile-pattern", pattern, "-np", 2, ARGUMENTS.program)
            self.expect(run, 2)
            self.assertIn(says, run.err)

    def test_time_limit_ends_the_whole_job(self):
        run = self.start(
            *["-timeout", 3, "-np", 1, ARGUMENTS.program, "wait", ":"],
            *["-np", 2, ARGUMENTS.program, "wait"],
        )
        self.expect(run, TIMED_OUT)
        self.assertIn("impirun: the job has not ended within 3 s (-timeout); ending it", run.err)

    def test_time_limit_that_is_not_reached_changes_nothing(self):
        run = self.start("-timeout", 600, "-np", 1, ARGUMENTS.program, "status", 5)
        self.expect(run, 5)

    def test_time_limit_of_a_client(self):
        with Server(2, **NONE) as server:
            run = self.start(
                *["-client", 0, server.address, "-timeout", 2],
                *["-np", 1, ARGUMENTS.program, "hello"],
                **NONE,
            )
            self.expect(run, TIMED_OUT)
            server.process.send_signal(signal.SIGTERM)
            server.end()

    def test_interrupt_ends_all(self):
        wait = ["-np", 1, ARGUMENTS.program, "wait"]
        run = self.start(*wait, ":", *wait)
        run.await_times("out", "ready", 2)
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)

    def test_dry_run_prints_the_commands_and_starts_nothing(self):
        run = self.expect(
            self.start(
                *["-dry-run", "-np", 2, "-bind-to", "core", "-hosts", "localhost"],
                *[ARGUMENTS.program, "two words", ":", "-np", 1, "-ppn", 1, ARGUMENTS.program],
            ),
            0,
        )
        self.assertEqual(len(run.lines["out"]), 2, run)
        first, second = run.lines["out"]
        self.assertIn(" --bind-to core" if OPEN_MPI else " -bind-to core", first)
        self.assertIn(" --host localhost" if OPEN_MPI else " -hosts localhost", first)
        self.assertTrue(first.endswith(f"{ARGUMENTS.program} 'two words'"), run)
        self.assertIn("IMPISHIM_CLIENT=1", second)
        self.assertIn("--map-by ppr:1:node" if OPEN_MPI else "-ppn 1", second)
        self.assertNotIn("IMPI_AUTH_KEY=", run.out)

    def test_placement_options_are_taken_by_the_launcher(self):
        run = self.expect(
            self.start(
                *["-np", 2, "-hosts", "localhost:2", "-ppn", 2, "-bind-to", "none"],
                *[ARGUMENTS.program, "hello", ":"],
                *["-np", 1, "-map-by", "slot", ARGUMENTS.program, "hello"],
            ),
            0,
        )
        self.assertEqual(labelled(run), [f"rank {rank} of 3" for rank in range(3)])

    def test_file_of_hosts(self):
        hosts = self.folder / "hosts"
        hosts.write_text("localhost slots=2   # this machine\n", encoding="utf-8")
        run = self.expect(self.start("-hostfile", hosts, "-np", 2, ARGUMENTS.program, "hello"), 0)
        self.assertEqual(labelled(run), ["rank 0 of 2", "rank 1 of 2"])

    def test_words_for_the_launcher_pass_unchanged(self):
        own = ["-x", "OWN=5"] if OPEN_MPI else ["-env", "OWN", "5"]
        run = self.expect(
            self.start("-np", 1, "-mpiexec-args", *own, "--", ARGUMENTS.program, "show", "OWN"), 0
        )
        self.assertIn(" OWN=5", run.out)

    def test_launcher_with_options(self):
        own = "-x OWN='a b'" if OPEN_MPI else "-genv OWN 'a b'"
        run = self.expect(
            self.start(
                *["-np", 1, ARGUMENTS.program, "show", "OWN"],
                IMPISHIM_MPIEXEC=f"{ARGUMENTS.mpiexec} {own}",
            ),
            0,
        )
        self.assertIn(" OWN=a b", run.out)

    def test_sections_from_a_file(self):
        file = self.folder / "sections"
        file.write_text(
            f"# two systems\n-np 1 {ARGUMENTS.program} hello 'a b'\n-np 2 \\\n"
            f"  {ARGUMENTS.program} hello c\n",
            encoding="utf-8",
        )
        run = self.expect(self.start("-label", "-configfile", file), 0)
        self.assertEqual(
            labelled(run),
            ["[0:0] rank 0 of 3 [a b]", "[1:1] rank 1 of 3 [c]", "[1:2] rank 2 of 3 [c]"],
        )

    def test_both_libraries_in_one_job(self):
        run = self.expect(
            self.start(
                *["-label", "-genv", "A", "1", "-np", 2, ARGUMENTS.program, "show", "A", ":"],
                *["-np", 1, "-env", "A", "2", ARGUMENTS.other_program, "show", "A"],
            ),
            0,
        )
        here = os.getcwd()
        self.assertEqual(
            labelled(run),
            [
                f"[0:0] rank 0 in {here} A=1",
                f"[0:1] rank 1 in {here} A=1",
                f"[1:2] rank 2 in {here} A=2",
            ],
        )


if __name__ == "__main__":
    main()
