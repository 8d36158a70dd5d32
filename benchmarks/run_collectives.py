#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench collectives: every collective on 2 + 2 ranks, impishim beside a
flat MPI over TCP, and the one-way delays that latency-bound collectives take when the systems are
far apart.

Contestants take turns, round after round, and compare themselves with the flat MPI of the same
round; a row's ratio is the median of the rounds' ratios. Programs check their results. Ends with
the cause if a run fails. """

import argparse
import os
import pathlib
import statistics
import time

from harness import (
    describe_machine,
    enter_scheduling_group,
    fail,
    openmpi_over_tcp,
    report,
    run,
    show_number,
    show_size,
)

SIZES = [8, 1024, 65536, 4 << 20]
DELAY_MS = 10
# One-way delays that two systems need, from a common start to the end of the last process.
LEAST_DELAYS = {"barrier": 1, "bcast": 1, "reduce": 1, "allreduce": 1}
DELAY_GOAL = 1.2
FLAT_GOAL = 1.0
BUDGET_US = 50000
LOOPBACK = {"calls": "one call behind a barrier, mean of all ranks", "row": "calls in a row"}


def contestants(build):
    impirun, programs = build / "bin/impirun", build / "tests/programs"
    mpich, openmpi = programs / "bench_collectives_mpich", programs / "bench_collectives_openmpi"
    flat = [*openmpi_over_tcp(4, yields=True), openmpi]
    return [
        ("flat", flat, openmpi, None),
        ("MPICH 2+2", None, mpich, [impirun, "-np", "2", mpich, ":", "-np", "2", mpich]),
        ("Open MPI 2+2", None, openmpi, [impirun, "-np", "2", openmpi, ":", "-np", "2", openmpi]),
        ("mixed 2+2", None, mpich, [impirun, "-np", "2", mpich, ":", "-np", "2", openmpi]),
    ]


def with_arguments(contestant, arguments):
    """The command, with the program's arguments behind every program."""
    _, flat, program, joined = contestant
    command = flat or joined
    out = []
    for word in command:
        out.append(word)
        if str(word) == str(program) or "bench_collectives" in str(word):
            out += arguments
    return out


def times_of(command, variables):
    out, shown = run(command, variables)
    found = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == "time":
            found[words[1], int(words[2])] = float(words[3])
    if not found:
        fail(f"no times in the output of: {shown}\n{out[-2000:]}")
    return found


def loopback_rows(build, sizes, rounds, only, mode):
    all_rounds = {contestant[0]: [] for contestant in contestants(build)}
    for _ in range(rounds):
        for contestant in contestants(build):
            arguments = [",".join(map(str, sizes)), BUDGET_US, mode, *only]
            # Open MPI's processes yield, as those that share processors must.
            all_rounds[contestant[0]].append(
                times_of(
                    with_arguments(contestant, arguments), {"OMPI_MCA_mpi_yield_when_idle": "1"}
                )
            )
    rows = []
    for size in sizes:
        for collective in [name for name, its_size in all_rounds["flat"][0] if its_size == size]:
            for name, measured in all_rounds.items():
                values = [found[collective, size] for found in measured]
                ratios = [
                    value / flat[collective, size]
                    for value, flat in zip(values, all_rounds["flat"])
                ]
                ratio = statistics.median(ratios)
                verdict = (
                    None
                    if name == "flat" or mode != "calls"
                    else "pass"
                    if ratio <= FLAT_GOAL
                    else "short"
                )
                rows.append(
                    {
                        "group": LOOPBACK[mode],
                        "name": f"{collective}: {name}",
                        "collective": collective,
                        "contestant": name,
                        "size": size,
                        "unit": "us",
                        "median": statistics.median(values),
                        "values": values,
                        "ratio": ratio,
                        "ratios": ratios,
                        "goal": FLAT_GOAL if verdict else None,
                        "verdict": verdict,
                    }
                )
    return rows


def delay_rows(build, rounds, only):
    rows = []
    for contestant in contestants(build)[1:]:
        measured = [
            times_of(
                with_arguments(contestant, ["8", BUDGET_US, "delays", *only]),
                {"IMPISHIM_TEST_DELAY_MS": str(DELAY_MS), "OMPI_MCA_mpi_yield_when_idle": "1"},
            )
            for _ in range(rounds)
        ]
        for collective in [name for name, _ in measured[0]]:
            delays = [found[collective, 8] / (DELAY_MS * 1000) for found in measured]
            least = LEAST_DELAYS.get(collective)
            median = statistics.median(delays)
            verdict = None if least is None else "pass" if median <= DELAY_GOAL * least else "short"
            rows.append(
                {
                    "group": f"collectives, {DELAY_MS} ms between systems",
                    "name": f"{collective}: {contestant[0]}",
                    "collective": collective,
                    "contestant": contestant[0],
                    "size": 8,
                    "unit": "one-way delays",
                    "median": median,
                    "values": delays,
                    "goal": DELAY_GOAL * least if least else None,
                    "verdict": verdict,
                }
            )
    return rows


def print_loopback(rows, sizes, mode):
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    goal = f"; goal <= {FLAT_GOAL:.2f}" if mode == "calls" else ""
    print(
        f"\nCollectives on 2 + 2 ranks: {LOOPBACK[mode]}, us; x: ratio to Open MPI over TCP on 4 ranks (flat){goal}"
    )
    for size in sizes:
        print(
            f"\n  {show_size(size):<22} {'flat':>9}"
            + "".join(f"  {name:>24}" for name in names[1:])
        )
        for collective in dict.fromkeys(row["collective"] for row in rows):
            cells = {
                row["contestant"]: row
                for row in rows
                if row["collective"] == collective and row["size"] == size
            }
            line = f"  {collective:<22} {show_number(cells['flat']['median']):>9}"
            for name in names[1:]:
                line += f"  {show_number(cells[name]['median']):>8}  x {cells[name]['ratio']:6.3f} {cells[name]['verdict'] or '':>5}"
            print(line)


def print_delays(rows):
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    print(
        f"\n8 B with {DELAY_MS} ms one-way delay between the systems: from a common start to the end of the last process, in one-way "
        f"delays; goal: at most {DELAY_GOAL} times the least that two systems need\n"
    )
    print(f"  {'':<22} {'least':>6}" + "".join(f"  {name:>20}" for name in names))
    for collective in dict.fromkeys(row["collective"] for row in rows):
        cells = {row["contestant"]: row for row in rows if row["collective"] == collective}
        line = f"  {collective:<22} {LEAST_DELAYS.get(collective, ''):>6}"
        for name in names:
            line += f"  {cells[name]['median']:>14.2f} {cells[name]['verdict'] or '':>5}"
        print(line)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        help="where the JSON goes (default: bench_collectives.json in the build tree)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--rounds", type=int, help="rounds (default: 5, with --quick 3)")
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        help="bytes, between commas",
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=[],
        help="names of collectives, between commas",
    )
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default=list(LOOPBACK), help="of calls,row"
    )
    parser.add_argument("--no-delays", action="store_true", help="without the rows with a delay")
    options = parser.parse_args()
    os.environ["IMPI_AUTH_NONE"] = "1"
    sizes = options.sizes or ([8, 65536] if options.quick else SIZES)
    rounds = options.rounds or (3 if options.quick else 5)
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    print(
        f"{machine['processor']}, {machine['processors']} processors, MPICH {machine['mpich']}, Open MPI {machine['openmpi']}; "
        f"medians of {rounds} rounds"
    )
    rows = []
    for mode in options.modes:
        measured = loopback_rows(options.build, sizes, rounds, options.only, mode)
        print_loopback(measured, sizes, mode)
        rows += measured
    if not options.no_delays:
        delayed = delay_rows(options.build, 1 if options.quick else 3, options.only)
        print_delays(delayed)
        rows += delayed
    report(
        "bench collectives",
        options.output or options.build / "bench_collectives.json",
        machine,
        rounds,
        started,
        rows,
    )


if __name__ == "__main__":
    main()
