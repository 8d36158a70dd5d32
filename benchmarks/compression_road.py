# SPDX-License-Identifier: Apache-2.0
"""How long captured bytes take over a thin road when the sending thread compresses them."""

import statistics
import subprocess

from harness import fail, run
from roads import ThinRoad

PORT = "20130"
WAYS = ("plain", "zstd", "lz4")
ROUNDS = 3


def cross(road, program, way, files):
    """Bytes per second of one crossing, from one end of the road to the other."""
    receive = road.inside(0, program, way, "receive", PORT)
    receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, text=True)
    try:
        if receiver.stdout.readline() != "ready\n":
            fail(f"nobody receives: {' '.join(receive)}")
        output, _ = run(road.inside(1, program, way, "send", road.FAR, PORT, *files))
        receiver.communicate(timeout=10)
    finally:
        if receiver.poll() is None:
            receiver.kill()
            receiver.wait()
    size, seconds = output.split()
    return int(size) / float(seconds)


def measure(build, files, rate):
    """For each way the median of what gets through a road of so many Mbit/s, in bytes per second, and
    the medians of the rounds' ratios to plain; or the reason why nothing does."""
    program = build / "tests/programs/bench_compression_road"
    road = ThinRoad((rate,))
    refused = road.__enter__()
    if refused is not None:
        return refused.strip()
    try:
        rounds = [{way: cross(road, program, way, files) for way in WAYS} for _ in range(ROUNDS)]
    finally:
        road.__exit__()
    return {
        way: {
            "speed": statistics.median(each[way] for each in rounds),
            "ratio": statistics.median(each[way] / each["plain"] for each in rounds),
        }
        for way in WAYS
    }
