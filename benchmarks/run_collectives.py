#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench collectives: every collective on 2 + 2 ranks, impishim beside a
flat MPI over TCP, and the one-way delays that latency-bound collectives take when the systems are
far apart.

Contestants take turns, round after round, and compare themselves with the faster of flat Open MPI
and flat MPICH in the same round; a row's ratio is the median of the rounds' ratios. Flat MPICH
takes part where each rank has a processor: its ranks spin, and where they share processors a
collective takes milliseconds. Programs check their results. Ends with the cause if a run fails. """

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
FLAT_GOAL = 1.05
BUDGET_US = 50000
FLAT = ["flat Open MPI", "flat MPICH"]
# The transport of Debian's MPICH is UCX.
MPICH_OVER_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo", "MPIR_CVAR_NOLOCAL": "1"}
LOOPBACK = {"calls": "one call behind a barrier, mean of all ranks", "row": "calls in a row"}


RANKS = 4


def contestants(build, flat):
    """The command of each contestant. `flat` names the flat ones that take part."""
    impirun, programs = build / "bin/impirun", build / "tests/programs"
    mpich, openmpi = programs / "bench_collectives_mpich", programs / "bench_collectives_openmpi"
    flat_commands = {
        FLAT[0]: [*openmpi_over_tcp(RANKS, yields=True), openmpi],
        FLAT[1]: ["mpiexec.mpich", "-np", str(RANKS), mpich],
    }
    return {
        **{name: flat_commands[name] for name in flat},
        "MPICH 2+2": [impirun, "-np", "2", mpich, ":", "-np", "2", mpich],
        "Open MPI 2+2": [impirun, "-np", "2", openmpi, ":", "-np", "2", openmpi],
        "mixed 2+2": [impirun, "-np", "2", mpich, ":", "-np", "2", openmpi],
    }


def with_arguments(command, arguments):
    """The command, with the program's arguments behind every program."""
    out = []
    for word in command:
        out.append(word)
        if "bench_collectives" in str(word):
            out += arguments
    return out


def variables_of(name):
    """The environment of a contestant."""
    # Open MPI's processes yield, as those that share processors must.
    return {"OMPI_MCA_mpi_yield_when_idle": "1", **(MPICH_OVER_TCP if name == FLAT[1] else {})}


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


def measure_rounds(commands, sizes, rounds, only, mode):
    """The times of each contestant: one dictionary for each round."""
    all_rounds = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            arguments = [",".join(map(str, sizes)), BUDGET_US, mode, *only]
            all_rounds[name].append(
                times_of(with_arguments(command, arguments), variables_of(name))
            )
    return all_rounds


def loopback_row(all_rounds, name, collective, size, mode):
    """The row of a contestant; the reference of a round is the faster flat MPI."""
    values = [found[collective, size] for found in all_rounds[name]]
    references = [
        min(times[collective, size] for times in flat)
        for flat in zip(*(all_rounds[flat] for flat in FLAT if flat in all_rounds))
    ]
    ratios = [value / reference for value, reference in zip(values, references)]
    ratio = statistics.median(ratios)
    has_goal = name not in FLAT and mode == "calls"
    return {
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
        "goal": FLAT_GOAL if has_goal else None,
        "verdict": ("pass" if ratio <= FLAT_GOAL else "short") if has_goal else None,
    }


def loopback_rows(commands, sizes, rounds, only, mode):
    all_rounds = measure_rounds(commands, sizes, rounds, only, mode)
    return [
        loopback_row(all_rounds, name, collective, size, mode)
        for size in sizes
        for collective in [name for name, its_size in all_rounds[FLAT[0]][0] if its_size == size]
        for name in all_rounds
    ]


def delay_rows(build, rounds, only):
    rows = []
    for name, command in contestants(build, []).items():
        measured = [
            times_of(
                with_arguments(command, ["8", BUDGET_US, "delays", *only]),
                {**variables_of(name), "IMPISHIM_TEST_DELAY_MS": str(DELAY_MS)},
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
                    "name": f"{collective}: {name}",
                    "collective": collective,
                    "contestant": name,
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
    everyone = dict.fromkeys(row["contestant"] for row in rows)
    flat = [name for name in everyone if name in FLAT]
    names = [name for name in everyone if name not in FLAT]
    goal = f"; goal <= {FLAT_GOAL:.2f}" if mode == "calls" else ""
    print(
        f"\nCollectives on 2 + 2 ranks: {LOOPBACK[mode]}, us; x: ratio to {' or '.join(flat)} over TCP, the faster one, "
        f"on {RANKS} ranks{goal}"
    )
    for size in sizes:
        print(
            f"\n  {show_size(size):<22}"
            + "".join(f" {name:>13}" for name in flat)
            + "".join(f"  {name:>24}" for name in names)
        )
        for collective in dict.fromkeys(row["collective"] for row in rows):
            cells = {
                row["contestant"]: row
                for row in rows
                if row["collective"] == collective and row["size"] == size
            }
            line = f"  {collective:<22}"
            for name in flat:
                line += f" {show_number(cells[name]['median']):>13}"
            for name in names:
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
    parser.add_argument(
        "--flat-mpich",
        action="store_true",
        help="flat MPICH takes part although ranks share processors",
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
    with_mpich = options.flat_mpich or machine["processors"] >= RANKS
    if not with_mpich:
        print(
            f"flat MPICH does not take part: {RANKS} spinning ranks on {machine['processors']} processors (--flat-mpich)"
        )
    commands = contestants(options.build, FLAT if with_mpich else FLAT[:1])
    rows = []
    for mode in options.modes:
        measured = loopback_rows(commands, sizes, rounds, options.only, mode)
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
