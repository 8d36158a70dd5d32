# SPDX-License-Identifier: Apache-2.0
"""Two systems that see one file system, and two that do not: the second has an empty one at the
same path. What a parallel HDF5 program writes is what it writes natively.

The second case needs the right to make mount namespaces; without it that is skipped and says so."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from run_system_test import LAUNCHER_VARIABLES  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("--mpi", "--mpiexec", "--impirun", "--h5dump", "--hdf5", "--access"):
    parser.add_argument(option, required=True)
ARGUMENTS, REST = parser.parse_known_args()
SECONDS = 60


def run(*command, **variables):
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
        env={**clean, **LAUNCHER_VARIABLES, "IMPI_AUTH_NONE": "1", **variables},
    )


def elsewhere(folder, *command):
    """The beginning of a command that sees another, empty file system at this path."""
    script = 'mount -t tmpfs none "$0" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, folder, *command]


class FileSystems(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def require_namespaces(self):
        tried = run(*elsewhere(self.folder, "true"))
        if tried.returncode != 0:
            raise unittest.SkipTest(f"no mount namespaces can be made here: {tried.stderr.strip()}")

    def succeeds(self, *command, **variables):
        done = run(*command, **variables)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def content(self, path):
        """The dump of a file, without its name in the first line."""
        return self.succeeds(ARGUMENTS.h5dump, path).split("\n", 1)[1]

    def joined(self, first, second, **variables):
        """Runs two ranks each of two commands as one job. Returns what they print."""
        return self.succeeds(
            *[ARGUMENTS.impirun, "-mpi", ARGUMENTS.mpi, "-np", 2, *first, ":", "-np", 2, *second],
            **variables,
        )

    def native_content(self):
        path = self.folder / "native.h5"
        self.succeeds(ARGUMENTS.mpiexec, "-n", 4, ARGUMENTS.hdf5, "any", path)
        return self.content(path)

    def test_one_file_system(self):
        path = self.folder / "joined.h5"
        program = [ARGUMENTS.hdf5, "any", path]
        self.joined(program, program)
        self.assertEqual(self.content(path), self.native_content())

    def test_two_file_systems(self):
        self.require_namespaces()
        path = self.folder / "joined.h5"
        program = [ARGUMENTS.hdf5, "any", path]
        self.joined(program, elsewhere(self.folder, *program))
        self.assertEqual(self.content(path), self.native_content())

    def test_every_form_over_two_file_systems(self):
        self.require_namespaces()
        # Open MPI's own files stay outside, where both systems see them.
        out = self.joined(
            [ARGUMENTS.access],
            elsewhere(self.folder, ARGUMENTS.access),
            TMPDIR=str(self.folder),
            OMPI_MCA_orte_tmpdir_base="/tmp",
        )
        self.assertIn("files on 4 ranks: right", out)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + REST, verbosity=2)
