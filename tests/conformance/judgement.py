# SPDX-License-Identifier: Apache-2.0
"""When a test program has passed: MPICH's rules (runtests.in), and what else can become of it."""

import re

PASSED, REFUSED, FAILED, HUNG = "passed", "refused", "failed", "hung"

NO_ERRORS = re.compile(r"\s*No [Ee]rrors\s*")
# What may stand beside it.
HARMLESS = re.compile(
    r"\s*Test Passed\s*|.*FORTRAN STOP.*|impirun: \d+ of \d+ systems have joined.*|"
)
# What this library says of a function that it does not support on a spanning object.
REFUSAL = re.compile(
    r"not supported on a communicator that spans|not supported in a joined job"
    r"|\(see README, limits\)|MPI_ERR_UNSUPPORTED_OPERATION"
)


class UnknownRule(Exception):
    """A resultTest= that is none of MPICH's."""


def follows_rule(result_test, code, text):
    """Whether MPICH would count a run as passed."""
    if result_test == "TestErrFatal":
        return code != 0
    if result_test == "TestStatus":
        # MPICH's own check of the output ends at the first line.
        return code != 0
    if result_test not in ("", "TestStatusNoErrors"):
        raise UnknownRule(result_test)
    if (code != 0) != (result_test == "TestStatusNoErrors"):
        return False
    lines = text.splitlines()
    said = any(NO_ERRORS.fullmatch(line) for line in lines)
    return said and all(NO_ERRORS.fullmatch(line) or HARMLESS.fullmatch(line) for line in lines)


def judge(result_test, code, text):
    """What became of a run: `code` is None if it was ended at its time limit."""
    if code is None:
        return HUNG
    if follows_rule(result_test, code, text):
        return PASSED
    return REFUSED if REFUSAL.search(text) else FAILED


class Exceptions:
    """Programs that pass natively and not joined, each with its cause. A line of the file is
    "MPI SHAPE EXPRESSION: cause"; * stands for every MPI or shape, and the expression must match a
    test's name from its begin to its end."""

    def __init__(self, lines, place):
        self.entries = []
        for number, line in enumerate(lines, start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            found = re.fullmatch(r"(\S+)\s+(\S+)\s+(.+?):\s+(.+)", line)
            if not found:
                raise ValueError(f"{place}:{number}: not \"MPI SHAPE EXPRESSION: cause\"")
            mpi, shape, expression, cause = found.groups()
            self.entries.append((mpi, shape, re.compile(expression), cause))
        self.used = set()

    def cause(self, mpi, shape, name):
        """The cause of an exception, or None."""
        for number, (its_mpi, its_shape, expression, cause) in enumerate(self.entries):
            if its_mpi in ("*", mpi) and its_shape in ("*", shape) and expression.fullmatch(name):
                self.used.add(number)
                return cause
        return None
