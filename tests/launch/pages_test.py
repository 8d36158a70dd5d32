# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completions, as the tools that read them see them."""

import pathlib
import re
import shutil
import subprocess

from support import ARGUMENTS, Case, impirun, main

PAGES = pathlib.Path(ARGUMENTS.pages)


def options():
    """The options that -help lists."""
    with impirun("-help") as run:
        run.end()
        return re.findall(r"^  (-[a-z-]+)(?= )", run.out.split("\n\nExamples:")[0], re.MULTILINE)


class PagesTest(Case):
    def test_every_option_of_help_is_in_all_pages(self):
        names = options()
        self.assertGreater(len(names), 30)
        manual = (PAGES / "impirun.1").read_text(encoding="utf-8").replace("\\-", "-")
        bash = (PAGES / "impirun").read_text(encoding="utf-8")
        zsh = (PAGES / "_impirun").read_text(encoding="utf-8")
        for name in names:
            self.assertIn(f"\\fB{name}\\fR", manual)
            self.assertRegex(bash, rf"[ ']{name}[ ']")
            self.assertIn(f"*{name}[", zsh)

    def complete(self, *words):
        """What bash proposes for the last of the words."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = (
            f"source '{PAGES / 'impirun'}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
            '_impirun; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        shell = ["bash", "--norc", "-c", script]
        return subprocess.run(
            shell, capture_output=True, text=True, check=True, timeout=60
        ).stdout.split()

    def test_bash_completes_options_and_their_words(self):
        self.assertEqual(self.complete("impirun", "-out"), ["-outfile-pattern"])
        self.assertEqual(self.complete("impirun", "-mpi", "o"), ["openmpi"])
        self.assertEqual(self.complete("impirun", "-bind-to", "l3"), ["l3cache"])

    def test_zsh_reads_its_completion(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        done = subprocess.run(
            ["zsh", "-f", "-n", str(PAGES / "_impirun")], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_manual_page_is_read_without_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        done = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", str(PAGES / "impirun.1")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("-timeout S", re.sub("\x1b\\[[0-9;]*m|.\b", "", done.stdout))


if __name__ == "__main__":
    main()
