# SPDX-License-Identifier: Apache-2.0
"""A full disk: the program is told of its own files, the user of the library's, and the job goes on.

The disk is a tmpfs in a mount namespace; without the right to make one the tests are skipped, and say
so. """

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, Run, main  # noqa: E402


class Disk(Case):
    def setUp(self):
        super().setUp()
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        tried = subprocess.run(self.on_a_disk("4k", "true"), capture_output=True, text=True)
        if tried.returncode != 0:
            raise unittest.SkipTest(f"no mount namespaces can be made here: {tried.stderr.strip()}")

    def on_a_disk(self, size, *command):
        """A command that sees a disk of that size."""
        script = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, self.folder, *command]

    def test_statistics(self):
        filled = ("sh", "-c", 'head -c 4096 /dev/zero > "$0"/filler && exec "$@"', self.folder)
        section = ("-np", 1, ARGUMENTS.program, "lines", 1)
        job = (ARGUMENTS.impirun, *section, ":", *section)
        with Run(
            *self.on_a_disk("4k", *filled, *job), IMPISHIM_STATS=str(self.folder / "stats")
        ) as run:
            self.expect(run, 0)
            for rank in (0, 1):
                self.assertIn(
                    f"cannot write the statistics to {self.folder}/stats.{rank}.json "
                    "(IMPISHIM_STATS): No space left on device",
                    run.err,
                    run,
                )

    def test_files(self):
        section = ("-np", 1, ARGUMENTS.foreign_program, self.folder / "large")
        with Run(
            *self.on_a_disk("1m", ARGUMENTS.impirun, *section, ":", *section), IMPI_AUTH_NONE="1"
        ) as run:
            self.expect(run, 0)
            for rank in (0, 1):
                self.assertIn(f"rank {rank}: error no space", run.out, run)


if __name__ == "__main__":
    main()
