#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench road: what encryption and resumable connections cost two systems
of one rank, over loopback: half a round trip of 8 B, and a stream of 8 MiB messages.

Runs with and without them take turns, round after round; a row's figure is the median of the
rounds' differences or ratios. Ends with the cause if a run fails.

Where network namespaces can be made, also what gets through a road of 1 Gbit/s (tbf) whose round
trip is 50 ms (by IMPISHIM_TEST_DELAY_MS, which delays what has arrived: TCP itself sees no delay),
what two roads carry together (IMPISHIM_STREAMS), one of them of another rate, and what gets through a
cable that delays and loses frames (long_cable: TCP sees it all), beside one TCP connection of iperf3;
what IMPISHIM_COMPRESSION brings for numbers over 1 Gbit/s, and costs 8 B on loopback; and what the
relay of the rendezvous server costs where firewalls let neither system connect.
"""

import os
import shutil
import statistics

from harness import begin, fail, report, rounds_parser, run
from roads import DELAY_MS, LARGE, FreeRoad, LongCable, ThinRoad, cross, join_over

MPIS = ("mpich", "openmpi")
SHORT, LONG = 8, 8 << 20
TOLERANCE = 1.05
# What is compared with plain connections: the variables, and the goals, microseconds more and the
# share of the speed.
WAYS = {
    "encrypted": ({"IMPISHIM_SECRET": os.urandom(32).hex()}, 1.0, 0.6),
    "resumable": ({"IMPISHIM_RECONNECT": "60"}, 0.5, 0.9),
}
BATCH_US, BATCHES = "20000", "21"


def pair_of_ranks(build, mpi):
    program = build / "tests/programs" / f"bench_point_to_point_{mpi}"
    return ["-np", "1", program, f"{SHORT},{LONG}", BATCH_US, BATCHES]


def measure(build, mpi, variables):
    words = pair_of_ranks(build, mpi)
    out, shown = run(
        [build / "bin/impirun", *words, ":", *words],
        {"OMPI_MCA_mpi_yield_when_idle": "1", **variables},
    )
    return times_in(out, shown)


def times_in(out, shown):
    """Half a round trip in us and the stream's MB/s, as the program has printed them."""
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


ONE_GOAL, BESIDE_GOAL, ENCRYPTED_GOAL = 0.9, 1.2, 0.99
# Rates of two roads that are used together, in Mbit/s, and the share of what one message gets over
# each of them alone, added up.
PAIRS = {(500, 500): 0.95, (1000, 100): 0.95}
# Bytes of a message for each Mbit/s.
BYTES_PER_RATE = LARGE // 1000


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


def cross_pair(build, mpi, rounds, rates):
    """What one message gets over roads of these rates, in bytes/s, or the reason why it gets nothing."""
    road = ThinRoad(rates)
    refused = road.__enter__()
    if refused is not None:
        return refused
    variables = {"IMPISHIM_TLS": "off", "IMPISHIM_STREAMS": str(len(rates))}
    variables["IMPISHIM_TEST_DELAY_MS"] = "0"
    try:
        return cross(road, build, mpi, variables, rounds, sum(rates) * BYTES_PER_RATE)["one"]
    finally:
        road.__exit__()


def pair_rows(build, mpi, rounds):
    """The rows of two roads at once, or the reason why there are none."""
    rows = []
    for rates, goal in PAIRS.items():
        found = [cross_pair(build, mpi, rounds, each) for each in (rates, rates[:1], rates[1:])]
        refused = [each for each in found if isinstance(each, str)]
        if refused:
            return refused[0]
        together, *alone = found
        figure = together / sum(alone)
        name = f"{mpi}: one message over {rates[0]} + {rates[1]} Mbit/s, share of both alone"
        rows.append(
            {
                "group": "pair",
                "name": name,
                "figure": figure,
                "goal": goal,
                "verdict": "pass" if figure * TOLERANCE >= goal else "short",
                "found": {"together": together, "alone": alone},
            }
        )
    return rows


# Over the cable: frames lost, bytes of a message, congestion control, IMPISHIM_STREAMS, and the goals:
# shares of the rate, or times what one TCP connection with cubic carries there.
LOSS = 0.001
CROSSINGS = [
    (0, LARGE, "cubic", "1", None),
    (0, LARGE, "cubic", "8", None),
    (0, LARGE, "bbr", "1", None),
    (LOSS, 64 << 20, "cubic", "1", None),
    (LOSS, 64 << 20, "cubic", "auto", 4),
    (LOSS, 64 << 20, "bbr", "1", 4),
    (LOSS, 64 << 20, "bbr", "auto", 4),
]


def cable_row(build, mpi, rounds, plain, crossing):
    loss, large, congestion, streams, goal = crossing
    road = LongCable(build, loss)
    refused = road.__enter__()
    if refused is not None:
        return refused
    variables = {
        "IMPISHIM_TLS": "off",
        "IMPISHIM_STREAMS": streams,
        "IMPISHIM_CONGESTION": congestion,
        "IMPISHIM_TEST_DELAY_MS": "0",
    }
    try:
        if loss not in plain:
            plain[loss] = road.plain_tcp("cubic")
        found = cross(road, build, mpi, variables, rounds, large)
    finally:
        road.__exit__()
    figure = found["one"] / plain[loss]
    passes = goal is None or figure * TOLERANCE >= goal
    return {
        "group": "cable",
        "name": f"{mpi}: {large >> 20} MiB, {loss:.1%} lost, {congestion}, streams {streams}",
        "figure": figure,
        "goal": goal,
        "verdict": "no goal" if goal is None else "pass" if passes else "short",
        "plain": plain[loss],
        "found": found,
    }


def print_cable_rows(build, mpi, rounds, plain, rows):
    """Prints and keeps the rows of the long cable. Returns why there are none, or None."""
    for crossing in CROSSINGS:
        each = cable_row(build, mpi, rounds, plain, crossing)
        if isinstance(each, str):
            return each
        rows.append(each)
        found = each["found"]
        print(
            f"  {each['name']:<54}{found['one'] / 1e6:>7.1f}{found['eight'] / 1e6:>7.1f}"
            f"{each['plain'] / 1e6:>8.1f}{each['figure']:>8.2f}{each['goal'] or '':>6}"
            f"{found['beside'] * 1e3 / DELAY_MS:>7.2f} {each['verdict']}",
            flush=True,
        )
    return None


def run_loopback(build, rounds, rows):
    print(f"{'':<54}{'so':>10}{'plain':>10}{'figure':>8}{'goal':>7}")
    for mpi in MPIS:
        for way, pairs in take_turns(build, mpi, rounds).items():
            for each in rows_of(mpi, way, pairs):
                rows.append(each)
                print(
                    f"  {way + ', ' + each['name']:<52}{each[way]:>10.2f}{each['plain']:>10.2f}"
                    f"{each['figure']:>8.2f}{each['goal']:>7.2f} {each['verdict']}",
                    flush=True,
                )


def run_thin(build, rows):
    print(f"\n1 Gbit/s, round trip {2 * DELAY_MS} ms; each figure the median of 3 in one run\n")
    for mpi in MPIS:
        thin = thin_rows(build, mpi, 3)
        pairs = thin if isinstance(thin, str) else pair_rows(build, mpi, 3)
        if isinstance(pairs, str):
            print(f"  not measured: no namespaces or no tbf here: {pairs.strip()}")
            return
        for each in (*thin, *pairs):
            rows.append(each)
            print(
                f"  {each['name']:<64}{each['figure']:>8.3f}{each['goal']:>7.2f} {each['verdict']}",
                flush=True,
            )


def run_cable(build, rows):
    print(
        f"\nA cable of 1 Gbit/s, round trip {2 * DELAY_MS} ms, which TCP sees; MB/s of one message, of"
        "\neight at once, and of iperf3 with one connection and cubic; their ratio; its goal; 8 B"
        "\nbeside a long message, of the delay; each the median of 3 in one run\n"
    )
    plain = {}
    for mpi in MPIS:
        reason = "iperf3 is not installed" if shutil.which("iperf3") is None else None
        reason = reason or print_cable_rows(build, mpi, 3, plain, rows)
        if reason:
            print(f"  not measured: {reason.strip()}")
            return


def cross_free(build, mpi, closed):
    """The times of a pair of ranks over a cable, with firewalls and the relay if it is `closed`, or
    the reason why there are none."""
    road = FreeRoad(closed)
    refused = road.__enter__()
    if refused is not None:
        return refused
    try:
        words = ("-relay",) if closed else ()
        said = join_over(road, build, pair_of_ranks(build, mpi), {"IMPISHIM_TLS": "off"}, words)
    finally:
        road.__exit__()
    if closed and "only through the relay" not in "".join(err for _, err in said):
        fail(f"the systems did not use the relay: {said}")
    return times_in("".join(out for out, _ in said), "bench_point_to_point over a cable")


def run_relay(build, rounds, rows):
    print(
        "\nTwo systems that reach only the server, through its relay, and without firewalls\n\n"
        f"{'':<54}{'relay':>10}{'direct':>10}{'ratio':>8}"
    )
    for mpi in MPIS:
        found = {False: [], True: []}
        for turn in range(rounds):
            for closed in (turn % 2 == 0, turn % 2 != 0):
                times = cross_free(build, mpi, closed)
                if isinstance(times, str):
                    print(f"  not measured: no namespaces or no nftables here: {times.strip()}")
                    return
                found[closed].append(times)
        for index, name in enumerate(("8 B half round trip, us", "8 MiB stream, MB/s")):
            relayed, direct = ([each[index] for each in found[way]] for way in (True, False))
            figure = statistics.median(one / other for one, other in zip(relayed, direct))
            rows.append(
                {
                    "group": "relay",
                    "name": f"{mpi}: {name}",
                    "figure": figure,
                    "verdict": "no goal",
                    "found": found,
                }
            )
            print(
                f"  {mpi + ': ' + name:<52}{statistics.median(relayed):>10.2f}"
                f"{statistics.median(direct):>10.2f}{figure:>8.2f}",
                flush=True,
            )


# What compression has to bring for numbers over 1 Gbit/s, times; and what it may cost 8 B, us.
COMPRESSED_GOAL, COMPRESSED_LATENCY_GOAL = 1.2, 0.3
COMPRESSED_BYTES = 128 << 20


def compressed_crossings(build, mpi, rounds):
    """What one message of doubles gets over 1 Gbit/s, in bytes/s, as pairs of compressed and plain, or
    the reason why it gets nothing."""
    road = ThinRoad()
    refused = road.__enter__()
    if refused is not None:
        return refused
    found = {"zstd": [], "off": []}
    try:
        for turn in range(rounds):
            for way in sorted(found, reverse=turn % 2 == 0):
                variables = {"IMPISHIM_TLS": "off", "IMPISHIM_COMPRESSION": way}
                variables["IMPISHIM_TEST_DELAY_MS"] = "0"
                words = (COMPRESSED_BYTES, ("doubles",))
                found[way].append(cross(road, build, mpi, variables, 3, *words)["one"])
    finally:
        road.__exit__()
    return list(zip(found["zstd"], found["off"]))


def run_compression(build, rounds, rows):
    print(f"\n{'':<54}{'zstd':>10}{'off':>10}{'figure':>8}{'goal':>7}")
    for mpi in MPIS:
        times = {"zstd": [], "off": []}
        for turn in range(rounds):
            for way in sorted(times, reverse=turn % 2 == 0):
                times[way].append(measure(build, mpi, {"IMPISHIM_COMPRESSION": way})[0])
        pairs = compressed_crossings(build, mpi, 3)
        if isinstance(pairs, str):
            print(f"  not measured: no namespaces or no tbf here: {pairs.strip()}")
            return
        latencies = list(zip(times["zstd"], times["off"]))
        speeds = [(one / 1e6, other / 1e6) for one, other in pairs]
        for name, unit, found, combine, goal, passes in (
            (
                "8 B half round trip, us more",
                "us",
                latencies,
                lambda ours, plain: ours - plain,
                COMPRESSED_LATENCY_GOAL,
                lambda figure: figure <= COMPRESSED_LATENCY_GOAL * TOLERANCE,
            ),
            (
                "128 MiB of doubles over 1 Gbit/s, times",
                "MB/s",
                speeds,
                lambda ours, plain: ours / plain,
                COMPRESSED_GOAL,
                lambda figure: figure * TOLERANCE >= COMPRESSED_GOAL,
            ),
        ):
            ours, plain = ([each[side] for each in found] for side in (0, 1))
            figures = [combine(*each) for each in found]
            each = row("compressed", f"{mpi}: {name}", unit, ours, plain, figures, goal, passes)
            rows.append(each)
            print(
                f"  {each['name']:<52}{each['compressed']:>10.2f}{each['plain']:>10.2f}"
                f"{each['figure']:>8.2f}{each['goal']:>7.2f} {each['verdict']}",
                flush=True,
            )


def main():
    parser = rounds_parser(__doc__, 9)
    parts = ("loopback", "thin", "relay", "cable", "compression")
    parser.add_argument("--only", choices=parts, help="one part")
    arguments, machine, rounds, started = begin(parser)
    build, rows = arguments.build, []
    if arguments.only in (None, "loopback"):
        run_loopback(build, rounds, rows)
    if arguments.only in (None, "thin"):
        run_thin(build, rows)
    if arguments.only in (None, "relay"):
        run_relay(build, rounds, rows)
    if arguments.only in (None, "cable"):
        run_cable(build, rows)
    if arguments.only in (None, "compression"):
        run_compression(build, rounds, rows)
    report(
        "bench road", arguments.output or build / "bench_road.json", machine, rounds, started, rows
    )


if __name__ == "__main__":
    main()
