# SPDX-License-Identifier: Apache-2.0
"""impirun -check job.toml: the systems of a job file, here and, by a stand-in for ssh, elsewhere."""

import contextlib
import pathlib
import tempfile

from checking import Check
from run_system_test import MARK
from support import ARGUMENTS, impirun, main

# Runs the command for the other machine by a shell, as sshd does, with few variables.
STAND_IN = f"""#!/bin/sh
shift
exec env -i PATH="$PATH" HOME="$HOME" {MARK}="${MARK}" sh -c "$*"
"""


class JobFile(Check):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-check-"))
        )

    def start(self, *systems, words=(), head=""):
        file = self.folder / "job.toml"
        text = "".join(
            f'[[system]]\nname = "{name}"\nnp = {np}\nprogram = "nothing"\n{more}\n'
            for name, np, more in systems
        )
        file.write_text(head + text, encoding="utf-8")
        return self.resources.enter_context(impirun("-check", file, *words))

    def elsewhere(self):
        """Keys of a system that a stand-in for ssh starts."""
        stand_in = self.folder / "reach"
        stand_in.write_text(STAND_IN, encoding="utf-8")
        stand_in.chmod(0o755)
        return f'host = "elsewhere"\nssh = "{stand_in}"\nimpirun = "{ARGUMENTS.impirun}"\n'

    def test_systems_of_a_file(self):
        run = self.start(("a", 2, ""), ("b", 3, ""), words=("-json",))
        report = self.report(run, 0)
        self.assertEqual([each["settings"]["processes"] for each in report["systems"]], [2, 3])
        self.assertEqual(report["here"], 0)
        for begin, end in ((0, 1), (1, 0)):
            self.expect_measured(self.road(report, begin, end))

    def test_a_system_elsewhere(self):
        """Between machines a job file encrypts."""
        head = '[server]\naddress = "127.0.0.1"\n'
        run = self.start(("a", 1, ""), ("b", 2, self.elsewhere()), words=("-json",), head=head)
        report = self.report(run, 0)
        self.assertEqual([each["settings"]["processes"] for each in report["systems"]], [1, 2])
        for begin, end in ((0, 1), (1, 0)):
            road = self.road(report, begin, end)
            self.expect_measured(road)
            self.assertTrue(road["encrypted"])

    def test_the_report_as_a_text(self):
        run = self.start(("a", 1, ""), ("b", 1, ""))
        self.expect(run, 0)
        self.assertEqual(run.out.count("a job can run: "), 1, run)
        self.assertIn("connects    both, 0 -> 1 and 1 -> 0", run.out)

    def test_a_system_that_cannot_join(self):
        """It says why, and the others do not wait for it."""
        for where in ("", self.elsewhere()):
            with self.subTest(where):
                wrong = where + 'environment = {IMPISHIM_STREAMS = "17"}'
                run = self.start(
                    ("a", 1, ""), ("b", 1, wrong), head='[server]\naddress = "127.0.0.1"\n'
                )
                self.expect(run, 1)
                self.assertIn("PROBLEM: IMPISHIM_STREAMS=17", run.out)
                self.assertIn("  cure: correct what the cause names", run.out)

    def test_systems_that_differ(self):
        run = self.start(
            ("a", 1, 'environment = {IMPISHIM_LANES = "2"}'), ("b", 1, ""), words=("-json",)
        )
        report = self.report(run, 1)
        self.expect_finding(report, True, [0], "IMPISHIM_LANES is 2 in system 0", "same settings")

    def test_a_bad_file(self):
        run = self.start(("a", 0, ""))
        self.expect(run, 2)
        self.assertIn("job.toml", run.err)
        run = self.start(("a", 1, ""), words=("-np", "2"))
        self.expect(run, 2)
        self.assertIn("takes the numbers of systems and processes from it", run.err)


if __name__ == "__main__":
    main()
