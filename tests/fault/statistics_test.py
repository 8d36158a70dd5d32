# SPDX-License-Identifier: Apache-2.0
"""Statistics that cannot be written are told at the default log level, and a link in their place
leads nowhere."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, impirun, main  # noqa: E402


class StatisticsTest(Case):
    def test_links(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            victim = folder / "victim"
            victim.write_text("precious", encoding="ascii")
            (folder / "stats.0.json").symlink_to(victim)
            section = ["-np", 1, ARGUMENTS.program, "lines", 1]
            with impirun(*section, ":", *section, IMPISHIM_STATS=str(folder / "stats")) as run:
                self.expect(run, 0)
                self.assertEqual(
                    run.lines["err"],
                    [
                        f"impishim: rank 0: warn: cannot write the statistics to {folder}/stats.0.json "
                        "(IMPISHIM_STATS): it is a symbolic link"
                    ],
                )
            self.assertEqual(victim.read_text(encoding="ascii"), "precious")
            self.assertIn('"rank": 1', (folder / "stats.1.json").read_text(encoding="ascii"))


if __name__ == "__main__":
    main()
