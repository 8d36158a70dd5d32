#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of the library, in turns: latency and bandwidth between two systems and
inside one, three hops, message rate.

The programs are those of the present build for both. A row passes within 3 % of the other build.
"""

import argparse
import pathlib
import statistics
import time

import pairs
from harness import (
    describe_machine,
    enter_scheduling_group,
    fail,
    report,
    run,
    show_number,
    show_size,
)

SIZES = [8, 1024, 65536, 1 << 20, 8 << 20]
HOP_SIZES = [8]
GOALS = {"latency": 1.03, "bandwidth": 0.97}
RATE_GOAL = 0.97
RATE_WINDOWS = 20000
BATCHES = 61


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares this build with another one.")
    parser.add_argument(
        "other",
        type=pathlib.Path,
        help="the other build tree, or a folder with its bin/impirun and lib/impishim",
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="this build tree")
    parser.add_argument("--rounds", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        help="where the JSON goes (default: bench-compare.json in the build tree)",
    )
    return parser.parse_args()


def launchers(options):
    """The launcher of each build, which preloads the library beside it."""
    found = {"before": options.other / "bin/impirun", "after": options.build / "bin/impirun"}
    for launcher in found.values():
        if not launcher.exists():
            fail(f"there is no {launcher}: name a build tree")
    return found


def make_groups(options):
    program = options.build / "tests/programs/bench_point_to_point_mpich"
    both = launchers(options)

    def group(title, parts, arguments, sizes):
        contestants = []
        for name, launcher in both.items():
            command = [launcher]
            for number, part in enumerate(parts):
                command += [":"] * (number > 0) + [
                    *part,
                    program,
                    pairs.SIZES,
                    pairs.BATCH_US,
                    BATCHES,
                    *arguments,
                ]
            contestants.append(pairs.Contestant(name, command, GOALS if name == "after" else None))
        return pairs.Group(title, "reference: the other build", contestants), sizes

    one, two = ["-np", "1"], ["-np", "2"]
    return [
        group("One rank in each of two systems", [one, one], [], SIZES),
        group("Two ranks of one system, beside a second system", [two, one], [], SIZES),
        group("Three hops: ranks 1 and 3 of 2+2", [two, two], ["1,3"], HOP_SIZES),
    ]


def measure_rate(launcher, program):
    out, shown = run(
        [launcher, "-np", "2", program, RATE_WINDOWS, ":", "-np", "2", program, RATE_WINDOWS]
    )
    for line in out.splitlines():
        words = line.split()
        if words[:1] == ["rate"]:
            return float(words[1])
    return fail(f"no rate in the output of: {shown}\n{out[-1000:]}")


def rate_row(options):
    program = options.build / "tests/programs/bench_message_rate_mpich"
    values = {name: [] for name in launchers(options)}
    for _ in range(options.rounds):
        for name, launcher in launchers(options).items():
            values[name].append(measure_rate(launcher, program))
    ratios = [after / before for after, before in zip(values["after"], values["before"])]
    ratio = statistics.median(ratios)
    return {
        "group": "Two ranks in each of two systems",
        "name": "message rate",
        "contestant": "after",
        "measure": "rate",
        "size": 8,
        "unit": "1/s",
        "median": statistics.median(values["after"]),
        "values": values["after"],
        "reference": "before",
        "ratio": ratio,
        "ratios": ratios,
        "goal": RATE_GOAL,
        "verdict": "pass" if ratio >= RATE_GOAL else "short",
    }


def print_rows(rows):
    print(
        f"\n{'group':<50} {'measure':<10} {'size':>8} {'after':>10} {'after/before':>13} {'from':>6} {'to':>6}"
    )
    for row in rows:
        print(
            f"{row['group']:<50} {row['measure']:<10} {show_size(row['size']):>8} {show_number(row['median']):>10} {row['ratio']:>13.3f} "
            f"{min(row['ratios']):>6.3f} {max(row['ratios']):>6.3f} {row['verdict']}"
        )


def main():
    options = parse_arguments()
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    rows = []
    for group, sizes in make_groups(options):
        group.measure(sizes, options.rounds)
        rows += [row for row in pairs.make_rows(group, sizes) if row["contestant"] == "after"]
    rows.append(rate_row(options))
    print_rows(rows)
    report(
        "bench compare",
        options.output or options.build / "bench-compare.json",
        machine,
        options.rounds,
        started,
        rows,
    )


if __name__ == "__main__":
    main()
