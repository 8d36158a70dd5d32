# SPDX-License-Identifier: Apache-2.0
"""The ways in which libimpishim.so gets into a process, without and with a joined job."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "support"))
from run_system_test import LAUNCHER_VARIABLES, whole_lines  # noqa: E402

parser = argparse.ArgumentParser()
for option in ("--library", "--soname", "--mpiexec", "--impirun", "--programs", "--python"):
    parser.add_argument(option, required=True)
ARGUMENTS, REST = parser.parse_known_args()
PROGRAMS = pathlib.Path(ARGUMENTS.programs)
LIBRARY = ARGUMENTS.library
BY_HANDLE = pathlib.Path(LIBRARY).with_name("by-handle")
OPENER = pathlib.Path(__file__).with_name("by_handle.py")
SECONDS = 60


def run(*command, **environment):
    """Runs a command to its end and returns it with its output; no variable of ours reaches it
    unless given."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IMPI", "LD_PRELOAD"))
    }
    with subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**clean, **LAUNCHER_VARIABLES, **environment},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            raise AssertionError(f"no end after {SECONDS} s: {command}\n{out}\n{err}") from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def natively(ranks, *command, preload=None):
    """`command` as `ranks` processes of one native job; `preload` reaches the program only."""
    program = ["env", f"LD_PRELOAD={preload}", *command] if preload else list(command)
    return run(ARGUMENTS.mpiexec, "-n", ranks, *program)


def joined(systems, ranks, *command):
    return run(ARGUMENTS.impirun, "-systems", systems, "-n", ranks, *command, IMPI_AUTH_NONE="")


def lines(done, begin=r"rank \d|f08 \d|14 calls,"):
    # A linked program names the library with its version.
    return whole_lines(re.sub(r"(libimpishim\.so)\.\d+\b", r"\1", done.stdout), begin)


class Case(unittest.TestCase):
    def check(self, done, status=0):
        self.assertEqual(done.returncode, status, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def opened(self, size, origin):
        """What by_handle.py prints if MPI_Send comes from `origin`."""
        other = "MPIR_Err_create_code" if "mpich" in ARGUMENTS.soname else "ompi_comm_free"
        total = sum(range(size))
        return [
            f"rank {rank} of {size}, sum {total}, MPI_Send in {origin}, {other} in {ARGUMENTS.soname}"
            for rank in range(size)
        ]

    def need_mpi4py(self):
        found = run(ARGUMENTS.python, "-c", "import mpi4py.MPI; print(mpi4py.MPI.__file__)")
        if found.returncode != 0:
            self.skipTest(f"no mpi4py: {found.stderr.strip().splitlines()[-1]}")
        if ARGUMENTS.soname not in run("ldd", found.stdout.strip()).stdout:
            self.skipTest(
                f"{found.stdout.strip()} is built for another MPI than {ARGUMENTS.soname}"
            )


class WithoutTheVariables(Case):
    def transparent(self, program, preload=None):
        with tempfile.NamedTemporaryFile() as file:
            os.environ["TRANSPARENT_FILE"] = file.name
            return lines(self.check(natively(3, PROGRAMS / program, preload=preload)))

    def test_preloading_changes_nothing(self):
        """Same results, no thread and no socket more."""
        native = self.transparent("transparent")
        self.assertEqual(len(native), 15, native)
        self.assertEqual(self.transparent("transparent", preload=LIBRARY), native)

    def test_linking_changes_nothing(self):
        needed = re.findall(
            r"NEEDED.*\[(.*)\]", run("readelf", "-d", PROGRAMS / "transparent_linked").stdout
        )
        versioned = [name for name in needed if re.fullmatch(r"libimpishim\.so\.\d+", name)]
        self.assertEqual(len(versioned), 1, needed)
        self.assertLess(needed.index(versioned[0]), needed.index(ARGUMENTS.soname))
        self.assertEqual(self.transparent("transparent_linked"), self.transparent("transparent"))

    def test_both_names_lead_to_the_shim(self):
        expected = ["rank 0 of 2, sum 1, MPI_Send in libimpishim.so, PMPI_Send in libimpishim.so"]
        self.assertEqual(
            lines(self.check(natively(2, PROGRAMS / "direct", preload=LIBRARY)))[:1], expected
        )
        self.assertEqual(lines(self.check(natively(2, PROGRAMS / "direct_linked")))[:1], expected)

    def test_programs_without_mpi(self):
        for command in (
            ["true"],
            ["sh", "-c", "echo out; echo err >&2; exit 3"],
            ["sh", "-c", "ls / | sort | cat"],
            [ARGUMENTS.python, "-c", "import threading; print(threading.active_count())"],
        ):
            plain = run(*command)
            preloaded = run(*command, LD_PRELOAD=LIBRARY)
            self.assertEqual(
                (preloaded.returncode, preloaded.stdout, preloaded.stderr),
                (plain.returncode, plain.stdout, plain.stderr),
            )

    def test_plugin_opened_locally(self):
        """MPI comes in with dlopen(RTLD_LOCAL), the shim before it or with it."""
        shim = "MPI_Send in libimpishim.so, PMPI_Send in libimpishim.so"
        preloaded = natively(
            2, PROGRAMS / "plugin_main", PROGRAMS / "libplugin.so", preload=LIBRARY
        )
        self.assertEqual(
            lines(self.check(preloaded)), [f"rank {rank} of 2, sum 1, {shim}" for rank in range(2)]
        )
        linked = natively(2, PROGRAMS / "plugin_main", PROGRAMS / "libplugin_linked.so")
        self.assertEqual(
            lines(self.check(linked)), [f"rank {rank} of 2, sum 1, {shim}" for rank in range(2)]
        )

    def test_a_tool_on_top(self):
        done = natively(2, PROGRAMS / "direct", preload=f"{PROGRAMS}/libtool.so:{LIBRARY}")
        tools = [
            line
            for line in lines(self.check(done), r"tool: |rank \d of 2, sum")
            if line.startswith("tool")
        ]
        self.assertEqual(
            tools, [f"tool: rank {rank} of 2 saw 2 calls, rank {rank}" for rank in range(2)]
        )

    def test_fortran(self):
        if not (PROGRAMS / "bindings").exists():
            self.skipTest("this MPI has no Fortran compiler here")
        native = lines(self.check(natively(3, PROGRAMS / "bindings", 3)))
        self.assertEqual(
            native,
            [f"f08 {rank} of 3 sum 3 mpif.h {rank} 3 3 calls 5 wrong 0" for rank in range(3)],
        )
        self.assertEqual(
            lines(self.check(natively(3, PROGRAMS / "bindings", 3, preload=LIBRARY))), native
        )

    def test_opened_by_handle(self):
        """Only the folder in LD_LIBRARY_PATH brings the library in, under the vendor's name."""
        command = (ARGUMENTS.python, OPENER, ARGUMENTS.soname)
        native = lines(self.check(natively(2, *command)))
        self.assertEqual(native, self.opened(2, ARGUMENTS.soname))
        found = natively(2, "env", f"LD_LIBRARY_PATH={BY_HANDLE}", *command)
        self.assertEqual(lines(self.check(found)), self.opened(2, "libimpishim.so"))

    def test_mpi4py(self):
        self.need_mpi4py()
        # One write for a line: what several ranks print is mixed otherwise.
        program = (
            "from mpi4py import MPI; import sys; c = MPI.COMM_WORLD; "
            "sys.stdout.write(f\"rank {c.rank} {c.allreduce(c.rank)} {c.bcast('x' if c.rank == 0 else 0)}\\n\")"
        )
        command = (ARGUMENTS.python, "-c", program)
        self.assertEqual(
            lines(self.check(natively(2, *command, preload=LIBRARY))),
            lines(self.check(natively(2, *command))),
        )


class Joined(Case):
    def test_refused_by_name(self):
        done = self.check(joined(2, 4, PROGRAMS / "refused"))
        self.assertEqual(
            lines(done), [f"rank {rank} of 4: 0 failures" for rank in range(4)], done.stdout
        )
        # Each process prints the first refusal of each function, whatever the error handler; the
        # program has tried most of them twice.
        for function in ("MPI_Win_allocate_shared:", "MPI_Win_start:"):
            self.assertEqual(
                len(re.findall(rf"impishim: rank \d: {function}", done.stderr)), 4, done.stderr
            )

    def test_fatal_errors_end_all_systems(self):
        done = joined(2, 4, PROGRAMS / "fatal")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("went on", done.stdout)
        # Once where it happened; the other system repeats it as its cause.
        text = "impishim: rank 0: MPI_Win_allocate_shared: the members are on several machines"
        self.assertEqual(done.stderr.count(text), 1, done.stderr)

    def test_callbacks_see_the_joined_job(self):
        native = lines(self.check(natively(4, PROGRAMS / "callbacks", 4)))
        self.assertEqual(native, ["14 calls, 0 wrong"] * 4)
        self.assertEqual(lines(self.check(joined(2, 4, PROGRAMS / "callbacks", 4))), native)

    def test_fortran(self):
        if not (PROGRAMS / "bindings").exists():
            self.skipTest("this MPI has no Fortran compiler here")
        native = lines(self.check(natively(4, PROGRAMS / "bindings", 4)))
        self.assertEqual(lines(self.check(joined(2, 4, PROGRAMS / "bindings", 4))), native)

    def test_mpi4py(self):
        """An interpreter, whose MPI comes in with a module."""
        self.need_mpi4py()
        command = (ARGUMENTS.python, pathlib.Path(__file__).with_name("objects.py"))
        native = lines(self.check(natively(4, *command)))
        self.assertEqual(
            native, [f"rank {rank} of 4: objects as they should be" for rank in range(4)]
        )
        mpi = "openmpi" if "openmpi" in ARGUMENTS.mpiexec else "mpich"
        done = self.check(
            run(ARGUMENTS.impirun, "-mpi", mpi, "-np", 2, *command, ":", "-np", 2, *command)
        )
        self.assertEqual(lines(done), native)

    def test_opened_by_handle(self):
        """With the library preloaded as impirun does, and without."""
        mpi = "openmpi" if "openmpi" in ARGUMENTS.mpiexec else "mpich"
        for preload in ((), ("-u", "LD_PRELOAD")):
            command = ("env", *preload, f"LD_LIBRARY_PATH={BY_HANDLE}", ARGUMENTS.python, OPENER)
            system = ("-np", 2, *command, ARGUMENTS.soname)
            done = self.check(run(ARGUMENTS.impirun, "-mpi", mpi, *system, ":", *system))
            self.assertEqual(lines(done), self.opened(4, "libimpishim.so"))

    def test_linked_program(self):
        shim = "MPI_Send in libimpishim.so, PMPI_Send in libimpishim.so"
        done = self.check(joined(2, 3, PROGRAMS / "direct_linked"))
        self.assertEqual(lines(done), [f"rank {rank} of 3, sum 3, {shim}" for rank in range(3)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + REST, verbosity=2)
