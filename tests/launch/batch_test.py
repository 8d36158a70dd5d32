# SPDX-License-Identifier: Apache-2.0
"""Systems that qsub starts. There is no PBS here: a stand-in behaves as the manual of OpenPBS says of
qsub -W block=true and qdel, and is no proof for a real one. slurm_test.py has a real sbatch."""

import contextlib
import os
import pathlib
import signal
import tempfile

from support import ARGUMENTS, Case, impirun, main
from run_system_test import MARK

# Takes a copy of the script, prints the job's number, runs the copy in the home folder with few
# variables and without input, and waits. Its exit status is that of the job.
QSUB = """#!/usr/bin/env python3
import os, shutil, subprocess, sys

folder = {folder!r}
words = sys.argv[1:]
options = {{}}
while words[0].startswith("-"):
    options[words[0]] = words[1]
    del words[:2]
assert options["-W"] == "block=true", sys.argv
copy = os.path.join(folder, "script")
shutil.copy(words[0], copy)
kept = {{name: os.environ[name] for name in {kept!r} if name in os.environ}}
with open(options["-o"], "w") as out:
    job = subprocess.Popen(
        ["sh", copy], cwd="/", env={{**kept, "PATH": "/usr/bin:/bin"}}, stdin=subprocess.DEVNULL,
        stdout=out, stderr=out, start_new_session=True
    )
    with open(os.path.join(folder, "job"), "w") as file:
        file.write(str(job.pid))
    print("17.stand-in", flush=True)
    sys.exit(job.wait() % 256)
"""

QDEL = """#!/bin/sh
echo "$*" > '{folder}/deleted'
read job < '{folder}/job'
kill -TERM -- "-$job"
"""


class BatchTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-batch-"))
        ).resolve()
        kept = ["HOME", MARK, "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]
        kept += [name for name in os.environ if name.startswith("OMPI_MCA_")]
        for name, text in (("qsub", QSUB), ("qdel", QDEL)):
            (self.folder / name).write_text(
                text.format(folder=str(self.folder), kept=kept), encoding="utf-8"
            )
            (self.folder / name).chmod(0o755)
        self.out = self.folder / "out"

    def start(self, *arguments, more=""):
        """A job of a system here and one in a batch job."""
        words = ", ".join(f'"{word}"' for word in arguments)
        program = f'program = "{ARGUMENTS.program}"\nargs = [{words}]\n'
        file = self.folder / "job.toml"
        file.write_text(
            '[server]\naddress = "127.0.0.1"\n'
            f'[[system]]\nname = "here"\nnp = 1\n{program}'
            f'[[system]]\nname = "batch"\nnp = 2\n{program}launcher = "qsub"\n'
            f'launcher-args = ["-o", "{self.out}", "-l", "select=1:ncpus=2"]\n{more}\n',
            encoding="utf-8",
        )
        path = f"{self.folder}:{os.environ['PATH']}"
        home = self.folder / "home"
        home.mkdir()
        self.home = home
        return self.resources.enter_context(
            impirun("-label", "-file", file, PATH=path, HOME=str(home))
        )

    def test_system_in_a_batch_job(self):
        run = self.expect(
            self.start(
                "show", "A", more=f'directory = "{self.folder}"\nenvironment = {{A = "a b"}}'
            ),
            0,
        )
        self.assertEqual(run.lines["out"], [f"[0:0] rank 0 in {os.getcwd()} A=(not set)"])
        self.assertIn("impirun: batch job 17.stand-in", run.err)
        lines = self.out.read_text(encoding="utf-8").splitlines()
        for rank in (1, 2):
            self.assertIn(f"[1:{rank}] rank {rank} in {self.folder} A=a b", lines)
        # Nothing secret stays, and nothing was in the script.
        self.assertEqual(list(self.home.iterdir()), [])
        self.assertNotIn("IMPI", (self.folder / "script").read_text(encoding="utf-8"))

    def test_status_of_a_batch_job(self):
        run = self.expect(self.start("exit_early", "7"), 7)
        self.assertIn("ended with status 7", run.err)

    def test_ctrl_c_deletes_the_batch_job(self):
        run = self.start("wait")
        run.await_line("out", "ready")
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)
        self.assertEqual((self.folder / "deleted").read_text(encoding="utf-8"), "17.stand-in\n")


if __name__ == "__main__":
    main()
