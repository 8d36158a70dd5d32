# SPDX-License-Identifier: Apache-2.0
"""What the tests of a running job share: two systems of two ranks, of one MPI library or of two
(--foreign-program: that of the second system), which can be asked."""

import os
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "install"))
from support import ARGUMENTS, Case, impirun  # noqa: E402
from transcript import marked  # noqa: E402, F401

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/see.md"

TOLD = re.compile(r"impirun: IMPI_AUTH_KEY_FILE=(\S+) impirun -why (\S+)")


def two_systems(*words):
    first = ["-np", 2, ARGUMENTS.program, *words]
    return [*first, ":", "-np", 2, ARGUMENTS.foreign_program, *words]


class WatchedCase(Case):
    """`key` and `server` tell how the job is asked, `environment` is that of who asks."""

    def start(self, mode, **variables):
        """Starts the program `hangs`; the run, when it is about to hang."""
        run = self.begin(impirun(*two_systems(mode), **{"IMPISHIM_MONITOR": "on", **variables}))
        self.key, self.server = TOLD.fullmatch(run.await_line("err", "impirun -why")).groups()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("IMPI")}
        self.environment = {**clean, "IMPI_AUTH_KEY_FILE": self.key, "LC_ALL": "C.UTF-8"}
        run.await_line("out", "about to hang")
        return run

    def begin(self, run):
        """The run, which ends with the test."""
        run.__enter__()
        self.addCleanup(self.end, run)
        return run

    def end(self, run):
        if run.process.poll() is None:
            run.process.send_signal(signal.SIGTERM)
        run.end()
        run.__exit__(None, None, None)
