# SPDX-License-Identifier: Apache-2.0
"""Systems that Slurm starts: by srun, and in a batch job. The Slurm is real; it has one node, this
machine."""

import contextlib
import pathlib
import signal
import tempfile
import time

from slurm_cluster import SlurmCluster, missing
from support import ARGUMENTS, LONG, Case, Run, Server, impirun, main

OPEN_MPI = "openmpi" in ARGUMENTS.mpiexec
# By what processes of this MPI find each other in a step of Slurm.
PMI = "--mpi=pmix" if OPEN_MPI else "--mpi=pmi2"
NONE = {"IMPI_AUTH_NONE": "1"}


class SlurmTest(Case):
    def setUp(self):
        if missing():
            reason = f"Slurm is not installed: no {', '.join(missing())} (slurm-wlm, slurmctld, slurmd, munge)"
            print(f"skipped: {reason}")
            self.skipTest(reason)
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-slurm-test-"))
        ).resolve()
        self.cluster = self.resources.enter_context(SlurmCluster())

    def start(self, *words, **environment):
        return self.resources.enter_context(
            impirun(*words, **self.cluster.environment, **environment)
        )

    def system(self, name, *arguments, np=1, more=""):
        words = ", ".join(f'"{word}"' for word in arguments)
        return (
            f'[[system]]\nname = "{name}"\nnp = {np}\nprogram = "{ARGUMENTS.program}"\n'
            f"args = [{words}]\n{more}\n"
        )

    def job(self, *systems):
        file = self.folder / "job.toml"
        file.write_text('[server]\naddress = "127.0.0.1"\n' + "".join(systems), encoding="utf-8")
        return file

    def await_no_jobs(self):
        deadline = time.monotonic() + LONG
        while (jobs := self.cluster.jobs()) and time.monotonic() < deadline:
            time.sleep(0.1)  # the controller tells nobody when a job is gone
        self.assertEqual(jobs, [])

    def test_job_file_with_srun(self):
        by_srun = f'launcher = "srun"\nlauncher-args = ["{PMI}"]\n'
        file = self.job(
            self.system("here", "show", "A"),
            self.system(
                "slurm",
                "show",
                "A",
                np=2,
                more=by_srun
                + f'directory = "{self.folder}"\nenvironment = {{A = "two words"}}\nppn = 2\n'
                f'hosts = ["{self.cluster.host}"]\nbind-to = "none"\nmap-by = "slot"\n',
            ),
        )
        run = self.expect(self.start("-label", "-file", file), 0)
        lines = sorted(run.lines["out"])
        self.assertRegex(lines[0], r"^\[0:0\] rank 0 in .* A=\(not set\)$")
        self.assertEqual(
            lines[1:],
            [f"[1:{rank}] rank {rank} in {self.folder} A=two words" for rank in (1, 2)],
            run,
        )
        self.await_no_jobs()

    def test_clients_by_srun(self):
        with Server(2, **NONE) as server:
            hello = ["-np", 2, ARGUMENTS.program, "hello"]
            first = self.start(
                *["-client", 0, server.address, "-label", *hello],
                IMPISHIM_MPIEXEC=f"srun {PMI}",
                **NONE,
            )
            # A key of Slurm's own words behind --.
            second = self.start(
                *["-client", 1, server.address, "-label", "--", "srun", PMI, "-n", 2],
                *[ARGUMENTS.program, "hello"],
                **NONE,
            )
            self.expect(first, 0)
            self.expect(second, 0)
            self.expect(server, 0)
        self.assertEqual(sorted(first.lines["out"]), ["[0:0] rank 0 of 4", "[0:1] rank 1 of 4"])
        self.assertEqual(sorted(second.lines["out"]), ["[1:2] rank 2 of 4", "[1:3] rank 3 of 4"])

    def test_status_and_end_of_srun(self):
        by_srun = f'launcher = "srun"\nlauncher-args = ["{PMI}"]\n'
        file = self.job(
            self.system("here", "status", "0"), self.system("slurm", "status", "7", more=by_srun)
        )
        run = self.expect(self.start("-file", file), 7)
        self.assertIn("system slurm ended with status 7", run.err)
        file = self.job(self.system("here", "wait"), self.system("slurm", "wait", more=by_srun))
        run = self.start("-file", file)
        run.await_times("out", "ready", 2)
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)
        self.await_no_jobs()

    def test_job_file_with_sbatch(self):
        out = self.folder / "out"
        by_sbatch = f'launcher = "sbatch"\nlauncher-args = ["--output={out}"]\n'
        file = self.job(
            self.system("here", "show", "A"),
            self.system("slurm", "show", "A", np=2, more=by_sbatch + "environment = {A = 1}"),
        )
        run = self.expect(self.start("-label", "-file", file), 0)
        self.assertRegex(run.err, r"impirun: batch job \d+")
        lines = out.read_text(encoding="utf-8")
        for rank in (1, 2):
            self.assertRegex(lines, rf"\[1:{rank}\] rank {rank} in .* A=1\n")
        file = self.job(self.system("here", "wait"), self.system("slurm", "wait", more=by_sbatch))
        run = self.start("-file", file)
        run.await_line("out", "ready")
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)
        self.await_no_jobs()

    def test_client_in_the_script_of_a_batch_job(self):
        script = self.folder / "script"
        with Server(2, **NONE) as server:
            script.write_text(
                f"#!/bin/sh\nexec {ARGUMENTS.impirun} -client 1 {server.address} -np 2 "
                f"{ARGUMENTS.program} hello\n",
                encoding="utf-8",
            )
            first = self.start("-client", 0, server.address, "-np", 1, ARGUMENTS.program, **NONE)
            out = self.folder / "out"
            submit = ["sbatch", "--wait", f"--output={out}", "--ntasks=2", script]
            # Open MPI's launchers of one user share a folder, which one may remove from under
            # another.
            apart = {"OMPI_MCA_orte_tmpdir_base": str(self.folder / "batch")}
            batch = self.resources.enter_context(
                Run(*submit, **self.cluster.environment, **NONE, **apart)
            )
            status = batch.end()
            lines = out.read_text(encoding="utf-8")
            self.assertEqual(status, 0, f"{batch}\n{lines}\n{first}\n{server}")
            self.expect(first, 0)
            self.expect(server, 0)
        for rank in (1, 2):
            self.assertIn(f"rank {rank} of 3", lines)
        self.await_no_jobs()


if __name__ == "__main__":
    main()
