# SPDX-License-Identifier: Apache-2.0
"""How long captured bytes take over a thin road when the sending thread compresses them, and what an
application would gain at most if its bytes were fewer."""

import os
import statistics
import subprocess
import time

from applications import VARIABLES
from harness import RUN_TIMEOUT_S, end_group, fail, run
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


def seconds_over(road, build, application, folder):
    """How long an application takes with one system at each end of a road."""
    application.prepare(folder)
    variables = {**os.environ, **VARIABLES, "IMPISHIM_TLS": "off", "IMPI_AUTH_NONE": "1"}
    impirun = build / "bin/impirun"

    def start(end, *words, **more):
        return subprocess.Popen(
            road.inside(end, impirun, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**variables, **more},
            start_new_session=True,
        )

    processes = [start(0, "-server", "2")]
    try:
        server = processes[0].stdout.readline().strip()
        port = server.rsplit(":", 1)[-1]
        began = time.monotonic()
        for end in (0, 1):
            words = ("-client", end, f"{road.FAR}:{port}", "-np", application.ranks // 2)
            # Two launchers of Open MPI that start at once fail when both make the same folder.
            own = folder / f"end{end}"
            own.mkdir(exist_ok=True)
            more = {"IMPISHIM_HOST_ADDRESS": road.addresses(end), "TMPDIR": str(own)}
            processes.append(start(end, *words, *application.command, **more))
        for process in processes[1:]:
            _, errors = process.communicate(timeout=RUN_TIMEOUT_S)
            if process.returncode != 0:
                fail(f"{application.name} over a road: {errors[-2000:]}")
        took = time.monotonic() - began
        processes[0].communicate(timeout=RUN_TIMEOUT_S)
        return took
    except subprocess.TimeoutExpired:
        fail(f"{application.name} over a road: no end within {RUN_TIMEOUT_S} s")
    finally:
        for process in processes:
            if process.poll() is None:
                end_group(process)


def bound(build, application, folder, rate, left):
    """How much sooner an application ends over a road that is 1 / left times as fast as `rate`, in
    Mbit/s: what it would gain if compressing took no time and left so much of the bytes. Returns its
    seconds at `rate` and the ratio, medians of the rounds; or the reason why it cannot be told."""
    rounds = []
    for _ in range(ROUNDS):
        took = []
        for each in (rate, round(rate / left)):
            road = ThinRoad((each,))
            refused = road.__enter__()
            if refused is not None:
                return refused.strip()
            try:
                took.append(seconds_over(road, build, application, folder))
            finally:
                road.__exit__()
        rounds.append(took)
    return {
        "seconds": statistics.median(plain for plain, _ in rounds),
        "ratio": statistics.median(plain / fewer for plain, fewer in rounds),
        "rounds": rounds,
    }
