# SPDX-License-Identifier: Apache-2.0
"""The transcripts of docs/launch.md: each command prints what the page says."""

import os
import pathlib
import re
import subprocess
import tempfile

from support import ARGUMENTS, LONG, Case, main

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "launch.md"


def transcripts():
    """Commands with the lines that they print, from the blocks that are marked."""
    text = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"<!-- transcript -->\n```\n(.*?)```", text, re.DOTALL):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            yield command, output.splitlines()


class TranscriptTest(Case):
    def test_page_shows_what_happens(self):
        commands = list(transcripts())
        self.assertGreaterEqual(len(commands), 4)
        with tempfile.TemporaryDirectory(prefix="impirun-transcript-") as folder:
            (pathlib.Path(folder) / "hello").symlink_to(ARGUMENTS.program)
            path = f"{pathlib.Path(ARGUMENTS.impirun).parent}:{os.environ['PATH']}"
            for command, expected in commands:
                done = subprocess.run(
                    ["sh", "-c", command],
                    cwd=folder,
                    env={**os.environ, "PATH": path},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=LONG,
                )
                self.assertEqual(sorted(done.stdout.splitlines()), expected, f"{command}\n{done}")


if __name__ == "__main__":
    main()
