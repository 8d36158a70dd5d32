#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an MPI program as one job over several systems on this machine and checks how it ends.

--shape 2+2     two systems of two ranks each, joined by impirun; the lines of standard output must be those of a native run with
                as many ranks, in any order. With --alternate every second system runs that program, built for another MPI
--shape native  the vendor's MPI alone
--shape preload the vendor's MPI with the library preloaded but not asked to join

Fails as well if the run takes longer than --timeout seconds, or leaves a process behind. """

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import uuid

MARK = "IMPISHIM_TEST_RUN"
# Open MPI would refuse to run as root or more ranks than processors, and gives each rank one
# processor of its own, where several systems on this machine then want the same. Ranks that wait
# spin; yielding lets the others in. Its windows over UCX fail on MPI_COMM_SELF; its
# MPI_Dist_graph_create with reorder over treematch now and then never returns.
LAUNCHER_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_osc": "^ucx",
    "OMPI_MCA_topo": "^treematch",
}
SUPPORT = pathlib.Path(__file__).resolve().parent
# What the vendors leave behind, and their races, are their own. UCX and PSM2 replace functions of the
# C library in memory, which the sanitizers have replaced before.
SANITIZER_VARIABLES = {
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:handle_segv=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"suppressions={SUPPORT}/vendors.tsan:exitcode=66:ignore_noninstrumented_modules=1",
    "UCX_MEM_EVENTS": "no",
}
FINDINGS = ("AddressSanitizer", ": runtime error:", "ThreadSanitizer")


def whole_lines(text, begin=r"rank \d"):
    """The lines that several ranks have printed, sorted. A launcher may put the end of a line
    behind the next one, so that two stand in one: what begins like `begin`, and not after "of ",
    begins a line."""
    return sorted(
        line.strip() for line in re.split(rf"\n|(?<!of )(?={begin})", text) if line.strip()
    )


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def lines(self):
        return whole_lines(self.out)

    def show(self, title):
        print(
            f"--- {title}: exit code {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}---",
            file=sys.stderr,
        )


def processes_of(mark):
    """Ids of the processes that a run has started, wherever they have moved to."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return found


def end_leftovers(mark, patience):
    """Waits for the run's processes to end by themselves; ends and returns those that do not."""
    deadline = time.monotonic() + patience
    while (left := processes_of(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return left


def run(command, timeout, environment=None):
    mark = uuid.uuid4().hex
    variables = {**os.environ, **(environment or {}), MARK: mark}
    for name, value in {**LAUNCHER_VARIABLES, "IMPI_AUTH_NONE": "1"}.items():
        variables.setdefault(name, value)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_leftovers(mark, 0)
        process.kill()
        out, err = process.communicate()
        Outcome("none", out, err).show(" ".join(command))
        sys.exit(f"not over after {timeout} seconds: {' '.join(command)}")
    outcome = Outcome(process.returncode, out, err)
    left = end_leftovers(mark, 5)
    if left:
        outcome.show(" ".join(command))
        sys.exit(f"left {len(left)} processes behind")
    return outcome


def joined_command(arguments, counts):
    sections = []
    programs = [arguments.program[0], arguments.alternate or arguments.program[0]]
    gateways = arguments.gateway + [""] * len(counts)
    for system, count in enumerate(counts):
        options = ["-np", str(count)] + (["-gateway", gateways[system]] if gateways[system] else [])
        sections += (
            ([":"] if sections else []) + options + [programs[system % 2]] + arguments.program[1:]
        )
    return [arguments.impirun] + sections


def require(condition, outcome, title, message):
    if not condition:
        outcome.show(title)
        sys.exit(f"{title}: {message}")


def native_outcome(reference, command, timeout, environment):
    if reference:
        return Outcome(0, reference.read_text(), "")
    outcome = run(command, timeout, environment)
    require(outcome.code == 0, outcome, "native", f"exit code {outcome.code}")
    return outcome


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--impirun", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--library", required=True, help="the libimpishim.so of this MPI")
    parser.add_argument("--shape", required=True, help="2+2, 1+1+2, ..., native or preload")
    parser.add_argument("--ranks", type=int, default=4, help="for the shapes native and preload")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument(
        "--exit-code", type=int, default=0, help="what the run must end with; -1: anything but 0"
    )
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        help="text that standard error or output must contain",
    )
    parser.add_argument(
        "--expect-once", action="append", default=[], help="text that must be there exactly once"
    )
    parser.add_argument("--forbid", action="append", default=[], help="text that must not be there")
    parser.add_argument(
        "--no-compare",
        action="store_true",
        help="the output differs from the native one by its nature",
    )
    parser.add_argument(
        "--reference",
        type=pathlib.Path,
        help="file with the lines of a native run: shape native writes it, others compare with it instead of running",
    )
    parser.add_argument(
        "--gateway",
        action="append",
        default=[],
        help="ranks of the next system that are gateways; empty: none",
    )
    parser.add_argument(
        "--host-procs",
        help="IMPISHIM_HOST_PROCS, unless the environment has it or there are gateways",
    )
    parser.add_argument("--yielding", help="the library that makes MPICH's waiting ranks yield")
    parser.add_argument(
        "--sanitizer", help="the run-time library of the sanitizer with which the library is built"
    )
    parser.add_argument("--also-preload", help="another library for joined ranks")
    parser.add_argument("--alternate", help="the program of every second system")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()

    counts = (
        [int(count) for count in arguments.shape.split("+")] if arguments.shape[0].isdigit() else []
    )
    native = [arguments.mpiexec, "-n", str(sum(counts) or arguments.ranks)] + arguments.program
    hosts = {}
    if (
        arguments.host_procs
        and not any(arguments.gateway)
        and "IMPISHIM_HOST_PROCS" not in os.environ
    ):
        hosts["IMPISHIM_HOST_PROCS"] = arguments.host_procs
    also = arguments.also_preload if counts else None
    preloaded = [each for each in (arguments.sanitizer, arguments.yielding, also) if each]
    plain = {"LD_PRELOAD": ":".join(preloaded), **hosts}
    if arguments.sanitizer:
        plain.update(SANITIZER_VARIABLES)
    with_library = {**plain, "LD_PRELOAD": ":".join([*preloaded, arguments.library])}
    command = joined_command(arguments, counts) if counts else native
    outcome = run(
        command, arguments.timeout, with_library if arguments.shape == "preload" else plain
    )

    title = arguments.shape
    right_code = (
        outcome.code != 0 if arguments.exit_code == -1 else outcome.code == arguments.exit_code
    )
    require(right_code, outcome, title, f"exit code {outcome.code}, expected {arguments.exit_code}")
    text = outcome.out + outcome.err
    for finding in FINDINGS if arguments.sanitizer else ():
        require(finding not in text, outcome, title, "a finding of the sanitizer")
    for expected in arguments.expect + arguments.expect_once:
        require(expected in text, outcome, title, f'"{expected}" is missing')
    for expected in arguments.expect_once:
        require(
            text.count(expected) == 1,
            outcome,
            title,
            f'"{expected}" is there {text.count(expected)} times',
        )
    for forbidden in arguments.forbid:
        require(forbidden not in text, outcome, title, f'"{forbidden}" is there')
    if arguments.shape == "native" and arguments.reference:
        arguments.reference.write_text(outcome.out)
    elif arguments.shape != "native" and not arguments.no_compare and arguments.exit_code == 0:
        reference = native_outcome(arguments.reference, native, arguments.timeout, plain)
        if reference.lines() != outcome.lines():
            reference.show("native")
            require(False, outcome, title, "the output differs from the native one")
    print(outcome.out, end="")


if __name__ == "__main__":
    main()
