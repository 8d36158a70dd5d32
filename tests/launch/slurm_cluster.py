# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one machine, as Debian packages it, for one test: munged, slurmctld and slurmd with
files, ports and a key of their own. Nothing of it is left when the test has ended."""

import contextlib
import getpass
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile

from support import LONG, Run

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "squeue")
ATTEMPTS = 5
PLACES = os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"

CONFIGURATION = """ClusterName=impirun
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
TmpFS={folder}/temporary
FirstJobId={first_job}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
KillWait=2
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """The tools of Slurm that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool, path=PLACES) is None]


class Daemon(Run):
    """A process that serves until it is told to end."""

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        super().__exit__(kind, value, trace)


class SlurmCluster:
    """As a context it serves, and ends with no process left behind."""

    def __init__(self, processors=6):
        self.processors = processors
        self.host = socket.gethostname().split(".")[0]
        self.resources = contextlib.ExitStack()

    def __enter__(self):
        try:
            # Another process may take a port that was free a moment ago.
            for _ in range(ATTEMPTS):
                if self.start():
                    return self
                self.resources.close()
            raise AssertionError("slurmctld does not answer")
        except BaseException:
            self.resources.close()
            raise

    def __exit__(self, *_):
        self.resources.close()

    def start(self):
        """Starts the daemons. False if the controller does not answer."""
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-slurm-"))
        )
        for name in ("state", "spool", "temporary"):
            (self.folder / name).mkdir(mode=0o755)
        (self.folder / "key").write_bytes(os.urandom(1024))
        (self.folder / "key").chmod(0o600)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(self.configuration(), encoding="utf-8")
        munged = [f"--{name}={self.folder}/munge.{name}" for name in ("socket", "pid-file")]
        munged += [f"--key-file={self.folder}/key", f"--seed-file={self.folder}/munge.seed"]
        self.daemon("work threads", "munged", "--foreground", "--force", *munged)
        self.controller = self.daemon(
            "Running as primary controller", "slurmctld", "-D", "-f", configuration
        )
        self.environment = {"SLURM_CONF": str(configuration)}
        while self.ask("squeue").returncode != 0:
            if self.controller.process.poll() is not None:
                return False
        self.daemon("slurmd started", "slurmd", "-D", "-f", configuration)
        self.resources.callback(self.end_jobs)
        return True

    def configuration(self):
        with contextlib.ExitStack() as bound:
            ports = []
            for _ in range(2):
                one = bound.enter_context(socket.socket())
                one.bind(("127.0.0.1", 0))
                ports.append(one.getsockname()[1])
        return CONFIGURATION.format(
            host=self.host,
            user=getpass.getuser(),
            controller_port=ports[0],
            node_port=ports[1],
            folder=self.folder,
            processors=self.processors,
            # Files of steps have names with the job's number; another test has other ones.
            first_job=random.randrange(1, 1 << 24),
        )

    def daemon(self, ready, name, *arguments):
        """Starts a daemon, and waits until it has written `ready`."""
        command = [shutil.which(name, path=PLACES), *arguments]
        daemon = self.resources.enter_context(Daemon(*command))
        daemon.await_line("err", ready)
        return daemon

    def ask(self, *words):
        return subprocess.run(
            [str(word) for word in words],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG,
        )

    def tool(self, *words):
        """What a tool of Slurm prints."""
        asked = self.ask(*words)
        if asked.returncode != 0:
            raise AssertionError(f"{asked.args}: {asked.stderr}\n{self.controller}")
        return asked.stdout

    def jobs(self):
        """The numbers of jobs that run or wait."""
        return self.tool("squeue", "--noheader", "--format=%i").split()

    def end_jobs(self):
        """Ends what a failed test has left; slurmd's own end would not."""
        jobs = self.jobs()
        if jobs:
            self.tool("scancel", "--signal=KILL", *jobs)
            self.tool("scancel", *jobs)
