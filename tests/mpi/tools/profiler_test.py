# SPDX-License-Identifier: Apache-2.0
"""A profiling tool in front of the library, and behind it, in a joined job: what it counts is what
it counts natively."""

import argparse
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from run_system_test import LAUNCHER_VARIABLES, whole_lines  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("--mpi", "--mpiexec", "--impirun", "--tool", "--program", "--library"):
    parser.add_argument(option, required=True)
ARGUMENTS, REST = parser.parse_known_args()
SECONDS = 60
RANKS = 4


def run(*command):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IMPI", "LD_PRELOAD"))
    }
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**clean, **LAUNCHER_VARIABLES, "IMPI_AUTH_NONE": "1"},
    )


def natively(preload):
    return run(ARGUMENTS.mpiexec, "-n", RANKS, "env", f"LD_PRELOAD={preload}", ARGUMENTS.program)


def joined(preload):
    """`preload` stands for the shell, where $LD_PRELOAD is the library, as impirun sets it."""
    section = ["-np", 2, "sh", "-c", f'LD_PRELOAD={preload} exec "$0"', ARGUMENTS.program]
    return run(ARGUMENTS.impirun, "-mpi", ARGUMENTS.mpi, *section, ":", *section)


class Profiler(unittest.TestCase):
    def lines(self, done):
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return whole_lines(done.stdout, r"rank \d|profile")

    def test_in_front_of_a_joined_job(self):
        native = self.lines(natively(ARGUMENTS.tool))
        self.assertIn("profile of 4 ranks, sum of ranks 6", native)
        self.assertIn("profile: MPI_Sendrecv 20 calls", native)
        self.assertIn("profile: MPI_Barrier 4 calls", native)
        self.assertFalse([line for line in native if "wrong" in line or "expected" in line])
        self.assertEqual(self.lines(joined(f"{ARGUMENTS.tool}:$LD_PRELOAD")), native)

    def test_in_front_without_the_variables(self):
        both = f"{ARGUMENTS.tool}:{ARGUMENTS.library}"
        self.assertEqual(self.lines(natively(both)), self.lines(natively(ARGUMENTS.tool)))

    def test_behind(self):
        """The library's names come first, so a tool behind it sees no call of the program's."""
        program = [f"rank {rank} of {RANKS}: done" for rank in range(RANKS)]
        self.assertEqual(self.lines(joined(f"$LD_PRELOAD:{ARGUMENTS.tool}")), program)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + REST, verbosity=2)
