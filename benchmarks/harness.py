# SPDX-License-Identifier: Apache-2.0
"""What the measurements of scripts/bench have in common: running contestants, describing the
machine, numbers, the report."""

import argparse
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import time

import scheduling_group

RUN_TIMEOUT_S = 120
PATIENCE_S = 5  # with a run that has said its last words


def fail(text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(1)


def end_group(process):
    """Ends a launcher and what it has started; returns all of its output."""
    os.killpg(process.pid, signal.SIGTERM)  # the launchers end their processes
    try:
        return process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def await_end(process, shown, last_words):
    """Exit code, output and errors. With `last_words` printed, PATIENCE_S at least, the code counts
    as 0, whether the run ends or not."""
    began = time.monotonic()
    spoken = False
    while True:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
            return process.returncode, out, err
        except subprocess.TimeoutExpired as pending:
            if spoken:
                return 0, *end_group(process)
            spoken = last_words is not None and last_words.encode() in (pending.output or b"")
            if time.monotonic() - began > RUN_TIMEOUT_S:
                fail(f"no end within {RUN_TIMEOUT_S} s: {shown}\n{end_group(process)[1][-2000:]}")


def end_on_signals():
    """SIGTERM ends the measurement as an exception does, so that what runs is ended, too."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def run(command, variables=None, last_words=None, folder=None):
    """Output of a command that runs in `folder`, and the command as a text. `last_words`: for a
    program that may not come back from MPI_Finalize, what it prints before."""
    end_on_signals()
    words = [str(word) for word in command]
    shown = " ".join([f"{name}={value}" for name, value in (variables or {}).items()] + words)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IMPI_", "IMPISHIM_"))
    }
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, **(variables or {})},
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        fail(f"cannot run {shown}: {error}")
    try:
        code, out, err = await_end(process, shown, last_words)
    except (
        BaseException
    ):  # whatever ends the measurement: ranks that wait for each other would spin for ever
        if process.poll() is None:
            end_group(process)
        raise
    if code != 0:
        fail(f"exit code {code}: {shown}\n{out[-1000:]}{err[-2000:]}")
    return out, shown


def openmpi_over_tcp(ranks, yields):
    """The beginning of the command that runs a program on Open MPI without impishim, all ranks
    joined by TCP."""
    return [
        "mpiexec.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "tcp,self",
        "--mca",
        "btl_tcp_if_include",
        "lo",
        "--mca",
        "mpi_yield_when_idle",
        "1" if yields else "0",
        "-np",
        str(ranks),
    ]


def show_size(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or unit == "MiB":
            return f"{size} {unit}"
        size //= 1024


def show_number(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def first_line(command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        return out.splitlines()[0] if out else ""
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read_text(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return "unknown"


def describe_machine():
    models = [
        line.split(":", 1)[1].strip()
        for line in read_text("/proc/cpuinfo").splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.processor(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "system": read_text("/etc/debian_version"),
        "mpich": first_line(["dpkg-query", "-W", "-f=${Version}", "libmpich12"]),
        "openmpi": first_line(["dpkg-query", "-W", "-f=${Version}", "libopenmpi3"]),
        "ucx": first_line(["dpkg-query", "-W", "-f=${Version}", "libucx0"]),
        "compiler": first_line(["g++", "--version"]),
        "congestion_control": read_text("/proc/sys/net/ipv4/tcp_congestion_control"),
        "load_average_before": os.getloadavg()[0],
    }


def enter_scheduling_group(machine):
    """All contestants in one scheduling group; says so if that cannot be, and notes it in the
    description of the machine."""
    machine["scheduling"] = scheduling_group.enter()
    if machine["scheduling"].startswith("autogroups"):
        print(
            f"bench: ranks that share a processor are not compared fairly here ({machine['scheduling']}): run as root, or with "
            f"{scheduling_group.AUTOGROUPS} at 0",
            file=sys.stderr,
        )


def rounds_parser(doc, rounds):
    """The options that measurements in rounds have in common; `doc` is the module's text."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    return parser


def begin(parser, unit=""):
    """Parses the options of rounds_parser(), joins the scheduling group, and prints the first line.
    Returns the options, the machine's description, the rounds, and when the measurement began."""
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    machine = describe_machine()
    enter_scheduling_group(machine)
    rounds = 3 if arguments.quick else arguments.rounds
    print(
        f"{machine['processor']}, {os.cpu_count()} processors; medians of {rounds} rounds{unit}\n"
    )
    return arguments, machine, rounds, time.monotonic()


def report(title, output, machine, rounds, started, rows, goals=None):
    """Writes what has been measured since `started` as JSON to the file `output`, and prints how
    many of the goals, or of the rows if there are none, pass."""
    seconds = time.monotonic() - started
    machine["load_average_after"] = os.getloadavg()[0]
    everything = {"machine": machine, "rounds": rounds, "seconds": round(seconds, 1), "rows": rows}
    output.write_text(
        json.dumps({**everything, "goals": goals} if goals else everything, indent=1) + "\n"
    )
    passed = sum(row["verdict"] == "pass" for row in goals or rows)
    short = sum(row["verdict"] == "short" for row in goals or rows)
    print(
        f"\n{title}: {passed} {'goals' if goals else 'rows'} pass, {short} fall short; {seconds:.0f} s; {output}"
    )
