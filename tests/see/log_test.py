# SPDX-License-Identifier: Apache-2.0
"""The log of a joined job: what stands in a line, where it goes, and that no secret does."""

import pathlib
import re
import stat
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, impirun, main  # noqa: E402
from watched import two_systems  # noqa: E402

AREAS = "startup|channel|engine|relay|shuffle|collectives|shim"
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z system (\d+|-) rank (\d+|-) host \S+ "
    rf"({AREAS}) (error|warn|info|debug): \S.*"
)
SECRET = "a secret that no line may hold"


def errors_of(run):
    """The lines of standard error, without those by which the server of a slow start asks for
    patience."""
    slow = re.compile(r"impirun: \d of 2 systems have joined(; missing: .*)?")
    return [line for line in run.lines["err"] if not slow.fullmatch(line)]


class Logs(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.prefix = str(self.folder / "log")

    def run_two_systems(self, *arguments, status=0, **variables):
        """Runs two systems of two ranks; the finished run."""
        with impirun(*two_systems(*arguments), **variables) as run:
            self.expect(run, status)
        return run

    def lines_of(self, rank):
        return (self.folder / f"log.{rank}.log").read_text(encoding="utf-8").splitlines()

    def test_without_settings_a_good_run_is_silent(self):
        run = self.run_two_systems()
        self.assertEqual(errors_of(run), [])

    def test_each_rank_has_a_file_with_complete_lines(self):
        run = self.run_two_systems(
            IMPISHIM_LOG="debug", IMPISHIM_LOG_FILE=self.prefix, IMPISHIM_SECRET=SECRET
        )
        self.assertEqual(errors_of(run), [])
        for rank in range(4):
            path = self.folder / f"log.{rank}.log"
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            found = [LINE.fullmatch(line) for line in self.lines_of(rank)]
            self.assertNotIn(None, found, self.lines_of(rank))
            self.assertLessEqual({"collectives", "shuffle", "shim"}, {m[3] for m in found})
            self.assertIn((str(rank // 2), str(rank)), {(m[1], m[2]) for m in found})
            self.assertNotIn(SECRET, path.read_text(encoding="utf-8"))

    def test_areas_choose_what_standard_error_shows(self):
        run = self.run_two_systems(IMPISHIM_LOG="shuffle=info")
        found = [LINE.fullmatch(line) for line in errors_of(run)]
        self.assertNotIn(None, found, run.err)
        self.assertEqual({(m[3], m[4]) for m in found}, {("shuffle", "info")})
        self.assertEqual({m[2] for m in found}, {"0", "1", "2", "3"})

    def test_ranks_choose_who_records(self):
        self.run_two_systems(
            IMPISHIM_LOG="debug", IMPISHIM_LOG_FILE=self.prefix, IMPISHIM_LOG_RANKS="1,3-9"
        )
        names = {path.name for path in self.folder.iterdir()}
        self.assertEqual(names, {"log.1.log", "log.3.log"})

    def test_a_failure_writes_the_buffer(self):
        self.run_two_systems(
            "abort", status=3, IMPISHIM_LOG_FILE=self.prefix, IMPISHIM_LOG_BUFFER="65536"
        )
        text = "\n".join(self.lines_of(1))
        self.assertIn("of all levels before the failure:", text)
        self.assertRegex(text, "shim debug: a communicator of 4 processes")

    def test_the_interface_sets_the_same(self):
        run = self.run_two_systems("api", self.prefix)
        for rank in range(4):
            found = [LINE.fullmatch(line) for line in self.lines_of(rank)]
            self.assertNotIn(None, found, self.lines_of(rank))
            self.assertIn(("shuffle", "info"), {(m[3], m[4]) for m in found})
        self.assertIn('IMPISHIM_LOG=shuffle=loud: "loud" is no level', run.err)

    def test_a_wrong_variable_ends_impirun(self):
        run = self.run_two_systems(status=2, IMPISHIM_LOG="chanel=debug")
        self.assertIn('impirun: IMPISHIM_LOG=chanel=debug: "chanel" is no area', run.err)

    def test_a_wrong_variable_ends_mpi_init(self):
        words = ["-np", 1, "env", "IMPISHIM_LOG_BUFFER=much", ARGUMENTS.program]
        with impirun("-mpi", ARGUMENTS.program.rsplit("_", 1)[1], *words, ":", *words) as run:
            self.assertNotEqual(run.end(), 0)
        self.assertIn("IMPISHIM_LOG_BUFFER=much: a number of bytes", run.err)


if __name__ == "__main__":
    main()
