#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench startup: MPI_Init and MPI_Finalize of a joined job, from the
launch to the end of the last process, beside plain launchers of the same programs, as many at once
as the job has systems.

Contestants take turns, round after round; a row's ratio is the median of the rounds' ratios. Ends
with the cause if a run fails. """

import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from harness import begin, fail, report, rounds_parser, run

GOAL = 1.25
TOLERANCE = 1.05
LIMIT_S = 60
SHAPES = {"1+1": [1, 1], "2+2": [2, 2], "8+8": [8, 8], "16": [16], "16 of one": [1] * 16}
VARIABLES = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
LAUNCHERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"],
}


def joined(build, mpi, program, shape, _):
    sections = []
    for ranks in shape:
        sections += [":"] if sections else []
        sections += ["-np", ranks, program]
    began = time.monotonic()
    run([build / "bin/impirun", *sections], VARIABLES)
    return time.monotonic() - began


def launch_plain(mpi, program, ranks, folder):
    """Starts a launcher with a folder of its own for temporary files: Open MPI's launchers that start
    at the same moment fail when two of them make the same folder."""
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*LAUNCHERS[mpi], "-np", str(ranks), str(program)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **VARIABLES, "OMPI_MCA_orte_tmpdir_base": str(folder)},
    )


def end(started):
    for process in started:
        process.terminate()
    for process in started:
        process.wait()


def plain(_, mpi, program, shape, folder):
    """All launchers at once, until the last has ended."""
    began = time.monotonic()
    started = [
        launch_plain(mpi, program, ranks, folder / str(number))
        for number, ranks in enumerate(shape)
    ]
    for process in started:
        try:
            _, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            end(started)
            fail(f"no end within {LIMIT_S} s: {process.args}")
        if process.returncode != 0:
            end(started)
            fail(f"exit code {process.returncode}: {process.args}\n{errors[-2000:]}")
    return time.monotonic() - began


def measure(build, mpi, shape, rounds):
    program = build / "tests/programs" / f"bench_startup_{mpi}"
    pairs = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for turn in range(rounds):
            order = [joined, plain] if turn % 2 == 0 else [plain, joined]
            times = {each: each(build, mpi, program, shape, folder) for each in order}
            pairs.append((times[joined], times[plain]))
    return pairs


def row_of(mpi, name, pairs):
    ratios = [ours / theirs for ours, theirs in pairs]
    ratio = statistics.median(ratios)
    return {
        "group": "startup",
        "name": f"{mpi} {name}",
        "unit": "ms",
        "joined": statistics.median(ours for ours, _ in pairs) * 1000,
        "plain": statistics.median(theirs for _, theirs in pairs) * 1000,
        "ratio": ratio,
        "ratios": ratios,
        "goal": GOAL,
        "verdict": "pass" if ratio <= GOAL * TOLERANCE else "short",
    }


def main():
    parser = rounds_parser(__doc__, 15)
    parser.add_argument("--only", default="", help="MPI and shape, as in 'mpich 2+2'")
    arguments, machine, rounds, started = begin(parser, ", ms")
    build, rows = arguments.build, []
    print(f"{'':<22}{'joined':>10}{'plain':>10}{'ratio':>8}")
    for mpi in LAUNCHERS:
        for name, shape in SHAPES.items():
            if arguments.only and arguments.only != f"{mpi} {name}":
                continue
            row = row_of(mpi, name, measure(build, mpi, shape, rounds))
            rows.append(row)
            print(
                f"  {row['name']:<20}{row['joined']:>10.0f}{row['plain']:>10.0f}{row['ratio']:>8.2f} {row['verdict']}",
                flush=True,
            )
    if not rows:
        parser.error(f"--only {arguments.only}: one of mpich, openmpi and one of {list(SHAPES)}")
    output = arguments.output or build / "bench_startup.json"
    report("bench startup", output, machine, rounds, started, rows)


if __name__ == "__main__":
    main()
