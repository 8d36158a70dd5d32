# SPDX-License-Identifier: Apache-2.0
"""Job files: all systems of a job from one file, here and, by a stand-in for ssh, elsewhere."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from support import ARGUMENTS, LONG, Case, Run, impirun, main

# Runs the command for the other machine by a shell, as sshd does, with few variables.
STAND_IN = """#!/bin/sh
shift
exec env -i PATH="$PATH" HOME="$HOME" {mark} sh -c "$*"
"""


class JobFileTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-job-"))
        ).resolve()

    def write(self, text):
        file = self.folder / "job.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def start(self, *words, **environment):
        return self.resources.enter_context(impirun(*words, **environment))

    def system(self, name, program, *arguments, np=1, more=""):
        words = ", ".join(f'"{word}"' for word in arguments)
        return (
            f'[[system]]\nname = "{name}"\nnp = {np}\nprogram = "{program}"\nargs = [{words}]\n'
            f"{more}\n"
        )

    def elsewhere(self):
        """Keys of a system that a stand-in for ssh starts."""
        stand_in = self.folder / "reach"
        names = (
            "MPIEXEC_PORT_RANGE",
            "OMPI_ALLOW_RUN_AS_ROOT",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "OMPI_MCA_osc",
            "OMPI_MCA_rmaps_base_oversubscribe",
            "OMPI_MCA_mpi_yield_when_idle",
            "IMPISHIM_TEST_RUN",
        )
        keep = " ".join(f"{name}='{os.environ[name]}'" for name in names if name in os.environ)
        from run_system_test import MARK

        stand_in.write_text(STAND_IN.format(mark=keep + f' {MARK}="${MARK}"'), encoding="utf-8")
        stand_in.chmod(0o755)
        return (
            f'host = "elsewhere"\nssh = "{stand_in}"\nimpirun = "{ARGUMENTS.impirun}"\n'
            f'directory = "{self.folder}"\n'
        )

    def test_systems_of_both_libraries(self):
        file = self.write(
            "[job]\nlabel = true\nenvironment = {A = 1}\n"
            + self.system("a", ARGUMENTS.program, "show", "A", np=2)
            + self.system(
                "b",
                ARGUMENTS.other_program,
                "show",
                "A",
                more=f'environment = {{A = "b"}}\ndirectory = "{self.folder}"',
            )
        )
        run = self.expect(self.start("-file", file), 0)
        here = os.getcwd()
        self.assertEqual(
            sorted(run.lines["out"]),
            [
                f"[0:0] rank 0 in {here} A=1",
                f"[0:1] rank 1 in {here} A=1",
                f"[1:2] rank 2 in {self.folder} A=b",
            ],
        )
        self.assertEqual(run.err, "")

    def test_job_that_leaves_this_machine_can_be_asked(self):
        file = self.write(
            '[server]\naddress = "127.0.0.1"\n'
            + self.system("a", ARGUMENTS.program, "wait")
            + self.system("b", ARGUMENTS.program, "wait", more=self.elsewhere())
        )
        run = self.start("-file", file, IMPISHIM_MONITOR="on")
        line = run.await_line("err", "impirun -why ")
        told = re.fullmatch(
            r"impirun: (IMPI_AUTH_KEY_FILE=\S+) (IMPISHIM_SECRET_FILE=\S+) impirun -why (\S+)", line
        )
        self.assertTrue(told, line)
        files = [pathlib.Path(word.partition("=")[2]) for word in told.groups()[:2]]
        self.assertEqual([file.stat().st_mode & 0o777 for file in files], [0o600, 0o600])
        clean = {name: value for name, value in os.environ.items() if not name.startswith("IMPI")}
        deadline = time.monotonic() + LONG
        while True:
            asked = subprocess.run(
                [ARGUMENTS.impirun, "-why", told[3], "-json"],
                env={**clean, **dict(word.split("=", 1) for word in told.groups()[:2])},
                capture_output=True,
                text=True,
                timeout=LONG,
                check=False,
            )
            if asked.returncode == 0 and len(json.loads(asked.stdout)["processes"]) == 2:
                break
            self.assertLess(time.monotonic(), deadline, asked)
        run.process.send_signal(signal.SIGTERM)
        run.end()
        self.assertEqual([file.exists() for file in files], [False, False])

    def test_progress_is_told(self):
        file = self.write(
            self.system("a", ARGUMENTS.program, "lines", "1")
            + self.system("b", ARGUMENTS.program, "lines", "1")
        )
        run = self.expect(self.start("-v", "-file", file), 0)
        self.assertIn("system a runs: ", run.err)
        self.assertTrue(run.lines["err"][-1].endswith(" s: 2 of 2 systems have joined"), run)

    def test_system_that_does_not_join_is_named_with_a_reason(self):
        gate = self.folder / "gate"
        os.mkfifo(gate)
        mpi = "openmpi" if "openmpi" in ARGUMENTS.mpiexec else "mpich"
        script = f"cat {gate}; exec {ARGUMENTS.program} lines 1"
        file = self.write(
            self.system("fast", ARGUMENTS.program, "lines", "1")
            + self.system("slow", "sh", "-c", script, more=f'mpi = "{mpi}"')
        )
        run = self.start("-file", file)
        line = run.await_line("err", "1 of 2 systems have joined; missing: slow (mpiexec runs; ")
        self.assertIn("have not called MPI_Init", line)
        gate.write_text("", encoding="utf-8")
        self.expect(run, 0)
        self.assertTrue(run.lines["err"][-1].endswith(" s: 2 of 2 systems have joined"), run)

    def test_status_of_the_failing_system(self):
        file = self.write(
            self.system("a", ARGUMENTS.program, "status", "0")
            + self.system("b", ARGUMENTS.program, "status", "7")
        )
        run = self.expect(self.start("-file", file), 7)
        self.assertIn("system b ended with status 7", run.err)

    def test_time_limit_of_the_file(self):
        wait = [ARGUMENTS.program, "wait"]
        file = self.write(
            "[job]\ntimeout = 3\n" + self.system("a", *wait) + self.system("b", *wait)
        )
        run = self.expect(self.start("-file", file), 124)
        self.assertIn("(-timeout)", run.err)

    def test_error_names_file_and_line(self):
        file = self.write(self.system("a", ARGUMENTS.program, more="procs = 3"))
        run = self.expect(self.start("-file", file), 2)
        self.assertIn(f'impirun: {file}:6: [[system]] has no key "procs"', run.err)
        file = self.write(self.system("a", "/nowhere/program"))
        run = self.expect(self.start("-file", file), 2)
        self.assertIn("system a: program not found: /nowhere/program", run.err)

    def test_dry_run_shows_what_would_run_elsewhere(self):
        file = self.write(
            self.system("a", ARGUMENTS.program, "hello")
            + self.system("b", ARGUMENTS.program, "hello", more=self.elsewhere())
        )
        run = self.expect(self.start("-dry-run", "-file", file), 0)
        self.assertEqual(len(run.lines["out"]), 2, run)
        self.assertIn("elsewhere", run.lines["out"][1])
        self.assertIn("# there: impirun -client 1 ", run.lines["out"][1])
        self.assertNotIn("SECRET=", run.out)

    def test_system_on_another_machine(self):
        file = self.write(
            '[server]\naddress = "127.0.0.1"\n'
            + self.system("a", ARGUMENTS.program, "show", "IMPISHIM_CLIENT")
            + self.system(
                "b", ARGUMENTS.other_program, "show", "IMPISHIM_CLIENT", more=self.elsewhere()
            )
        )
        run = self.expect(self.start("-label", "-file", file), 0)
        self.assertEqual(
            sorted(run.lines["out"]),
            [
                f"[0:0] rank 0 in {os.getcwd()} IMPISHIM_CLIENT=0",
                f"[1:1] rank 1 in {self.folder} IMPISHIM_CLIENT=1",
            ],
        )
        self.assertEqual(run.err, "")

    def test_input_goes_to_rank_0_on_another_machine(self):
        reader, writer = os.pipe()
        file = self.write(
            '[server]\naddress = "127.0.0.1"\n'
            + self.system("a", ARGUMENTS.program, "echo", more=self.elsewhere())
            + self.system("b", ARGUMENTS.program, "echo")
        )
        run = self.resources.enter_context(Run(ARGUMENTS.impirun, "-file", file, stdin=reader))
        os.close(reader)
        os.write(writer, b"one\ntwo\n")
        os.close(writer)
        self.expect(run, 0)
        self.assertEqual(run.lines["out"], ["read: one", "read: two"])

    def test_interrupt_ends_what_runs_on_another_machine(self):
        file = self.write(
            '[server]\naddress = "127.0.0.1"\n'
            + self.system("a", ARGUMENTS.program, "wait", more=self.elsewhere())
            + self.system("b", ARGUMENTS.program, "wait")
        )
        run = self.start("-file", file)
        run.await_times("out", "ready", 2)
        for process in run.processes():
            words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
            self.assertNotIn(b"IMPISHIM_SECRET=", words)
            self.assertNotIn(b"IMPI_AUTH_KEY=", words)
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)

    def test_impirun_that_is_not_there_is_told(self):
        file = self.write(
            '[server]\naddress = "127.0.0.1"\n'
            + self.system(
                "a",
                ARGUMENTS.program,
                "hello",
                more=self.elsewhere().replace(ARGUMENTS.impirun, "/nowhere/impirun"),
            )
        )
        run = self.expect(self.start("-file", file), 127)
        self.assertIn("/nowhere/impirun", run.err)
        self.assertIn("system a ended with status 127", run.err)


if __name__ == "__main__":
    main()
