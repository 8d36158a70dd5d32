#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench darray: the table of PT-1 to PT-20, and all times as JSON.

A program measures its contestants in turns and verifies them; it is launched several times, since
where memory comes to lie decides much. A value is made of the fastest rounds of one launch, and the
median over launches counts. A run at a load average above 2.5 is shown, and marked as invalid. """

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import time

import darray_goals
from harness import describe_machine, enter_scheduling_group, fail, report, run

HIGHEST_LOAD = 2.5
LAST_WORDS = (
    "bench over"  # MPICH 4.0.2 over UCX's tcp now and then does not come back from MPI_Finalize
)
LONG_RUN = 30  # rounds, at least


class Results:
    """What one launch has printed."""

    def __init__(self, lines, load):
        self.times = {(line["case"], line["contestant"]): line for line in lines if "case" in line}
        self.facts = [line for line in lines if "fact" in line]
        self.load = load

    def time(self, case, contestant):
        """Microseconds; None if nobody has run."""
        found = self.times.get((case, contestant))
        return found and found["min_us"]


class Setups:
    """How programs are run; each with the rows it is to measure."""

    def __init__(self, build, mpi, rounds):
        self.build, self.mpi, self.rounds = build, mpi, rounds

    def native(self, ranks):
        if self.mpi == "mpich":
            return ["mpiexec.mpich", "-np", str(ranks)]
        return [
            "mpiexec.openmpi",
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
            "-np",
            str(ranks),
        ]

    def command(self, setup, rows):
        name, _, how = setup.partition(" ")
        words = [
            self.build / "tests/programs" / f"bench_darray_{name}_{self.mpi}",
            self.rounds,
            *rows,
        ]
        if how == "joined" or setup == "across":
            return [self.build / "bin/impirun", "-np", "1", *words, ":", "-np", "1", *words], {}
        if how == "inside":
            return self.over_sockets(words)
        return [*self.native(4 if name == "exact" else 2), *words], {}

    def over_sockets(self, words):
        if self.mpi == "mpich":
            return [*self.native(2), *words], {
                "UCX_TLS": "tcp,self",
                "UCX_NET_DEVICES": "lo",
                "MPIR_CVAR_NOLOCAL": "1",
            }
        tcp = [
            "--mca",
            "pml",
            "ob1",
            "--mca",
            "btl",
            "tcp,self",
            "--mca",
            "btl_tcp_if_include",
            "lo",
        ]
        return [*self.native(2)[:-2], *tcp, "-np", "2", *words], {}

    def launch(self, setup, rows):
        before = os.getloadavg()[0]
        out, shown = run(
            *self.command(setup, rows), LAST_WORDS if setup.endswith(" inside") else None
        )
        # Launchers may put several ranks' lines into one; only rank 0 prints these.
        lines = [json.loads(found) for found in re.findall(r"bench (\{.*?\})$", out, re.MULTILINE)]
        if not lines:
            fail(f"no results in the output of: {shown}\n{out[-2000:]}")
        return Results(lines, max(before, os.getloadavg()[0]))


def verdict_of(part, value):
    if value is None:
        return "missing"
    if not part.reaches(value, part.goal):
        return "short"
    return "pass+" if part.stretch is not None and part.reaches(value, part.stretch) else "pass"


def evaluate_part(part, launches):
    values = [part.measure(launch) for launch in launches]
    found = {
        "label": part.label,
        "bound": part.bound,
        "goal": part.goal,
        "stretch": part.stretch,
        "unit": part.unit,
    }
    if None in values:
        behind = (
            "not measured: that contestant is not installed" if part.optional else "not measured"
        )
        return {
            **found,
            "value": None,
            "values": [],
            "behind": behind,
            "optional": part.optional,
            "verdict": "missing",
        }
    value = statistics.median(values)
    nearest = launches[min(range(len(values)), key=lambda k: abs(values[k] - value))]
    return {
        **found,
        "value": value,
        "values": values,
        "behind": part.behind(nearest),
        "verdict": verdict_of(part, value),
    }


def evaluate_facts(facts, launches):
    found = []
    for fact in launches[0][facts.setup].facts:
        if re.fullmatch(facts.pattern, fact["fact"]):
            same = [
                other
                for launch in launches
                for other in launch[facts.setup].facts
                if other["fact"] == fact["fact"]
            ]
            holds = all(other["holds"] for other in same)
            found.append(
                {
                    "label": fact["fact"],
                    "value": None,
                    "goal": None,
                    "stretch": None,
                    "unit": "",
                    "behind": fact["text"],
                    "verdict": "pass" if holds else "short",
                }
            )
    if not found:
        fail(f"nobody tells whether {facts.pattern}")
    return found


def evaluate(row, launches):
    parts = []
    for part in row.parts:
        parts += (
            [evaluate_part(part, launches)]
            if isinstance(part, darray_goals.Part)
            else evaluate_facts(part, launches)
        )
    load = max(launch[setup].load for launch in launches for setup in row.setups)
    verdicts = {part["verdict"] for part in parts}
    verdict = next(
        each for each in ("short", "missing", "pass") if each in verdicts or each == "pass"
    )
    return {
        "row": row.key,
        "name": row.title,
        "against": row.against,
        "parts": parts,
        "load_average": load,
        "valid": load <= HIGHEST_LOAD,
        "verdict": verdict,
    }


def bounds(part):
    if part["goal"] is None and part["stretch"] is None:
        return "", ""
    show = [
        f"{part['bound']} {limit:g}" if limit is not None else ""
        for limit in (part["goal"], part["stretch"])
    ]
    return show[0], show[1]


def print_rows(measured):
    print(
        f"\n  {'':<6} {'':<34} {'value':>9} {'':<3} {'goal':<8} {'stretch':<8} {'':<8} fastest rounds"
    )
    for row in measured:
        mark = "" if row["valid"] else f"   INVALID: load average {row['load_average']:.1f}"
        print(f"\n  {row['row']:<6} {row['name']} / {row['against']}: {row['verdict']}{mark}")
        for part in row["parts"]:
            value = (
                "holds"
                if part["value"] is None and part["verdict"] == "pass"
                else "-"
                if part["value"] is None
                else f"{part['value']:.3f}"
            )
            goal, stretch = bounds(part)
            print(
                f"  {'':<6} {part['label']:<34} {value:>9} {part['unit']:<3} {goal:<8} {stretch:<8} {part['verdict']:<8} {part['behind']}"
            )


def parse_arguments():
    keys = [row.key for row in darray_goals.make_rows("mpich")]

    def parse_rows(text):
        unknown = [key for key in text.split(",") if key not in keys]
        if unknown:
            raise argparse.ArgumentTypeError(f"no row {unknown[0]}; rows are {', '.join(keys)}")
        return text.split(",")

    parser = argparse.ArgumentParser(
        prog="scripts/bench darray", description="Measures darray against its goals PT-1 to PT-20."
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        help="where the JSON goes (default: bench-darray.json in the build tree)",
    )
    parser.add_argument(
        "--only", type=parse_rows, metavar="PT-1,...", default=keys, help="only these rows"
    )
    parser.add_argument("--mpi", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument(
        "--rounds",
        type=int,
        default=LONG_RUN,
        help="rounds at least (default: 30); short ones get more by themselves",
    )
    parser.add_argument(
        "--launches", type=int, default=3, help="launches of every program (default: 3)"
    )
    parser.add_argument(
        "--nice",
        type=int,
        help="niceness to measure with: a negative one, as root, keeps other work's noise down",
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="everything once, and small: whether it is right; no time counts",
    )
    return parser.parse_args()


def smoke_verdict(measured):
    """Whether all rows computed; facts count, times do not."""
    parts = [part for row in measured for part in row["parts"] if part["value"] is None]
    broken = [part["label"] for part in parts if part["verdict"] == "short"]
    if broken:
        fail(f"not so: {'; '.join(broken)}")
    missing = [
        part["label"] for part in parts if part["verdict"] == "missing" and not part["optional"]
    ]
    if missing:
        fail(f"not measured: {'; '.join(missing)}")
    print(f"{len(measured)} rows are computed and verified")


def main():
    options = parse_arguments()
    if options.nice is not None:
        os.environ["BENCH_NICE"] = str(options.nice)
    rows = [row for row in darray_goals.make_rows(options.mpi) if row.key in options.only]
    wanted = list(dict.fromkeys(setup for row in rows for setup in row.setups))
    setups = Setups(options.build, options.mpi, "smoke" if options.smoke else options.rounds)
    started = time.monotonic()
    machine = describe_machine()
    if not options.smoke:
        enter_scheduling_group(machine)
        print(
            f"{machine['processor']}, {machine['processors']} processors, {machine['compiler']}, {options.mpi}; load average "
            f"{os.getloadavg()[0]:.2f}; fastest of {options.rounds} rounds or more, median of {options.launches} launches",
            flush=True,
        )
    launches = []
    for _ in range(1 if options.smoke else options.launches):
        launches.append(
            {
                setup: setups.launch(setup, [row.key for row in rows if setup in row.setups])
                for setup in wanted
            }
        )
    measured = [evaluate(row, launches) for row in rows]
    if options.smoke:
        smoke_verdict(measured)
        return
    print_rows(measured)
    invalid = sum(not row["valid"] for row in measured)
    if invalid:
        print(
            f"\n{invalid} rows are INVALID: the load average was above {HIGHEST_LOAD}",
            file=sys.stderr,
        )
    machine["times"] = [
        {setup: list(results.times.values()) for setup, results in launch.items()}
        for launch in launches
    ]
    report(
        "bench darray",
        options.output or options.build / "bench-darray.json",
        machine,
        options.rounds,
        started,
        measured,
    )


if __name__ == "__main__":
    main()
