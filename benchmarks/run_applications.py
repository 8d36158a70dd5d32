#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench applications: Debian's packages, unmodified, natively (shared
memory), natively with Open MPI held to TCP, and joined 2+2.

Contestants take turns, round after round; a row's ratio is the median of the rounds' ratios of
joined to native over TCP (of a figure of which more is better: the reverse). The results of each
run must equal those of the first native one. Ends with the cause if a run fails. """

import argparse
import os
import pathlib
import statistics
import tempfile
import time

from applications import APPLICATIONS, VARIABLES
from harness import (
    describe_machine,
    enter_scheduling_group,
    fail,
    openmpi_over_tcp,
    report,
    run,
    show_number,
)

GOAL_EACH = 1.1
GOAL_MEDIAN = 1.0
TOLERANCE = 1.05
TIME = "seconds"
NATIVE, TCP, JOINED = "native", "native, TCP", "joined"


def launchers(build, ranks, command):
    """The command line of each contestant."""
    half = ["-np", ranks // 2, *command]
    shared = ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none", "-np", ranks]
    return {
        NATIVE: [*shared, *command],
        TCP: [*openmpi_over_tcp(ranks, yields=True), *command],
        JOINED: [build / "bin/impirun", *half, ":", *half],
    }


def check_equal(application, expected, found, who):
    for name, value in expected.items():
        other = found.get(name)
        if other is None or abs(other - value) > application.tolerance * abs(value):
            fail(f"{application.name}: {name} is {other} {who}, and was {value} natively")


class Measured:
    """What the rounds of one application have found."""

    def __init__(self, application):
        self.application = application
        self.expected = None
        self.values = {}  # title of a figure -> contestant -> its values, one for each round
        self.more_is_better = {}

    def add(self, title, who, value, more_is_better):
        self.values.setdefault(title, {}).setdefault(who, []).append(value)
        self.more_is_better[title] = more_is_better

    def measure(self, build, folder):
        application = self.application
        for who, command in launchers(build, application.ranks, application.command).items():
            application.prepare(folder)
            began = time.monotonic()
            output, _ = run(command, VARIABLES, folder=folder)
            if application.judges_time:
                self.add(TIME, who, time.monotonic() - began, False)
            results = application.results(output, folder)
            if self.expected is None:
                self.expected = results
            check_equal(application, self.expected, results, who)
            for title, (value, more) in application.figures(output, folder).items():
                self.add(title, who, value, more)

    def ratios(self, title):
        values = self.values[title]
        pairs = zip(values[JOINED], values[TCP])
        more = self.more_is_better[title]
        return [tcp / joined if more else joined / tcp for joined, tcp in pairs]

    def rows(self):
        rows = []
        for title, values in self.values.items():
            ratios = self.ratios(title)
            ratio = statistics.median(ratios)
            rows.append(
                {
                    "group": "applications",
                    "name": f"{self.application.name}: {title}",
                    "values": values,
                    "medians": {who: statistics.median(each) for who, each in values.items()},
                    "ratio": ratio,
                    "ratios": ratios,
                    "goal": GOAL_EACH,
                    "verdict": "pass" if ratio <= GOAL_EACH * TOLERANCE else "short",
                }
            )
        return rows


def median_row(rows):
    """The goal of all run times together."""
    ratio = statistics.median(row["ratio"] for row in rows if row["name"].endswith(TIME))
    return {
        "group": "applications",
        "name": f"median of all {TIME}",
        "medians": {},
        "ratio": ratio,
        "goal": GOAL_MEDIAN,
        "verdict": "pass" if ratio <= GOAL_MEDIAN * TOLERANCE else "short",
    }


def show(rows):
    print(f"\n{'':<58}" + "".join(f"{who:>13}" for who in (NATIVE, TCP, JOINED)) + "   ratio")
    for row in rows:
        numbers = [row["medians"].get(who) for who in (NATIVE, TCP, JOINED)]
        cells = "".join(f"{'' if each is None else show_value(each):>13}" for each in numbers)
        print(f"  {row['name']:<56}{cells}  {row['ratio']:6.2f} {row['verdict']}")


def show_value(value):
    return f"{value:.3g}" if value < 0.1 else show_number(value)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--only", default="", help="applications whose names contain this")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    chosen = [each for each in APPLICATIONS if arguments.only.lower() in each.name.lower()]
    if not chosen:
        parser.error(f"--only {arguments.only}: there are {[each.name for each in APPLICATIONS]}")
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    rounds = 1 if arguments.quick else arguments.rounds
    everything = [Measured(application) for application in chosen]
    with tempfile.TemporaryDirectory(prefix="impishim-bench-") as scratch:
        folders = [pathlib.Path(scratch) / str(place) for place in range(len(chosen))]
        for folder in folders:
            folder.mkdir()
        for _ in range(rounds):
            for measured, folder in zip(everything, folders):
                measured.measure(build, folder)
    rows = [row for measured in everything for row in measured.rows()]
    if any(row["name"].endswith(TIME) for row in rows):
        rows.append(median_row(rows))
    print(
        f"{machine['processor']}, {os.cpu_count()} processors, Open MPI {machine['openmpi']}; medians of {rounds} rounds; "
        f"ratio: joined to native over TCP"
    )
    show(rows)
    output = arguments.output or build / "bench_applications.json"
    report("bench applications", output, machine, rounds, started, rows)


if __name__ == "__main__":
    main()
