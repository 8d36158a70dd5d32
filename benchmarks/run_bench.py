#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench: tables by message size, what calls cost, and the table of
goals; all of it as JSON, too.

Contestants take turns, round after round, and are compared in the same round. A run that fails ends
everything with its cause. """

import argparse
import os
import pathlib
import time

import calls
import goal_rows
import goals
import pairs
from harness import describe_machine, enter_scheduling_group, report

SIZES = sorted(
    [8 << (2 * step) for step in range(11)] + [65536, 1 << 20]
)  # 65536: the longest message of one packet
QUICK_SIZES = sorted({1024, 65536, *goals.PAIR_SIZES})
QUICK_IDLE_S = 2


def parse_rows(text):
    known = {row.key: row for row in goals.ROWS}
    unknown = [key for key in text.split(",") if key not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no row {unknown[0]}; rows are {', '.join(known)}")
    return [known[key] for key in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Measures impishim against MPICH, TCP and Open MPI."
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        help="where the JSON goes (default: bench.json in the build tree)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument(
        "--only",
        type=parse_rows,
        metavar="ROW,...",
        help=f"only these rows of the table of goals: {', '.join(row.key for row in goals.ROWS)}",
    )
    parser.add_argument(
        "--rounds", type=int, help="rounds of every group (default: 7, with --quick 5)"
    )
    parser.add_argument(
        "--nice",
        type=int,
        help="niceness to measure with: a negative one, as root, keeps other work's noise down",
    )
    return parser.parse_args()


def measure_pairs(groups, sizes, rounds):
    rows = []
    for group in groups:
        group.measure(sizes, rounds)
        group_rows = pairs.make_rows(group, sizes)
        pairs.print_group(group, group_rows, sizes)
        rows += group_rows
    return rows


def main():
    options = parse_arguments()
    if options.nice is not None:
        os.environ["BENCH_NICE"] = str(options.nice)
    rounds = options.rounds or (5 if options.quick else 7)
    wanted = options.only or goals.ROWS
    sizes = goals.PAIR_SIZES if options.only else QUICK_SIZES if options.quick else SIZES
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    print(
        f"{machine['processor']}, {machine['processors']} processors, Linux {machine['kernel']}, MPICH {machine['mpich']}, "
        f"Open MPI {machine['openmpi']}; medians of {rounds} rounds",
        flush=True,
    )

    groups = pairs.make_groups(options.build, batches=61 if options.quick else 201)
    rows = measure_pairs(
        [group for group in groups if any(row.group == group.title for row in wanted)],
        sizes,
        rounds,
    )
    if not options.only:
        costs = calls.overhead_rows(options.build, rounds)
        calls.print_overhead(costs)
        rows += costs
    setting = goal_rows.Setting(
        options.build, groups, rounds, QUICK_IDLE_S if options.quick else goals.IDLE_S
    )
    measured = goals.measure_rows(wanted, setting)
    goals.print_rows(measured)

    report(
        "bench",
        options.output or options.build / "bench.json",
        machine,
        rounds,
        started,
        rows,
        measured,
    )


if __name__ == "__main__":
    main()
