#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs MPICH's own test programs, natively and joined over several systems on this machine.

A program that passes natively must pass joined, or stand in exceptions.txt with the cause. The suite comes from Debian's
source package mpich. It is unpacked, configured and built in a folder outside the tree; what is there already is used."""

import argparse
import collections
import json
import pathlib
import re
import signal
import sys

import judgement
import running
import suite
import test_lists

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ["rma", "part", "threads", "init", "io", "spawn", "f77", "f90", "f08"]
SHAPES = ["2+2", "1+1"]
VENDORS = ["mpich", "openmpi"]
COLUMNS = ["programs", "native", "joined", "refused", "failed", "hung", "known"]


def parse_arguments(arguments):
    def words(text):
        return [word for word in text.split(",") if word]

    def positive(text):
        if not text.isdigit() or int(text) == 0:
            raise argparse.ArgumentTypeError(f"{text} is no positive number")
        return int(text)

    def shapes(text):
        for shape in words(text):
            running.shape_counts(shape)
        return words(text)

    def mpis(text):
        for mpi in words(text):
            if mpi not in [*VENDORS, "mixed"]:
                raise argparse.ArgumentTypeError(f"{mpi} is not mpich, openmpi or mixed")
        return words(text)

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="this project's build")
    parser.add_argument(
        "--work", type=pathlib.Path, help="folder for the suite; default: conformance in the build"
    )
    parser.add_argument("--folders", type=words, default=FOLDERS, help=",".join(FOLDERS))
    parser.add_argument("--mpi", type=mpis, default=VENDORS, help="mpich,openmpi,mixed")
    parser.add_argument("--shape", type=shapes, default=SHAPES, help=f"default {','.join(SHAPES)}")
    parser.add_argument("--match", type=re.compile, help="expression for FOLDER/PROGRAM ARGUMENTS")
    parser.add_argument("--sample", type=positive, default=1, help="every N-th program only")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--limit", type=positive, default=60, help="seconds for a run")
    parser.add_argument("--jobs", type=positive, default=2, help="compilers at a time")
    parser.add_argument("--all-lists", action="store_true", help="testlist.dtp and .cvar as well")
    parser.add_argument("--list", action="store_true", help="print the names of the tests only")
    parser.add_argument("--json", type=pathlib.Path, help="file for all results")
    chosen = parser.parse_args(arguments)
    chosen.build = chosen.build.resolve()
    chosen.work = (chosen.work or chosen.build / "conformance").resolve()
    return chosen


class Conformance:
    def __init__(self, chosen):
        self.chosen = chosen
        self.runner = running.Runner(chosen.build, chosen.limit)
        place = HERE / "exceptions.txt"
        self.exceptions = judgement.Exceptions(place.read_text().splitlines(), place.name)
        self.native_verdicts = {}
        self.results = []

    def prepare(self):
        self.chosen.work.mkdir(parents=True, exist_ok=True)
        sources = suite.unpack(self.chosen.work)
        vendors = [v for v in VENDORS if {v, "mixed"} & set(self.chosen.mpi)]
        self.built = {v: suite.configure(self.chosen.work, sources, v) for v in vendors}
        names = test_lists.LONG_LIST_NAMES if self.chosen.all_lists else test_lists.LIST_NAMES
        tests = []
        for folder in self.chosen.folders:
            tests += test_lists.read_folder(self.built[vendors[0]], sources, folder, names)
        # Those fail with MPICH itself.
        tests = [test for test in tests if not test.xfail]
        self.tests = test_lists.select(
            tests, self.chosen.match, self.chosen.sample, self.chosen.seed
        )

    def program(self, vendor, test):
        return self.built[vendor] / test.folder / test.program

    def keep_output(self, kind, mpi, shape, test, run):
        """Keeps what a run that has not passed has printed."""
        name = re.sub(r"[^A-Za-z0-9=+-]+", "_", test.name)
        path = self.chosen.work / "results" / f"{mpi}.{shape}.{kind}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"exit code {run.code}, {run.seconds:.1f} s\n{run.text}")

    def verdict(self, kind, mpi, shape, test, run):
        what = judgement.judge(test.result_test, run.code, run.text)
        if run.left and what == judgement.PASSED:
            run.text += f"\n{run.left} processes had to be ended\n"
            what = judgement.FAILED
        if what != judgement.PASSED:
            self.keep_output(kind, mpi, shape, test, run)
        return what

    def native_verdict(self, vendor, ranks, test):
        key = (vendor, ranks, test.name)
        if key not in self.native_verdicts:
            program = self.program(vendor, test)
            what = "not built"
            if program.is_file():
                run = self.runner.native(program, vendor, ranks, test)
                what = self.verdict("native", vendor, str(ranks), test, run)
            self.native_verdicts[key] = what
        return self.native_verdicts[key]

    def run_test(self, mpi, shape, test):
        vendors = VENDORS if mpi == "mixed" else [mpi]
        ranks = sum(running.shape_counts(shape))
        result = {"mpi": mpi, "shape": shape, "folder": test.folder, "test": test.name}
        natives = [self.native_verdict(vendor, ranks, test) for vendor in vendors]
        result["native"] = next((v for v in natives if v != judgement.PASSED), judgement.PASSED)
        if result["native"] == judgement.PASSED:
            programs = [self.program(vendor, test) for vendor in vendors]
            run = self.runner.joined(programs, shape, test)
            result["joined"] = self.verdict("joined", mpi, shape, test, run)
            result["seconds"] = round(run.seconds, 2)
            if result["joined"] != judgement.PASSED:
                result["cause"] = self.exceptions.cause(mpi, shape, test.name)
        self.results.append(result)
        return result

    def run(self):
        for mpi in self.chosen.mpi:
            for vendor in VENDORS if mpi == "mixed" else [mpi]:
                suite.build(self.built[vendor], self.tests, self.chosen.jobs)
            for test in self.tests:
                for shape in self.chosen.shape:
                    result = self.run_test(mpi, shape, test)
                    if result.get("joined", judgement.PASSED) != judgement.PASSED:
                        cause = result["cause"] or f"see {self.chosen.work}/results"
                        print(f"{result['joined']}: {mpi} {shape} {test.name}: {cause}", flush=True)
                    self.write_json()

    def write_json(self):
        if self.chosen.json:
            self.chosen.json.write_text(json.dumps(self.results, indent=1) + "\n")


def table(results):
    """The lines of the table: a row for each folder of the suite, MPI and shape."""
    rows = collections.defaultdict(collections.Counter)
    for result in results:
        row = rows[(result["folder"], result["mpi"], result["shape"])]
        row["programs"] += 1
        row["native"] += result["native"] == judgement.PASSED
        joined = result.get("joined")
        if joined == judgement.PASSED:
            row["joined"] += 1
        elif joined:
            row[joined] += 1
            row["known"] += bool(result["cause"])
    lines = [f"{'folder':<16} {'mpi':<8} {'shape':<7}" + "".join(f"{c:>9}" for c in COLUMNS)]
    for (folder, mpi, shape), row in rows.items():
        counts = "".join(f"{row[column]:>9}" for column in COLUMNS)
        lines.append(f"{folder:<16} {mpi:<8} {shape:<7}{counts}")
    return lines


def surprises(results):
    """The results that fail the whole: passed natively, not joined, and no known exception."""
    return [
        result
        for result in results
        if result.get("joined", judgement.PASSED) != judgement.PASSED and not result["cause"]
    ]


def main():
    chosen = parse_arguments(sys.argv[1:])
    # An interrupt ends what runs, through the finally clauses.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    conformance = Conformance(chosen)
    try:
        conformance.prepare()
        if chosen.list:
            print("\n".join(test.name for test in conformance.tests))
            return 0
        conformance.run()
    except (suite.SuiteError, test_lists.ListError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(table(conformance.results)))
    bad = surprises(conformance.results)
    for result in bad:
        print(f"not known: {result['joined']}: {result['mpi']} {result['shape']} {result['test']}")
    if not any(result["native"] == judgement.PASSED for result in conformance.results):
        print("No program has passed natively, so nothing is shown.", file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
