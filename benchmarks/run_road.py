#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench road: what encryption costs two systems of one rank, over
loopback: half a round trip of 8 B, and a stream of 8 MiB messages.

Encrypted and plain runs take turns, round after round; a row's figure is the median of the rounds'
differences or ratios. Ends with the cause if a run fails. """

import os
import statistics
import time

from harness import describe_machine, enter_scheduling_group, fail, report, rounds_parser, run

SHORT, LONG = 8, 8 << 20
TOLERANCE = 1.05
# Encrypted beside plain: microseconds more, and the share of the speed.
LATENCY_GOAL_US, STREAM_GOAL = 1.0, 0.6
ENCRYPTED = {"IMPISHIM_SECRET": os.urandom(32).hex()}
BATCH_US, BATCHES = "20000", "21"


def measure(build, mpi, variables):
    program = build / "tests/programs" / f"bench_point_to_point_{mpi}"
    words = [program, f"{SHORT},{LONG}", BATCH_US, BATCHES]
    out, shown = run(
        [build / "bin/impirun", "-np", "1", *words, ":", "-np", "1", *words],
        {"OMPI_MCA_mpi_yield_when_idle": "1", **variables},
    )
    found = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("latency", "bandwidth"):
            found[words[0], int(words[1])] = float(words[2])
    if not {("latency", SHORT), ("bandwidth", LONG)} <= set(found):
        fail(f"no times in the output of: {shown}\n{out[-2000:]}")
    return found["latency", SHORT], found["bandwidth", LONG]


def take_turns(build, mpi, rounds):
    """Pairs of encrypted and plain figures, one for each round."""
    pairs = []
    for turn in range(rounds):
        order = [ENCRYPTED, {}] if turn % 2 == 0 else [{}, ENCRYPTED]
        found = {bool(variables): measure(build, mpi, variables) for variables in order}
        pairs.append((found[True], found[False]))
    return pairs


def row(name, unit, encrypted, plain, figures, goal, passes):
    return {
        "group": "encryption",
        "name": name,
        "unit": unit,
        "encrypted": statistics.median(encrypted),
        "plain": statistics.median(plain),
        "figure": statistics.median(figures),
        "figures": figures,
        "goal": goal,
        "verdict": "pass" if passes(statistics.median(figures)) else "short",
    }


def rows_of(mpi, pairs):
    latencies = [(encrypted[0], plain[0]) for encrypted, plain in pairs]
    streams = [(encrypted[1], plain[1]) for encrypted, plain in pairs]
    return [
        row(
            f"{mpi}: 8 B half round trip, us more",
            "us",
            [each[0] for each in latencies],
            [each[1] for each in latencies],
            [encrypted - plain for encrypted, plain in latencies],
            LATENCY_GOAL_US,
            lambda figure: figure <= LATENCY_GOAL_US * TOLERANCE,
        ),
        row(
            f"{mpi}: 8 MiB stream, encrypted / plain",
            "MB/s",
            [each[0] for each in streams],
            [each[1] for each in streams],
            [encrypted / plain for encrypted, plain in streams],
            STREAM_GOAL,
            lambda figure: figure * TOLERANCE >= STREAM_GOAL,
        ),
    ]


def main():
    parser = rounds_parser(__doc__, 9)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    rounds = 3 if arguments.quick else arguments.rounds
    rows = []
    print(f"{machine['processor']}, {os.cpu_count()} processors; medians of {rounds} rounds\n")
    print(f"{'':<46}{'encrypted':>10}{'plain':>10}{'figure':>8}{'goal':>7}")
    for mpi in ("mpich", "openmpi"):
        for each in rows_of(mpi, take_turns(build, mpi, rounds)):
            rows.append(each)
            print(
                f"  {each['name']:<44}{each['encrypted']:>10.2f}{each['plain']:>10.2f}"
                f"{each['figure']:>8.2f}{each['goal']:>7.2f} {each['verdict']}",
                flush=True,
            )
    report(
        "bench road", arguments.output or build / "bench_road.json", machine, rounds, started, rows
    )


if __name__ == "__main__":
    main()
