#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench files: a collective write of 256 MiB by 2 + 2 ranks, from the
opening of the file to its end, with one file system and with systems that ship their data. Beside
it the same program natively on four ranks, and the time of the shipped half of the data over raw
TCP.

The goal: at least 0.9 of the slower of both, since a write can be as fast as neither. Contestants
take turns, round after round; a row's ratio is the median of the rounds' ratios. The program checks
the file. Ends with the cause if a run fails. """

import argparse
import os
import pathlib
import statistics
import tempfile
import time

from harness import describe_machine, enter_scheduling_group, fail, report, run, show_number

MEBIBYTES = 256
RANKS = 4
STREAM_BYTES = 4 << 20
GOAL = 1 / 0.9
# A goal counts as reached within 5 %.
TOLERANCE = 1.05
# Four ranks on fewer processors.
YIELDS = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_osc": "^ucx"}


def time_of(command):
    """Milliseconds of the write."""
    out, shown = run(command, YIELDS)
    for line in out.splitlines():
        words = line.split()
        if words[:2] == ["time", "write"]:
            return float(words[2]) / 1000
    fail(f"no time in the output of: {shown}\n{out[-2000:]}")
    return None


def road(build):
    """Milliseconds that the data of one of two systems takes over raw TCP."""
    out, shown = run([build / "tests/programs/bench_raw_tcp", str(STREAM_BYTES), 500, 40])
    for line in out.splitlines():
        words = line.split()
        if words[:2] == ["bandwidth", str(STREAM_BYTES)]:
            # Bytes in a microsecond.
            return MEBIBYTES / 2 * (1 << 20) / float(words[2]) / 1000
    fail(f"no bandwidth in the output of: {shown}\n{out[-2000:]}")
    return None


def contestants(build, folder, writes):
    def program(mpi, sharing):
        path = pathlib.Path(folder) / f"{mpi}_{sharing}"
        return [build / f"tests/programs/bench_files_{mpi}", path, MEBIBYTES, writes, sharing]

    def native(mpi):
        launcher = [f"mpiexec.{mpi}"]
        if mpi == "openmpi":
            launcher += ["--allow-run-as-root", "--oversubscribe"]
        return time_of([*launcher, "-n", RANKS, *program(mpi, "always")])

    def joined(mpi, sharing):
        section = ["-np", RANKS // 2, *program(mpi, sharing)]
        return time_of([build / "bin/impirun", *section, ":", *section])

    found = [("road", lambda: road(build))]
    for mpi in ("mpich", "openmpi"):
        found += [
            (f"{mpi}: native", lambda mpi=mpi: native(mpi)),
            (f"{mpi}: 2+2, one file system", lambda mpi=mpi: joined(mpi, "always")),
            (f"{mpi}: 2+2, shipped", lambda mpi=mpi: joined(mpi, "never")),
        ]
    return found


def rows_of(rounds):
    rows = []
    for name, values in rounds.items():
        row = {"name": name, "unit": "ms", "median": statistics.median(values), "values": values}
        if "2+2" in name:
            native = rounds[name.split(":")[0] + ": native"]
            ratios = [
                value / (max(first, way) if "shipped" in name else first)
                for value, first, way in zip(values, native, rounds["road"])
            ]
            ratio = statistics.median(ratios)
            row |= {"ratio": ratio, "ratios": ratios, "goal": GOAL}
            row["verdict"] = "pass" if ratio <= GOAL * TOLERANCE else "short"
        else:
            row |= {"verdict": None}
        rows.append(row)
    return rows


def show(rows):
    print(f"\nCollective write of {MEBIBYTES} MiB by {RANKS} ranks, ms; x: to the slower of native")
    print("write and, where data is shipped, road\n")
    for row in rows:
        ratio = f"x {row['ratio']:5.2f} {row['verdict']}" if "ratio" in row else ""
        print(f"  {row['name']:<34} {show_number(row['median']):>8}  {ratio}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--rounds", type=int, help="rounds (default: 7, with --quick 1)")
    parser.add_argument("--folder", help="where the files are written (default: that of TMPDIR)")
    options = parser.parse_args()
    os.environ["IMPI_AUTH_NONE"] = "1"
    count = options.rounds or (1 if options.quick else 7)
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    print(
        f"{machine['processor']}, {machine['processors']} processors, MPICH {machine['mpich']}, "
        f"Open MPI {machine['openmpi']}; medians of {count} rounds"
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        all_contestants = contestants(options.build, folder, 3)
        rounds = {name: [] for name, _ in all_contestants}
        for _ in range(count):
            for name, measure in all_contestants:
                rounds[name].append(measure())
    rows = rows_of(rounds)
    show(rows)
    output = options.output or options.build / "bench_files.json"
    report("bench files", output, machine, count, started, rows)


if __name__ == "__main__":
    main()
