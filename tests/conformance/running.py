# SPDX-License-Identifier: Apache-2.0
"""Runs a test program, natively or joined, in a folder of its own, and leaves no process behind."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import run_system_test  # noqa: E402

MOST_RANKS = 4
# A program that prints without end fills no disk.
LONGEST_OUTPUT = 1 << 20


class Run:
    def __init__(self, code, text, seconds, left, mark):
        self.code, self.text, self.seconds, self.left = code, text, seconds, left
        self.mark = mark


def shape_counts(shape):
    """The ranks of each system: [2, 2] for 2+2."""
    counts = [int(count) if count.isdigit() else 0 for count in shape.split("+")]
    if len(counts) < 2 or 0 in counts or sum(counts) > MOST_RANKS:
        raise ValueError(
            f"{shape} is no shape of two systems or more with at most {MOST_RANKS} ranks"
        )
    return counts


class Runner:
    def __init__(self, build, limit):
        self.impirun = str(build / "bin/impirun")
        self.yielding = str(build / "tests/libimpishim_yielding.so")
        self.limit = limit

    def native(self, program, vendor, ranks, test):
        arguments = [f"./{program.name}", *test.arguments]
        return self.run([f"mpiexec.{vendor}", "-n", str(ranks), *arguments], [program], test)

    def joined(self, programs, shape, test):
        """Runs one job over several systems, which take the programs in turn."""
        command = [self.impirun]
        for system, count in enumerate(shape_counts(shape)):
            program = programs[system % len(programs)]
            command += [":"] if system else []
            command += ["-np", str(count), f"./{self.link_name(program, programs)}"]
            command += test.arguments
        return self.run(command, programs, test)

    @staticmethod
    def link_name(program, programs):
        """The name in the scratch folder. Programs start others as ./name, which all systems find."""
        return (
            program.name if program == programs[0] else f"{program.name}.{programs.index(program)}"
        )

    def variables(self, test, mark):
        variables = {**os.environ, **run_system_test.LAUNCHER_VARIABLES, "IMPI_AUTH_NONE": "1"}
        variables["LD_PRELOAD"] = self.yielding
        if 0 < test.time_limit < self.limit:
            variables["MPIEXEC_TIMEOUT"] = str(test.time_limit)
        return {**variables, **test.variables, run_system_test.MARK: mark}

    def run(self, command, programs, test):
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="impishim-conformance-"))
        mark = uuid.uuid4().hex
        begin = time.monotonic()
        try:
            # Programs read files and start programs that lie beside them.
            for entry in programs[0].parent.iterdir():
                (scratch / entry.name).symlink_to(entry)
            for program in programs[1:]:
                (scratch / self.link_name(program, programs)).symlink_to(program)
            with open(scratch / ".output", "wb") as output:
                process = subprocess.Popen(
                    command,
                    cwd=scratch,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self.variables(test, mark),
                    start_new_session=True,
                )
                code, left = self.wait(process, mark)
            with open(scratch / ".output", "rb") as output:
                text = output.read(LONGEST_OUTPUT).decode(errors="replace")
            return Run(code, text, time.monotonic() - begin, left, mark)
        finally:
            run_system_test.end_leftovers(mark, 0)
            shutil.rmtree(scratch, ignore_errors=True)

    def wait(self, process, mark):
        """The exit code, or None at the time limit, and how many processes had to be ended."""
        try:
            code = process.wait(self.limit)
        except subprocess.TimeoutExpired:
            # The launchers' handlers would take a while to end what is stuck.
            run_system_test.end_leftovers(mark, 0)
            process.send_signal(signal.SIGKILL)
            process.wait()
            return None, 0
        return code, len(run_system_test.end_leftovers(mark, 5))
