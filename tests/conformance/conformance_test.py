# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/conformance that need no MPI: lists of tests, verdicts, exceptions, and that
a run leaves nothing behind."""

import pathlib
import re
import sys
import tempfile
import time
import unittest

import judgement
import run_conformance
import running
import suite
import test_lists


class Lists(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.sources = pathlib.Path(directory.name, "sources")
        self.built = pathlib.Path(directory.name, "built")

    def write(self, root, name, text):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_a_line_with_everything(self):
        line = "rma_contig 3 arg=-iter=10 arg=x env=A=b=c timeLimit=300 resultTest=TestStatus mpix=true"
        test = test_lists.parse_line("rma", line, "here")
        self.assertEqual((test.folder, test.program, test.ranks), ("rma", "rma_contig", 3))
        self.assertEqual(test.arguments, ["-iter=10", "x"])
        self.assertEqual(test.variables, {"A": "b=c"})
        self.assertEqual((test.time_limit, test.result_test), (300, "TestStatus"))
        self.assertEqual(test.name, "rma/rma_contig -iter=10 x")

    def test_lines_without_a_test(self):
        for line in ("", "  ", "# winname 2", "!../util:all"):
            self.assertIsNone(test_lists.parse_line("rma", line, "here"))

    def test_ranks_default_to_two(self):
        self.assertEqual(test_lists.parse_line("rma", "winname", "here").ranks, 2)

    def test_a_comment_ends_a_line(self):
        self.assertEqual(test_lists.parse_line("rma", "a 2 # xfail=1", "here").xfail, "")

    def test_what_is_not_understood_is_an_error(self):
        for line in ("a x", "a 0", "a 2 colour=red", "a 2 word", "a 2 timeLimit=long", "a 2 env=A"):
            with self.assertRaisesRegex(test_lists.ListError, "here"):
                test_lists.parse_line("rma", line, "here")
        with self.assertRaisesRegex(test_lists.ListError, "template"):
            test_lists.parse_line("rma", "@largetest@win_large 4", "here")

    def test_folders_inside_and_made_lists(self):
        self.write(self.sources, "threads/testlist.in", "@rmadir@\n")
        self.write(self.built, "threads/testlist", "rma\nother/sub/program 3\n#perf\n")
        self.write(self.sources, "threads/rma/testlist", "multirma 2\nmultiget 2\n")
        tests = test_lists.read_folder(self.built, self.sources, "threads")
        names = ["threads/rma/multirma", "threads/rma/multiget", "threads/other/sub/program"]
        self.assertEqual([test.name for test in tests], names)
        self.assertEqual(tests[2].program, "program")

    def test_a_folder_without_a_list_is_an_error(self):
        with self.assertRaisesRegex(test_lists.ListError, "nothing has no list"):
            test_lists.read_folder(self.built, self.sources, "nothing")

    def test_selection(self):
        tests = [test_lists.Test("rma", f"program{number}") for number in range(10)]
        chosen = test_lists.select(tests, re.compile("program[0-7]"), sample=3, seed=1)
        self.assertEqual([test.program for test in chosen], ["program1", "program4", "program7"])


class Verdicts(unittest.TestCase):
    def expect(self, verdict, result_test, code, text):
        self.assertEqual(judgement.judge(result_test, code, text), verdict)

    def test_the_usual_rule(self):
        self.expect("passed", "", 0, " No Errors\n")
        self.expect("passed", "", 0, " No errors\nTest Passed\n\nFORTRAN STOP\n")
        joining = "impirun: 1 of 2 systems have joined; missing: 0\n"
        self.expect("passed", "", 0, f"{joining} No Errors\n")
        self.expect("failed", "", 0, joining)
        self.expect("failed", "", 0, " No Errors\n Found 1 errors\n")
        self.expect("failed", "", 1, " No Errors\n")
        self.expect("failed", "", 0, "")
        self.expect("failed", "", 0, "There were No Errors\n")

    def test_programs_that_must_end_in_an_error(self):
        for rule in ("TestStatus", "TestErrFatal"):
            self.expect("passed", rule, 3, "anything\n")
            self.expect("failed", rule, 0, " No Errors\n")
        self.expect("passed", "TestStatusNoErrors", 1, " No Errors\n")
        self.expect("failed", "TestStatusNoErrors", 0, " No Errors\n")
        with self.assertRaises(judgement.UnknownRule):
            judgement.judge("TestMood", 0, "")

    def test_refused_and_hung(self):
        text = "MPI_File_open: not supported on a communicator that spans systems, only on one"
        self.expect("refused", "", 1, text)
        self.expect("hung", "", None, " No Errors\n")

    def test_exceptions(self):
        known = judgement.Exceptions(
            ["# comment", "", r"mpich 2+2 io/.*: files are refused", "* * rma/a -x=1: b: c"], "here"
        )
        self.assertEqual(known.cause("mpich", "2+2", "io/open"), "files are refused")
        self.assertIsNone(known.cause("openmpi", "2+2", "io/open"))
        self.assertIsNone(known.cause("mpich", "1+1", "io/open"))
        self.assertEqual(known.cause("openmpi", "1+1", "rma/a -x=1"), "b: c")
        self.assertIsNone(known.cause("openmpi", "1+1", "rma/a -x=10"))
        with self.assertRaisesRegex(ValueError, "here:1"):
            judgement.Exceptions(["rma/a without a cause"], "here")

    def test_the_exceptions_of_the_tree_can_be_read(self):
        place = run_conformance.HERE / "exceptions.txt"
        judgement.Exceptions(place.read_text().splitlines(), place.name)


class Summary(unittest.TestCase):
    RESULTS = [
        {"folder": "rma", "mpi": "mpich", "shape": "2+2", "test": "a", "native": "passed"},
        {"folder": "rma", "mpi": "mpich", "shape": "2+2", "test": "b", "native": "passed"},
        {"folder": "rma", "mpi": "mpich", "shape": "2+2", "test": "c", "native": "failed"},
        {"folder": "rma", "mpi": "mpich", "shape": "2+2", "test": "d", "native": "passed"},
    ]

    def results(self):
        first, second, third, fourth = (dict(result) for result in self.RESULTS)
        first["joined"] = "passed"
        second.update(joined="hung", cause=None)
        fourth.update(joined="refused", cause="files")
        return [first, second, third, fourth]

    def test_only_unknown_failures_count(self):
        surprises = run_conformance.surprises(self.results())
        self.assertEqual([result["test"] for result in surprises], ["b"])

    def test_the_table_counts(self):
        lines = run_conformance.table(self.results())
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[1].split()[3:], ["4", "3", "1", "1", "0", "1", "1"])


class Runs(unittest.TestCase):
    def test_a_build_that_takes_too_long_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "log")
            command = ["sh", "-c", "sleep 600 & echo $!; wait"]
            with self.assertRaisesRegex(suite.SuiteError, "not over after 1 seconds"):
                suite.run_logged(command, log, timeout=1)
            child = pathlib.Path("/proc", log.read_text().strip(), "cmdline")
            for _ in range(100):
                if not child.exists() or not child.read_bytes():
                    break
                time.sleep(0.01)
            self.assertFalse(child.exists() and child.read_bytes())

    def test_shapes(self):
        self.assertEqual(running.shape_counts("1+1+2"), [1, 1, 2])
        for shape in ("4", "2+", "3+2", "a+b", "0+2"):
            with self.assertRaises(ValueError):
                running.shape_counts(shape)

    def test_what_hangs_is_ended_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text("#!/bin/sh\necho begun\nsetsid sleep 600 &\nexec sleep 600\n")
            program.chmod(0o755)
            runner = running.Runner(pathlib.Path(folder), limit=1)
            runner.yielding = ""
            test = test_lists.Test("rma", "program", variables={"OWN": "1"})
            run = runner.run(["./program"], [program], test)
        self.assertIsNone(run.code)
        self.assertEqual(run.text, "begun\n")
        self.assertEqual(running.run_system_test.processes_of(run.mark), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
