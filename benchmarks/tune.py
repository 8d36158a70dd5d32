#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures each form of each collective between the systems of a job, and writes those that are
faster than the library's own choice as a table for IMPISHIM_COLLECTIVES=@FILE. The file must have
the same contents in every system.

Forms take turns, round after round. A form is taken if its median is at least 5 % below that of the
library's choice. Ends with the cause if a run fails. """

import argparse
import pathlib
import re
import statistics
import subprocess
import sys

from harness import describe_machine, enter_scheduling_group, fail, run

GAIN = 0.95
BUDGET_US = 50000
COLLECTIVES = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
]
# Their forms are chosen by the bytes of all ranks' blocks together, others' by those of one.
BY_ALL_BLOCKS = {"allgather", "allgatherv", "reduce_scatter"}
VARIABLES = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_osc": "^ucx"}


class Job:
    """The command that runs the measuring program in a joined job."""

    def __init__(self, build, mpi, words):
        self.program = build / "tests/programs" / f"bench_collectives_{mpi}"
        half = ["-np", "2", "{program}"]
        self.words = words or [str(build / "bin/impirun"), "-mpi", mpi, *half, ":", *half]
        if "{program}" not in self.words:
            fail("the command has no word {program}, which stands for the measuring program")

    def command(self, setting, arguments):
        expanded = ["env", f"IMPISHIM_COLLECTIVES={setting}", self.program, *arguments]
        words = []
        for word in self.words:
            words += expanded if word == "{program}" else [word]
        return [str(word) for word in words]

    def forms_of(self, collective):
        """The library names them when it refuses a word."""
        done = subprocess.run(
            self.command(f"{collective}=?", ["8", "1", "calls", "barrier"]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = re.search(r"allowed are ([\w, ]+), default", done.stderr)
        if found is None:
            fail(f"the job does not run: {done.stderr[-2000:]}")
        return found.group(1).split(", ")

    def times(self, setting, sizes, names):
        """Microseconds by collective and size, and the number of ranks."""
        out, shown = run(
            self.command(setting, [",".join(map(str, sizes)), BUDGET_US, "calls", *names]),
            VARIABLES,
        )
        lines = [line.split() for line in out.splitlines()]
        times = {
            (words[1], int(words[2])): float(words[3])
            for words in lines
            if len(words) == 4 and words[0] == "time"
        }
        ranks = [int(words[1]) for words in lines if len(words) == 2 and words[0] == "ranks"]
        if not times or not ranks:
            fail(f"no times in the output of: {shown}\n{out[-2000:]}")
        return times, ranks[0]


def measure(job, sizes, rounds):
    """(form, collective, size) -> times, and the number of ranks. The form None is the library's
    choice."""
    by_form = {}
    for collective in COLLECTIVES:
        for form in job.forms_of(collective):
            by_form.setdefault(form, []).append(collective)
    found, ranks = {}, 0
    for turn in range(rounds):
        for form, names in [(None, COLLECTIVES), *by_form.items()]:
            print(f"round {turn + 1} of {rounds}: {form or 'default'}", file=sys.stderr)
            setting = ",".join(f"{name}={form or 'default'}" for name in names)
            times, ranks = job.times(setting, sizes, names)
            for (name, size), us in times.items():
                found.setdefault((form, name, size), []).append(us)
    return found, ranks


def best_form(found, collective, size):
    """The form to take, its time, and that of the library's choice."""
    usual = statistics.median(found[None, collective, size])
    others = [
        (statistics.median(times), form)
        for (form, name, its_size), times in found.items()
        if form is not None and (name, its_size) == (collective, size)
    ]
    us, form = min(others)
    return (form, us, usual) if us < GAIN * usual else ("default", usual, usual)


def table(found, ranks, sizes):
    """Lines of the file: one for each size at which the form changes."""
    lines = []
    for collective in COLLECTIVES:
        before = "default"
        for size in sizes:
            form, us, usual = best_form(found, collective, size)
            if form == before:
                continue
            before = form
            first = size if size != sizes[0] else 0
            bytes_from = first * (ranks if collective in BY_ALL_BLOCKS else 1)
            item = f"{collective}@{bytes_from}={form}"
            lines.append(f"{item:<36}# {size} B each: {us:.1f} us, by default {usual:.1f} us")
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("collectives.table"))
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: %(default)s)")
    parser.add_argument(
        "--sizes",
        default="8,1024,16384,65536,262144,1048576,4194304",
        help="bytes of a block (default: %(default)s)",
    )
    parser.add_argument("--mpi", default="openmpi", choices=["mpich", "openmpi"])
    parser.add_argument("command", nargs="*", help="the joined job, with {program} in each system")
    arguments = parser.parse_args()
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    job = Job(arguments.build.resolve(), arguments.mpi, arguments.command)
    machine = describe_machine()
    enter_scheduling_group(machine)
    found, ranks = measure(job, sizes, arguments.rounds)
    lines = table(found, ranks, sizes)
    head = [
        f"# Forms of collectives, measured on {ranks} ranks: {' '.join(job.words)}",
        f"# Medians of {arguments.rounds} rounds; {machine['processor']}",
        f"# Use: IMPISHIM_COLLECTIVES=@{arguments.output}, in every system",
    ]
    arguments.output.write_text("\n".join([*head, *lines]) + "\n")
    print("\n".join(lines) or "The library's own choice is the fastest everywhere.")
    print(f"\ntune: {len(lines)} items; {arguments.output}")


if __name__ == "__main__":
    main()
