# SPDX-License-Identifier: Apache-2.0
"""Processes that are stopped, killed or forked in a joined job."""

import os
import pathlib
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, impirun, main  # noqa: E402

# Longer than a machine that does not answer may be silent (wire/channel/silence.hpp).
# IMPISHIM_STOPPED_SECONDS asks for longer.
STOPPED_SECONDS = int(os.environ.get("IMPISHIM_STOPPED_SECONDS", "45"))


def joined(program, *words, **environment):
    return impirun("-np", "1", program, *words, ":", "-np", "1", program, *words, **environment)


def leftovers():
    """Shared memory of libfabric's shm, which it names after the process, whose process has
    ended."""
    names = (name for name in os.listdir("/dev/shm") if re.fullmatch(r"\d+:\d+:\d+", name))
    return {name for name in names if not os.path.exists(f"/proc/{name.split(':')[0]}")}


class Processes(Case):
    def test_a_stopped_process_goes_on(self):
        """The window of its road stays full for longer than a dead machine would be waited for."""
        with joined(ARGUMENTS.program) as run:
            stopped = int(run.await_line("out", "stopped: ").split()[-1])
            # The time is what is tested: nothing happens that could be awaited.
            time.sleep(STOPPED_SECONDS)
            self.assertIsNone(run.process.poll(), run)
            os.kill(stopped, signal.SIGCONT)
            self.expect(run, 0)
            self.assertIn("all received", run.out, run)

    def test_a_killed_rank_with_a_living_child_is_noticed(self):
        """The child has copies of its parent's sockets: were they open, the peer would wait for
        keepalive probes in vain."""
        with joined(ARGUMENTS.foreign_program, "kill") as run:
            begin = time.monotonic()
            self.assertNotEqual(run.end(), 0, run)
            self.assertLess(time.monotonic() - begin, 20, run)
            for process in run.processes():
                os.kill(process, signal.SIGKILL)

    def test_shuffle_settings_are_refused_at_init(self):
        """A shuffle begins when the program wants: a bad setting must not wait for that."""
        for name, value in (
            ("LOMAXRPC", "0"),
            ("RBUFTARGET", "many"),
            ("DELIVERQ_THRESHOLD", "2000"),
        ):
            with joined(
                ARGUMENTS.foreign_program, "signal", **{f"IMPISHIM_SHUFFLE_{name}": value}
            ) as run:
                self.assertNotEqual(run.end(), 0, run)
                self.assertIn(f"IMPISHIM_SHUFFLE_{name}", run.err, run)

    def test_fabric_shm_leaves_nothing(self):
        """libfabric's shm keeps 16 MiB of shared memory for each process, which a killed one cannot
        remove."""
        before = leftovers()
        with impirun(
            "-np",
            "1",
            ARGUMENTS.foreign_program,
            "kill",
            ":",
            "-np",
            "3",
            ARGUMENTS.foreign_program,
            "kill",
            IMPISHIM_FABRIC="shm",
        ) as run:
            status = run.end()
            if "no provider" in run.err or "is not there" in run.err:
                raise unittest.SkipTest("this libfabric has no shm provider")
            self.assertNotEqual(status, 0, run)
            for process in run.processes():
                os.kill(process, signal.SIGKILL)
        self.assertEqual(leftovers() - before, set(), run)


if __name__ == "__main__":
    main()
