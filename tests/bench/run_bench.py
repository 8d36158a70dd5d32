#!/usr/bin/env python3
"""The measurements of scripts/bench: runs the contestants in turn, round after round, prints tables and writes them as JSON.

A round runs every contestant of a group once; all compare themselves with the group's reference in the same round, and a row's ratio is
the median of the rounds' ratios, so that slow changes of the machine fall on all alike. A run that fails ends everything with its cause.
"""

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

SIZES = sorted([8 << (2 * step) for step in range(11)] + [65536])  # 8 B ... 8 MiB, and the longest message of one packet
QUICK_SIZES = [8, 1024, 65536, 1 << 20]
BATCH_US = 500
RUN_TIMEOUT_S = 120
OVERHEAD_GOAL_NS = 5


class Contestant:
    def __init__(self, name, command, goals=None, **variables):
        self.name, self.command, self.goals, self.variables = name, command, goals or {}, variables
        self.rounds = []  # of {(measure, size): value}


class Group:
    """Contestants that are compared with the first of them."""

    def __init__(self, title, note, contestants):
        self.title, self.note, self.contestants = title, note, contestants
        self.reference = contestants[0]


def fail(text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(1)


def run(command, variables=None):
    words = [str(word) for word in command]
    shown = " ".join([f"{name}={value}" for name, value in (variables or {}).items()] + words)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("IMPI_", "IMPISHIM_"))}
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**environment, **(variables or {})}, start_new_session=True)
    except OSError as error:
        fail(f"cannot run {shown}: {error}")
    try:
        out, err = process.communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # the launchers end their processes
        try:
            _, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, err = process.communicate()
        fail(f"no end within {RUN_TIMEOUT_S} s: {shown}\n{err[-2000:]}")
    if process.returncode != 0:
        fail(f"exit code {process.returncode}: {shown}\n{out[-1000:]}{err[-2000:]}")
    return out, shown


def measure(contestant, sizes):
    out, shown = run(contestant.command, contestant.variables)
    found = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("latency", "bandwidth"):
            found[words[0], int(words[1])] = float(words[2])
    missing = [f"{what} {size}" for what in ("latency", "bandwidth") for size in sizes if (what, size) not in found]
    if missing:
        fail(f"no {', '.join(missing)} in the output of: {shown}\n{out[-2000:]}")
    contestant.rounds.append(found)


def make_groups(build, sizes, batches):
    programs, library, impirun = build / "tests/programs", build / "lib/impishim/mpich/libimpishim.so", build / "bin/impirun"
    arguments = [",".join(map(str, sizes)), BATCH_US, batches]
    mpich = [programs / "bench_point_to_point_mpich", *arguments]
    openmpi = [programs / "bench_point_to_point_openmpi", *arguments]
    inside = {"latency": 1.03, "bandwidth": 1 / 1.03}
    across = {"latency": 1.3, "bandwidth": 0.9}
    one_system = Group(
        "Two ranks of one system", "reference: MPICH alone; the second run of it shows the noise",
        [Contestant("MPICH", ["mpiexec.mpich", "-np", "2", *mpich]),
         Contestant("MPICH again", ["mpiexec.mpich", "-np", "2", *mpich]),
         Contestant("preloaded", ["mpiexec.mpich", "-genv", "LD_PRELOAD", library, "-np", "2", *mpich], inside),
         Contestant("joined 2+1", [impirun, "-np", "2", *mpich, ":", "-np", "1", *mpich], inside)])
    two_systems = Group(
        "One rank in each of two systems",
        "reference: plain TCP with the same bytes, IMPI's header of 128 bytes per packet of up to 64 KiB included",
        [Contestant("TCP", [programs / "bench_raw_tcp", *arguments]),
         Contestant("impishim 1+1", [impirun, "-np", "1", *mpich, ":", "-np", "1", *mpich], across),
         Contestant("MPICH, UCX tcp", ["mpiexec.mpich", "-np", "2", *mpich], UCX_TLS="tcp,self", UCX_NET_DEVICES="lo",
                    MPIR_CVAR_NOLOCAL="1"),
         Contestant("Open MPI, tcp", ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                                      "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo",
                                      "--mca", "mpi_yield_when_idle", "0", "-np", "2", *openmpi])])
    return [one_system, two_systems]


def verdict(ratio, measure_name, goal):
    if goal is None:
        return None
    return "pass" if (ratio <= goal if measure_name == "latency" else ratio >= goal) else "short"


def make_rows(group, sizes):
    rows = []
    for name, unit in (("latency", "us"), ("bandwidth", "MB/s")):
        for size in sizes:
            for contestant in group.contestants:
                values = [found[name, size] for found in contestant.rounds]
                references = [found[name, size] for found in group.reference.rounds]
                ratios = [value / reference for value, reference in zip(values, references)]
                goal = contestant.goals.get(name)
                ratio = statistics.median(ratios)
                rows.append({"group": group.title, "name": f"{contestant.name}: {name}", "contestant": contestant.name,
                             "measure": name, "size": size, "unit": unit, "median": statistics.median(values), "values": values,
                             "reference": group.reference.name, "ratio": ratio, "ratios": ratios, "goal": goal,
                             "verdict": verdict(ratio, name, goal)})
    return rows


def show_size(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024 or unit == "MiB":
            return f"{size} {unit}"
        size //= 1024


def show_number(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def print_group(group, rows, sizes):
    print(f"\n{group.title} ({group.note})")
    for name, title in (("latency", "half round trip, us"), ("bandwidth", "one way, MB/s")):
        goal = next(contestant.goals[name] for contestant in group.contestants if contestant.goals)
        bound = f"<= {goal:.2f}" if name == "latency" else f">= {goal:.2f}"
        others = group.contestants[1:]
        print(f"\n  {title}; x: ratio to {group.reference.name}; goal {bound}")
        print(f"  {'size':>8} {group.reference.name:>9}" + "".join(f"  {other.name:>25}" for other in others))
        for size in sizes:
            cells = {row["contestant"]: row for row in rows if row["measure"] == name and row["size"] == size}
            line = f"  {show_size(size):>8} {show_number(cells[group.reference.name]['median']):>9}"
            for other in others:
                row = cells[other.name]
                line += f"  {show_number(row['median']):>9}  x {row['ratio']:6.3f} {row['verdict'] or '':>5}"
            print(line)


def overhead_rows(build, rounds):
    """What a call costs more with the library preloaded and no variables set."""
    program = build / "tests/shim/mpich/call_overhead"
    alone = ["mpiexec.mpich", "-np", "1", program]
    preloaded = ["mpiexec.mpich", "-genv", "LD_PRELOAD", build / "lib/impishim/mpich/libimpishim.so", "-np", "1", program]
    costs = {}
    for _ in range(rounds):
        both = []
        for command in (alone, preloaded):
            out, _ = run(command)
            both.append({words[1]: float(words[2]) for words in map(str.split, out.splitlines()) if words[:1] == ["call_overhead"]})
        if not both[0] or both[0].keys() != both[1].keys():
            fail(f"{program} printed no costs")
        for what, cost in both[0].items():
            costs.setdefault(what, []).append((cost, both[1][what]))
    rows = []
    for what, pairs in costs.items():
        added = [with_library - without for without, with_library in pairs]
        median = statistics.median(added)
        rows.append({"group": "Calls without the variables", "name": f"call without variables, added ns: {what}", "size": None,
                     "unit": "ns", "median": median, "values": added, "without": [pair[0] for pair in pairs],
                     "with": [pair[1] for pair in pairs], "goal": OVERHEAD_GOAL_NS,
                     "verdict": "pass" if median <= OVERHEAD_GOAL_NS else "short"})
    return rows


def print_overhead(rows):
    print(f"\nCalls with the library preloaded and no variables set: ns per call; goal: at most {OVERHEAD_GOAL_NS} added\n")
    for row in rows:
        what = row["name"].split(": ")[1]
        print(f"  {what:<26} alone {statistics.median(row['without']):7.2f}  preloaded {statistics.median(row['with']):7.2f}  "
              f"added {row['median']:6.2f}  {row['verdict']}")


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
    models = [line.split(":", 1)[1].strip() for line in read_text("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    return {"processor": models[0] if models else platform.processor(), "processors": os.cpu_count(),
            "kernel": platform.release(), "system": read_text("/etc/debian_version"),
            "mpich": first_line(["dpkg-query", "-W", "-f=${Version}", "libmpich12"]),
            "openmpi": first_line(["dpkg-query", "-W", "-f=${Version}", "libopenmpi3"]),
            "ucx": first_line(["dpkg-query", "-W", "-f=${Version}", "libucx0"]),
            "compiler": first_line(["g++", "--version"]),
            "congestion_control": read_text("/proc/sys/net/ipv4/tcp_congestion_control"),
            "load_average_before": os.getloadavg()[0]}


def report(title, output, machine, rounds, started, rows):
    """Writes what has been measured since `started` as JSON to the file `output`, and prints how many rows pass."""
    seconds = time.monotonic() - started
    machine["load_average_after"] = os.getloadavg()[0]
    output.write_text(json.dumps({"machine": machine, "rounds": rounds, "seconds": round(seconds, 1), "rows": rows}, indent=1) + "\n")
    passed = sum(row["verdict"] == "pass" for row in rows)
    short = sum(row["verdict"] == "short" for row in rows)
    print(f"\n{title}: {passed} rows pass, {short} fall short; {seconds:.0f} s; {output}")


def main():
    parser = argparse.ArgumentParser(description="Measures impishim against MPICH, TCP and Open MPI.")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, help="where the JSON goes (default: bench.json in the build tree)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--rounds", type=int, help="rounds of every group (default: 11, with --quick 5)")
    parser.add_argument("--nice", type=int, help="niceness to measure with: a negative one, as root, keeps other work's noise down")
    options = parser.parse_args()
    if options.nice is not None:
        os.environ["BENCH_NICE"] = str(options.nice)
    sizes = QUICK_SIZES if options.quick else SIZES
    rounds = options.rounds or (5 if options.quick else 11)
    machine = describe_machine()
    machine["scheduling"] = scheduling_group.enter()
    if machine["scheduling"].startswith("autogroups"):
        print(f"bench: ranks that share a processor are not compared fairly here ({machine['scheduling']}): run as root, or with "
              f"{scheduling_group.AUTOGROUPS} at 0", file=sys.stderr)
    started = time.monotonic()

    groups = make_groups(options.build, sizes, batches=21 if options.quick else 41)
    rows = []
    print(f"{machine['processor']}, {machine['processors']} processors, Linux {machine['kernel']}, MPICH {machine['mpich']}, "
          f"Open MPI {machine['openmpi']}; medians of {rounds} rounds")
    for group in groups:
        for _ in range(rounds):
            for contestant in group.contestants:
                measure(contestant, sizes)
        group_rows = make_rows(group, sizes)
        print_group(group, group_rows, sizes)
        rows += group_rows
    calls = overhead_rows(options.build, rounds)
    print_overhead(calls)
    rows += calls

    report("bench", options.output or options.build / "bench.json", machine, rounds, started, rows)


if __name__ == "__main__":
    main()
