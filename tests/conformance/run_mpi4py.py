#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's own test modules, natively and joined as 2+2 on this machine. A module that passes
natively must pass joined, or stand in mpi4py_exceptions.txt with the cause. The modules come from
Debian's source package mpi4py, and mpi4py itself from its package, which is built for Open MPI."""

import argparse
import json
import pathlib
import re
import signal
import sys

import judgement
import running
import suite

HERE = pathlib.Path(__file__).resolve().parent
MPI = "openmpi"
SHAPE = "2+2"
RANKS = 4


class Module:
    """What a runner needs to know of a test."""

    arguments = []
    variables = {}
    time_limit = 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="this project's build")
    parser.add_argument("--work", type=pathlib.Path, help="folder; default: mpi4py in the build")
    parser.add_argument("--match", type=re.compile, help="expression for names of modules")
    parser.add_argument("--limit", type=int, default=120, help="seconds for a run")
    parser.add_argument("--python", default="/usr/bin/python3", help="the one that has mpi4py")
    parser.add_argument("--json", type=pathlib.Path, help="file for all results")
    chosen = parser.parse_args(arguments)
    chosen.build = chosen.build.resolve()
    chosen.work = (chosen.work or chosen.build / "mpi4py").resolve()
    return chosen


def verdict(run):
    """unittest's exit code tells; a process that is left over is a failure."""
    if run.code is None:
        return judgement.HUNG
    if run.code == 0 and run.left == 0:
        return judgement.PASSED
    return judgement.REFUSED if judgement.REFUSAL.search(run.text) else judgement.FAILED


class Suite:
    def __init__(self, chosen):
        self.chosen = chosen
        self.runner = running.Runner(chosen.build, chosen.limit)
        place = HERE / "mpi4py_exceptions.txt"
        self.exceptions = judgement.Exceptions(place.read_text().splitlines(), place.name)
        self.results = []

    def modules(self):
        self.chosen.work.mkdir(parents=True, exist_ok=True)
        folder = suite.unpack(self.chosen.work, "test", "mpi4py", "python3-mpi4py")
        found = sorted(folder.glob("test_*.py"))
        return [
            path for path in found if not self.chosen.match or self.chosen.match.search(path.stem)
        ]

    def run_module(self, path):
        script = [self.chosen.python, path.name]
        native = [f"mpiexec.{MPI}", "-n", str(RANKS), *script]
        section = ["-np", str(RANKS // 2), *script]
        joined = [self.runner.impirun, "-mpi", MPI, *section, ":", *section]
        result = {"module": path.stem}
        for kind, command in (("native", native), ("joined", joined)):
            run = self.runner.run(command, [path], Module())
            result[kind] = verdict(run)
            if result[kind] != judgement.PASSED:
                self.keep_output(kind, path.stem, run)
            if result["native"] != judgement.PASSED:
                break
        if result.get("joined", judgement.PASSED) != judgement.PASSED:
            result["cause"] = self.exceptions.cause(MPI, SHAPE, path.stem)
        self.results.append(result)
        return result

    def keep_output(self, kind, name, run):
        path = self.chosen.work / "results" / f"{name}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"exit code {run.code}, {run.seconds:.1f} s\n{run.text}")

    def run(self):
        for path in self.modules():
            result = self.run_module(path)
            joined = result.get("joined", "")
            cause = result.get("cause") or ""
            print(f"{result['module']:<28} {result['native']:<8} {joined:<8} {cause}", flush=True)
            if self.chosen.json:
                self.chosen.json.write_text(json.dumps(self.results, indent=1) + "\n")


def main():
    chosen = parse_arguments(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    whole = Suite(chosen)
    try:
        whole.run()
    except suite.SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    native = [each for each in whole.results if each["native"] == judgement.PASSED]
    passed = [each for each in native if each["joined"] == judgement.PASSED]
    bad = [each for each in native if each["joined"] != judgement.PASSED and not each["cause"]]
    print(
        f"{len(whole.results)} modules; {len(native)} pass natively, {len(passed)} of them joined as {SHAPE}, "
        f"{len(native) - len(passed) - len(bad)} are known exceptions, {len(bad)} are not known"
    )
    if not native:
        print("No module has passed natively, so nothing is shown.", file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
