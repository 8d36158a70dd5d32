#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements of scripts/bench compression: whether compressed packets between two systems would
get through a road sooner. Nothing in the library compresses.

Runs Debian's applications, and the heat equation of darray, joined 2+2, and captures what crosses
the connections between the systems (tcpdump, so it needs root). Then compresses the captured bytes,
each connection for itself, sends them over thin roads (tbf) by a program that compresses before it
sends, and computes what a road of any rate R would carry, with C and D the speeds of compressing and
decompressing, and r the share of the bytes that is left (--whole: the most that the applications
would gain, too):

  overlapped   min(C, R / r, D) / R: something compresses while the road carries what came before
  same thread  1 / (R / C + r), at most D / R: the road waits while the sender compresses

"Blocks" are 64 KiB of a connection each, by themselves; "segments" are what TCP sent at once, which
is what a sender has when it sends. A "stream" keeps the window of what was sent before, and is
flushed at each piece. A piece is worth it if it shrinks by more than a tenth.

Times are processor time of one thread, the median of five rounds. Ends with the cause if a run fails.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import tempfile
import time

import capture
import compression_road
from applications import APPLICATIONS, LIBRARY, VARIABLES, Application
from harness import describe_machine, enter_scheduling_group, fail, report, run

MEGABYTE = 1e6
# What is kept of one run, and what is compressed of one direction.
CAPTURE_LIMIT, COMPRESS_LIMIT = 600 << 20, 24 << 20
RATES = {"100 Mbit/s": 12.5e6, "1 Gbit/s": 125e6, "10 Gbit/s": 1250e6}
# Those over which bytes are sent. A faster one is beyond a few processors, and on a slower one the
# processor does not count.
REAL_RATES = ("1 Gbit/s",)
# Rates in Mbit/s over which the applications themselves run, if that is asked for.
WHOLE_RATES = {"100 Mbit/s": 100, "1 Gbit/s": 1000}
# Below it a tenth of the bytes more or less would decide.
GOAL, GOAL_RATE = 1.2, "1 Gbit/s"
LEFT_OUT = {"NetPIPE": "its messages hold no data of a program"}
# Of --whole: hundreds of MB of a benchmark's buffers would take minutes at 100 Mbit/s.
NOT_WHOLE = ("HPCC",)
BLOCKS, STREAM = "zstd 1, blocks", "zstd 1, segments, stream"
KNOWING = "zstd 1, blocks that are worth it"
OTHERS = ("zstd -1, blocks", "zstd -3, blocks", "zstd -5, blocks", "lz4 1, blocks")


def heat(build):
    """The heat equation as a distributed array, with a fifth of the steps of scripts/demo darray."""
    program = build / "tests/programs" / f"darray_heat_{LIBRARY}"
    return Application(
        "darray heat, 200 x 200, 4000 steps",
        [program, "200", "4000", "heat.png"],
        lambda folder: None,
        lambda output, folder: {},
        0.0,
    )


def joined(build, application):
    """The command that joins two systems, each with ports of its own."""
    words = [build / "bin/impirun", "-mpi", LIBRARY]
    for number, ports in enumerate(capture.PORTS):
        port = f"IMPISHIM_PORT={ports[0]}-{ports[-1]}"
        words += [":"] if number else []
        words += ["-np", application.ranks // 2, "env", port, *application.command]
    return words


def capture_run(build, application, folder):
    """The streams of both directions, seconds of a run without capture, and bytes left out."""
    variables = {**VARIABLES, "IMPISHIM_TLS": "off"}
    command = joined(build, application)
    application.prepare(folder)
    began = time.monotonic()
    run(command, variables, folder=folder)
    seconds = time.monotonic() - began
    application.prepare(folder)
    path = folder / "captured"
    with capture.Capture(path, CAPTURE_LIMIT) as captured:
        run(command, variables, folder=folder)
    if captured.dropped:
        print(f"  {application.name}: the kernel dropped {captured.dropped} packets of the capture")
    streams = capture.read_streams(path)
    path.unlink()
    return capture.directions(streams, application.ranks // 2), seconds, captured.left_out


def compress(build, files, *options):
    """What bench_compression finds about the streams of one direction, by the name of the way."""
    output, _ = run([build / "tests/programs/bench_compression", *options, *files])
    ways = {}
    for line in output.splitlines():
        way = json.loads(line)
        way["compress"] = way["bytes"] / way["compress_s"]
        way["decompress"] = way["bytes"] / way["decompress_s"]
        ways[way.pop("way")] = way
    return ways


@dataclasses.dataclass(frozen=True)
class Gain:
    """How much sooner bytes get through a road of a rate, as factors: 1 is plain."""

    overlapped: float
    same_thread: float


def gain(way, rate):
    far = way["decompress"] / rate
    return Gain(
        min(way["compress"] / rate, 1 / way["ratio"], far),
        min(1 / (rate / way["compress"] + way["ratio"]), far),
    )


def knowing(way):
    """The same for a sender that compresses only what is worth it, and knows before what is."""
    share = max(way["worth_bytes"], 1e-6)
    return {
        "compress": way["compress"] / share,
        "decompress": way["decompress"] / share,
        "ratio": way["adaptive_ratio"],
    }


def row_of(application, direction, seconds, left_out, traffic, ways):
    """One direction of one application. The road takes `road_share` of the run's time at GOAL_RATE, if
    nothing is computed meanwhile."""
    senders = {**ways, KNOWING: knowing(ways[BLOCKS])}
    gains = {
        rate: {name: dataclasses.asdict(gain(way, value)) for name, way in senders.items()}
        for rate, value in RATES.items()
    }
    on_road = (traffic["bytes"] + traffic["missing"] + left_out / 2) / RATES[GOAL_RATE]
    return {
        "group": "compression",
        "name": f"{application.name}, {direction}",
        "seconds": seconds,
        "left_out": left_out,
        "traffic": traffic,
        "road_share": on_road / (seconds + on_road),
        "ways": ways,
        "gains": gains,
        "verdict": None,
    }


def judge(row):
    """Holds what zstd carried over the real road against the goal."""
    found = row["roads"][GOAL_RATE]
    if not isinstance(found, str):
        figure = found["zstd"]["ratio"]
        row |= {"figure": figure, "goal": GOAL, "verdict": "pass" if figure >= GOAL else "short"}


def cross_roads(build, files):
    """What thin roads carry, by their rate: see compression_road.measure()."""
    return {
        rate: compression_road.measure(build, files, int(value * 8 / 1e6))
        for rate, value in RATES.items()
        if rate in REAL_RATES
    }


def measure(build, application, folder, whole):
    """The rows of both directions. The first one has roads and messages, too, and with `whole` what the
    application itself would gain over these rates."""
    directions, seconds, left_out = capture_run(build, application, folder)
    rows = []
    for direction, streams in directions.items():
        if not any(stream.bytes() for stream in streams):
            fail(f"{application.name}: nothing was captured {direction}")
        traffic = capture.describe(streams)
        files = capture.write_streams(streams, folder, COMPRESS_LIMIT)
        ways = compress(build, files)
        row = row_of(application, direction, seconds, left_out, traffic, ways)
        if not rows:
            row["roads"] = cross_roads(build, files)
            judge(row)
            row["messages"] = compress(build, files, "--pieces")
            left = ways[STREAM]["ratio"]
            row["whole"] = {
                rate: compression_road.bound(build, application, folder, mbits, left)
                for rate, mbits in whole.items()
                if not application.name.startswith(NOT_WHOLE)
            }
        rows.append(row)
        for file in files:
            file.unlink()
    return rows


def show_traffic(rows):
    print("\nWhat crossed the connections; bytes of segments, headers with the packets' payload\n")
    print(
        f"{'':<56}{'MB':>8}{'missed':>8}{'segments':>10}{'median':>8}{'mean':>8}{'>=4 KiB':>8}"
        f"{'headers':>8}{'run, s':>8}{'road':>6}"
    )
    for row in rows:
        each = row["traffic"]
        missed = each["missing"] + row["left_out"] / 2
        headers = "" if each["headers"] is None else f"{each['headers']:.1%}"
        print(
            f"  {row['name']:<54}{each['bytes'] / MEGABYTE:>8.1f}{missed / MEGABYTE:>8.1f}"
            f"{each['segments']:>10}{each['segment_median']:>8.0f}{each['segment_mean']:>8.0f}"
            f"{each['in_long_segments']:>8.0%}{headers:>8}{row['seconds']:>8.1f}"
            f"{row['road_share']:>6.0%}"
        )
    print(f"\n  road: its share of a run's time at {GOAL_RATE}, if nothing is computed meanwhile")


def show_ways(rows, names):
    print("\nShare of the bytes that is left; compressing and decompressing, MB/s; bytes worth it")
    for name in names:
        print(f"\n  {name + ':':<54}{'left':>8}{'adaptive':>10}{'MB/s':>8}{'back':>8}{'worth':>8}")
        for row in rows:
            way = row["ways"][name]
            print(
                f"    {row['name']:<52}{way['ratio']:>8.3f}{way['adaptive_ratio']:>10.3f}"
                f"{way['compress'] / MEGABYTE:>8.0f}{way['decompress'] / MEGABYTE:>8.0f}"
                f"{way['worth_bytes']:>8.0%}"
            )


def show_gains(rows, names):
    print("\nThroughput compressed / plain, overlapped and in the same thread")
    for name in names:
        print(f"\n  {name + ':':<54}" + "".join(f"{rate:>16}" for rate in RATES))
        for row in rows:
            cells = ""
            for rate in RATES:
                each = row["gains"][rate][name]
                cells += f"{each['overlapped']:>9.2f}{each['same_thread']:>7.2f}"
            print(f"    {row['name']:<52}{cells}")


def show_roads(rows):
    print("\nMB/s over a road of that rate (tbf), plain, and compressed by the thread that sends\n")
    titles = "".join(
        f"{rate + ':':>12}{'plain':>7}{'zstd 1':>14}{'lz4':>14}" for rate in REAL_RATES
    )
    print(f"  {'':<54}{titles}")
    for row in rows:
        cells = ""
        for found in row["roads"].values():
            if isinstance(found, str):
                print(f"  not measured: no namespaces or no tbf here: {found}")
                return
            cells += f"{found['plain']['speed'] / MEGABYTE:>19.1f}"
            for way in ("zstd", "lz4"):
                speed = f"{found[way]['speed'] / MEGABYTE:.1f} x"
                cells += f"{speed:>9}{found[way]['ratio']:>5.2f}"
        print(f"  {row['name']:<54}{cells}")


def show_messages(row):
    name = row["name"]
    print(
        f"\nWhat a message adds, us (zstd 1, stream, {name}), and what its bytes save on a road\n"
    )
    print(f"  {'payload, B':<12}{'left':>8}{'compress':>10}{'back':>8}", end="")
    print("".join(f"{'saved, ' + rate:>20}" for rate in RATES))
    for payload, way in row["messages"].items():
        size = way["bytes"] / way["pieces"]
        saved = "".join(
            f"{size * (1 - way['ratio']) / rate * 1e6:>20.2f}" for rate in RATES.values()
        )
        print(
            f"  {payload:<12}{way['ratio']:>8.3f}{size / way['compress'] * 1e6:>10.2f}"
            f"{size / way['decompress'] * 1e6:>8.2f}{saved}"
        )


def show_whole(rows):
    print(
        "\nSeconds of the application itself, one system at each end of a road, and how much sooner it"
        "\nends if the road is faster by the share that is left: the most that it can gain\n"
    )
    for row in rows:
        for rate, found in row["whole"].items():
            if isinstance(found, str):
                print(f"  not measured: no namespaces or no tbf here: {found}")
                return
            print(f"  {row['name']:<54}{rate:>12}{found['seconds']:>8.1f} s x {found['ratio']:.2f}")


def measure_all(build, chosen, whole):
    """The rows of all applications."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="impishim-bench-") as scratch:
        for place, application in enumerate(chosen):
            folder = pathlib.Path(scratch) / str(place)
            folder.mkdir()
            rows += measure(build, application, folder, whole)
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build tree")
    parser.add_argument("--output", type=pathlib.Path, help="where the JSON goes")
    parser.add_argument("--only", default="", help="applications whose names contain this")
    parser.add_argument(
        "--whole", action="store_true", help="the applications themselves over roads, too"
    )
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    everything = [*APPLICATIONS, heat(build)]
    chosen = [each for each in everything if arguments.only.lower() in each.name.lower()]
    for each in [each for each in chosen if each.name in LEFT_OUT]:
        print(f"  {each.name}: not measured: {LEFT_OUT[each.name]}")
    chosen = [each for each in chosen if each.name not in LEFT_OUT]
    if not chosen:
        parser.error(f"--only {arguments.only}: there are {[each.name for each in everything]}")
    reason = capture.why_not()
    if reason:
        fail(f"not measured: {reason}")
    os.environ["IMPI_AUTH_NONE"] = "1"
    machine = describe_machine()
    enter_scheduling_group(machine)
    started = time.monotonic()
    print(f"{machine['processor']}, {os.cpu_count()} processors, Open MPI {machine['openmpi']}")
    rows = measure_all(build, chosen, WHOLE_RATES if arguments.whole else {})
    show_traffic(rows)
    show_ways(rows, rows[0]["ways"])
    show_gains(rows, (BLOCKS, KNOWING, STREAM, *OTHERS))
    firsts = [row for row in rows if "roads" in row]
    show_roads(firsts)
    for row in firsts:
        show_messages(row)
    if arguments.whole:
        show_whole(firsts)
    memory = max(way["memory"] for row in rows for way in row["ways"].values())
    print(f"\n  memory of a stream's two ends, zstd 1: {memory / 1024:.0f} KiB")
    output = arguments.output or build / "bench_compression.json"
    report("bench compression", output, machine, 5, started, rows)


if __name__ == "__main__":
    main()
