#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench road: what encryption and resumable connections cost two systems
of one rank, over loopback: half a round trip of 8 B, and a stream of 8 MiB messages.

Runs with and without them take turns, round after round; a row's figure is the median of the
rounds' differences or ratios. Ends with the cause if a run fails.

Where network namespaces can be made, also what gets through a road of 1 Gbit/s (tbf) whose round
trip is 50 ms (by IMPISHIM_TEST_DELAY_MS, which delays what has arrived: TCP itself sees no delay), and
what two roads carry together (IMPISHIM_STREAMS), one of them of another rate.
"""

import os
import statistics
import subprocess
import time

from harness import describe_machine, enter_scheduling_group, fail, report, rounds_parser, run

SHORT, LONG = 8, 8 << 20
TOLERANCE = 1.05
# What is compared with plain connections: the variables, and the goals, microseconds more and the
# share of the speed.
WAYS = {
    "encrypted": ({"IMPISHIM_SECRET": os.urandom(32).hex()}, 1.0, 0.6),
    "resumable": ({"IMPISHIM_RECONNECT": "60"}, 0.5, 0.9),
}
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
    """For each way, pairs of its figures and the plain ones, one for each round."""
    pairs = {way: [] for way in WAYS}
    for turn in range(rounds):
        order = [None, *WAYS]
        order = order[turn % len(order) :] + order[: turn % len(order)]
        found = {way: measure(build, mpi, WAYS[way][0] if way else {}) for way in order}
        for way, figures in pairs.items():
            figures.append((found[way], found[None]))
    return pairs


def row(way, name, unit, ours, plain, figures, goal, passes):
    return {
        "group": way,
        "name": name,
        "unit": unit,
        way: statistics.median(ours),
        "plain": statistics.median(plain),
        "figure": statistics.median(figures),
        "figures": figures,
        "goal": goal,
        "verdict": "pass" if passes(statistics.median(figures)) else "short",
    }


def rows_of(mpi, way, pairs):
    latency_goal, stream_goal = WAYS[way][1:]
    latencies = [(ours[0], plain[0]) for ours, plain in pairs]
    streams = [(ours[1], plain[1]) for ours, plain in pairs]
    return [
        row(
            way,
            f"{mpi}: 8 B half round trip, us more",
            "us",
            [each[0] for each in latencies],
            [each[1] for each in latencies],
            [ours - plain for ours, plain in latencies],
            latency_goal,
            lambda figure: figure <= latency_goal * TOLERANCE,
        ),
        row(
            way,
            f"{mpi}: 8 MiB stream, {way} / plain",
            "MB/s",
            [each[0] for each in streams],
            [each[1] for each in streams],
            [ours / plain for ours, plain in streams],
            stream_goal,
            lambda figure: figure * TOLERANCE >= stream_goal,
        ),
    ]


class ThinRoad:
    """Two network namespaces with cables between them, one for each rate in Mbit/s."""

    RATE = 1e9 / 8  # bytes per second, of the first cable
    FAR = "10.97.0.1"

    def __init__(self, rates=(1000,)):
        self.ends = [f"impishim-road-{side}-{os.getpid()}" for side in "ab"]
        self.rates = rates

    def command(self, *words):
        subprocess.run(words, check=True, capture_output=True, text=True)

    def __enter__(self):
        try:
            for end in self.ends:
                self.command("ip", "netns", "add", end)
            for cable, rate in enumerate(self.rates):
                self.lay(cable, rate)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            return getattr(error, "stderr", None) or str(error)
        return None

    def lay(self, cable, rate):
        one, other = self.ends
        name = f"cable{cable}"
        ends = ("link", "add", name, "netns", one, "type", "veth", "peer")
        self.command("ip", *ends, "name", name, "netns", other)
        for number, end in enumerate(self.ends, 1):
            address = f"10.{97 + cable}.0.{number}/24"
            self.command("ip", "-n", end, "address", "add", address, "dev", name)
            for device in ("lo", name):
                self.command("ip", "-n", end, "link", "set", device, "up")
            # A queue of 5 ms, as a switch has.
            shape = ("tbf", "rate", f"{rate}mbit", "burst", "128kb", "latency", "5ms")
            self.command("tc", "-n", end, "qdisc", "add", "dev", name, "root", *shape)

    def addresses(self, end):
        return ",".join(f"10.{97 + cable}.0.{end + 1}" for cable in range(len(self.rates)))

    def __exit__(self, *_):
        for end in self.ends:
            subprocess.run(["ip", "netns", "delete", end], check=False, capture_output=True)

    def inside(self, end, *words):
        return ["ip", "netns", "exec", self.ends[end], *map(str, words)]


LARGE = 512 << 20
DELAY_MS = 25
ONE_GOAL, BESIDE_GOAL, ENCRYPTED_GOAL = 0.9, 1.2, 0.99
# Rates of two roads that are used together, in Mbit/s, and the share of their sum, of which the
# headers of TCP and Ethernet take 0.05.
PAIRS = {(500, 500): 0.9, (1000, 100): 0.9}


def cross(road, build, mpi, variables, rounds):
    """The figures of long_road over the road, by name."""
    program = build / "tests/programs" / f"bench_long_road_{mpi}"
    environment = {
        **os.environ,
        "IMPI_AUTH_KEY": "77",
        "IMPISHIM_TEST_DELAY_MS": str(DELAY_MS),
        "OMPI_MCA_mpi_yield_when_idle": "1",
        **variables,
    }
    server = subprocess.Popen(
        road.inside(0, build / "bin/impirun", "-server", "2", "-port", "5999"),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    server.stdout.readline()
    ends = [
        subprocess.Popen(
            road.inside(
                end,
                *(build / "bin/impirun", "-client", end, f"{road.FAR}:5999", "-np", "2"),
                *(program, LARGE, rounds),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "IMPISHIM_HOST_ADDRESS": road.addresses(end)},
        )
        for end in (0, 1)
    ]
    said = [end.communicate(timeout=600) for end in ends]
    server.communicate(timeout=60)
    if any(end.returncode != 0 for end in (*ends, server)):
        fail(f"the road: {said}")
    words = " ".join(out for out, _ in said).split()
    return {name: float(value) for name, value in zip(words[::2], words[1::2])}


def thin_rows(build, mpi, rounds):
    """The rows of the thin road, or the reason why there are none."""
    road = ThinRoad()
    refused = road.__enter__()
    if refused is not None:
        return refused
    try:
        plain = cross(road, build, mpi, {"IMPISHIM_TLS": "off"}, rounds)
        encrypted = cross(road, build, mpi, WAYS["encrypted"][0], rounds)
    finally:
        road.__exit__()

    def share(name):
        return plain[name] / road.RATE

    figures = [
        ("one message of 512 MiB, share of the rate", share("one"), ONE_GOAL, 1),
        ("eight of 64 MiB at once, share of the rate", share("eight"), ONE_GOAL, 1),
        ("8 B beside 512 MiB, of the delay", plain["beside"] * 1e3 / DELAY_MS, BESIDE_GOAL, -1),
        ("512 MiB, encrypted / plain", encrypted["one"] / plain["one"], ENCRYPTED_GOAL, 1),
    ]
    rows = []
    for name, figure, goal, sign in figures:
        passes = figure * TOLERANCE >= goal if sign > 0 else figure <= goal * TOLERANCE
        verdict = "pass" if passes else "short"
        rows.append(
            {
                "group": "thin",
                "name": f"{mpi}: {name}",
                "figure": figure,
                "goal": goal,
                "verdict": verdict,
                "plain": plain,
                "encrypted": encrypted,
            }
        )
    return rows


def pair_rows(build, mpi, rounds):
    """The rows of two roads at once, or the reason why there are none."""
    rows = []
    for rates, goal in PAIRS.items():
        road = ThinRoad(rates)
        refused = road.__enter__()
        if refused is not None:
            return refused
        try:
            variables = {"IMPISHIM_TLS": "off", "IMPISHIM_STREAMS": "2"}
            variables["IMPISHIM_TEST_DELAY_MS"] = "0"
            found = cross(road, build, mpi, variables, rounds)
        finally:
            road.__exit__()
        figure = found["one"] / (sum(rates) * 1e6 / 8)
        verdict = "pass" if figure * TOLERANCE >= goal else "short"
        name = (
            f"{mpi}: one message of 512 MiB over {rates[0]} + {rates[1]} Mbit/s, share of the sum"
        )
        rows.append(
            {
                "group": "pair",
                "name": name,
                "figure": figure,
                "goal": goal,
                "verdict": verdict,
                "found": found,
            }
        )
    return rows


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
    print(f"{'':<54}{'so':>10}{'plain':>10}{'figure':>8}{'goal':>7}")
    for mpi in ("mpich", "openmpi"):
        for way, pairs in take_turns(build, mpi, rounds).items():
            for each in rows_of(mpi, way, pairs):
                rows.append(each)
                print(
                    f"  {way + ', ' + each['name']:<52}{each[way]:>10.2f}{each['plain']:>10.2f}"
                    f"{each['figure']:>8.2f}{each['goal']:>7.2f} {each['verdict']}",
                    flush=True,
                )
    print(f"\n1 Gbit/s, round trip {2 * DELAY_MS} ms; each figure the median of 3 in one run\n")
    for mpi in ("mpich", "openmpi"):
        thin = thin_rows(build, mpi, 3)
        pairs = thin if isinstance(thin, str) else pair_rows(build, mpi, 3)
        if isinstance(pairs, str):
            print(f"  not measured: no namespaces or no tbf here: {pairs.strip()}")
            break
        for each in (*thin, *pairs):
            rows.append(each)
            print(
                f"  {each['name']:<64}{each['figure']:>8.3f}{each['goal']:>7.2f} {each['verdict']}",
                flush=True,
            )
    report(
        "bench road", arguments.output or build / "bench_road.json", machine, rounds, started, rows
    )


if __name__ == "__main__":
    main()
