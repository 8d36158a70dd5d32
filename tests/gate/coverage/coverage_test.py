# SPDX-License-Identifier: Apache-2.0
"""scripts/coverage on small trees: what counts as a call, and what --check objects to."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
sys.path.insert(0, str(SCRIPTS / "lib"))
sys.dont_write_bytecode = True
from called_functions import Sources, calls_in_c, calls_in_fortran  # noqa: E402
from test_programs import BuildTree, joined_programs  # noqa: E402


def load():
    loader = importlib.machinery.SourceFileLoader("coverage_script", str(SCRIPTS / "coverage"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("coverage_script", loader)
    )
    loader.exec_module(module)
    return module


COVERAGE = load()


class Calls(unittest.TestCase):
    def test_a_call_counts(self):
        self.assertEqual(dict(calls_in_c("x = MPI_Send(a); PMPI_Send(b); ")), {"MPI_Send": 2})
        self.assertIn("MPI_Recv", calls_in_c("return MPI_Recv(a);"))
        self.assertIn("MPI_Wait", calls_in_c("REQUIRE(MPI_Wait(&r, s) == 0);"))

    def test_a_function_that_is_handed_on_counts(self):
        self.assertIn("MPI_Send", calls_in_c("modes = {blocking(MPI_Send, 1)};"))

    def test_comments_texts_and_declarations_do_not(self):
        for text in (
            "// MPI_Send(a)",
            "/* MPI_Send(a)\n MPI_Send(b) */",
            'puts("MPI_Send(a)");',
            "int MPI_Send(const void* data);",
            "int MPI_Send(const void* data) {",
            "#if 0\nMPI_Send(a);\n#endif",
            "x = MPI_Sendrecv_only;",
        ):
            self.assertNotIn("MPI_Send", calls_in_c(text), text)

    def test_fortran(self):
        found = calls_in_fortran(
            "  CALL MPI_Send(a)\n! call mpi_recv(b)\nprint *, 'call mpi_wait(c)'"
        )
        self.assertEqual(dict(found), {"mpi_send": 1})

    def test_headers_of_the_tests_count(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tests").mkdir()
            (root / "tests/a.hpp").write_text("inline void f() { MPI_Barrier(c); }")
            (root / "tests/a.cpp").write_text('#include "tests/a.hpp"\nint main() { f(); }')
            self.assertIn("MPI_Barrier", Sources(root).calls(root / "tests/a.cpp"))

    def test_names_of_pieces_are_read_behind_the_preprocessor(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "a.c"
            file.write_text("#define CALL(x) MPI_##x(1)\nint f() { return CALL(Scan); }")
            command = f"cc -O1 -o a.o -c {file}"
            self.assertIn("MPI_Scan", Sources(folder).calls(file, command))


class Programs(unittest.TestCase):
    def test_only_joined_runs_count(self):
        tests = [
            {"name": "a.native", "command": ["run", "--shape", "native", "--", "/b/x_mpich"]},
            {"name": "a.2+2", "command": ["run", "--shape", "2+2", "--", "/b/y_mpich"]},
        ]
        self.assertEqual(joined_programs(tests), {"/b/y_mpich": ["a.2+2"]})

    def test_sources_of_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "build.ninja").write_text(
                "build p/x_mpich: LINK o/x.cpp.o | lib.so\nbuild o/x.cpp.o: CC /s/x.cpp || first\n"
            )
            found = list(
                BuildTree(folder).sources(str(pathlib.Path(folder).resolve() / "p/x_mpich"))
            )
            self.assertEqual(found, [(pathlib.Path("/s/x.cpp"), None)])


class FakeCalls:
    def __init__(self, tests):
        self.tests = tests

    def test_of(self, mpi, function):
        return self.tests.get(function)


WRAPPED = [
    ["MPI_Send", "intercept", ""],
    ["MPI_Wtime", "forward", "takes nothing"],
    ["MPI_Comm_spawn", "refuse", "takes a communicator"],
]
REFUSED = [{"state": "to_come", "pattern": "MPI_Comm_spawn", "text": "processes", "used": False}]
VERSIONS = {"mpich": "4.0.2"}


class Check(unittest.TestCase):
    def problems(self, wrapped=WRAPPED, refused=REFUSED, tests=None, change_readme=str):
        refused = [dict(line) for line in refused]
        calls = FakeCalls({"MPI_Send": "modes.mpich.2+2"} if tests is None else tests)
        rows = COVERAGE.rows_of("mpich", wrapped, refused, calls)
        text = COVERAGE.summary(rows, VERSIONS)
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text(f"{COVERAGE.BEGIN}\n{change_readme(text)}\n{COVERAGE.END}\n")
            return list(COVERAGE.problems(rows, refused, text, readme, VERSIONS))

    def test_a_good_tree(self):
        self.assertEqual(self.problems(), [])

    def test_a_function_without_a_test(self):
        self.assertRegex(self.problems(tests={})[0], r"MPI_Send \(MPICH\) .* no test")

    def test_a_refused_function_without_a_row(self):
        found = self.problems(wrapped=WRAPPED + [["MPI_New", "refuse", "takes a communicator"]])
        self.assertRegex(found[0], "MPI_New .* has no line")

    def test_a_line_that_is_not_needed_any_more(self):
        self.assertRegex(self.problems(wrapped=WRAPPED[:2])[0], "MPI_Comm_spawn fits no function")

    def test_too_many_stay_refused(self):
        more = [[f"MPI_X{i}", "refuse", "takes a communicator"] for i in range(11)]
        stays = {"state": "stays", "pattern": "MPI_X*", "text": "because", "used": False}
        found = self.problems(wrapped=WRAPPED + more, refused=REFUSED + [stays])
        self.assertRegex(found[0], "11 functions stay refused, more than 10")

    def test_another_summary_in_the_readme(self):
        found = self.problems(change_readme=lambda text: text.replace("| 1 |", "| 2 |"))
        self.assertRegex(found[0], "another summary")

    def test_files_are_refused_while_they_cannot_be_opened(self):
        wrapped = [["MPI_File_open", "refuse", ""], ["MPI_File_read", "forward", "takes none"]]
        rows = COVERAGE.rows_of("mpich", wrapped, [], FakeCalls({}))
        self.assertEqual([row["class"] for row in rows], ["refused", "refused"])


if __name__ == "__main__":
    unittest.main()
