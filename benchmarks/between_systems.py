# SPDX-License-Identifier: Apache-2.0
"""Rows of the goals that measure half a round trip of two ranks of different systems: by each way,
and with what watches it."""

import json
import pathlib
import statistics
import tempfile

import pairs
from goal_rows import Part, numbers, ratio_part, taking_turns
from harness import fail, show_number, show_size

WATCHED_SIZES = [8, 65536]


def relayed_packets(prefix):
    """What the processes of the run whose statistics begin with `prefix` have passed on, by
    rank."""
    return [
        json.loads(pathlib.Path(f"{prefix}.{rank}.json").read_text())["packets_relayed"]
        for rank in range(4)
    ]


def latency_between(setting, leader, follower, relayed, **variables):
    """Half a round trip of 8 B in microseconds, with hosts of whole nodes. The relays, ranks 0 and
    2, sleep outside MPI. The kernel would start a relay's thread on its waker's processor, which
    over loopback is the other relay's."""
    words = [setting.program("point_to_point"), "8", pairs.BATCH_US, "201", f"{leader},{follower}"]
    command = setting.joined_apart(2, *words)
    variables = {"IMPISHIM_HOST_PROCS": "node", **variables}
    # Statistics time every call, so the run that shows the way is another one.
    way = (leader, follower, *variables.items())
    if way not in setting.ways:
        setting.ways[way] = relayed_between(command, variables)
    if setting.ways[way] != relayed:
        fail(
            f"messages between ranks {leader} and {follower} did not go the way that is measured: relayed: {setting.ways[way]}"
        )
    return numbers("latency 8", command, variables)[0]


def relayed_between(command, variables):
    """Whether ranks 0 and 2 pass the messages of a run on."""
    with tempfile.TemporaryDirectory() as folder:
        numbers("latency 8", command, {"IMPISHIM_STATS": f"{folder}/traffic", **variables})
        passed_on = relayed_packets(f"{folder}/traffic")
    # Besides the measured messages only a few are on their way, at the start and the end.
    return min(passed_on[0], passed_on[2]) > 1000


def variables_of(way, folder):
    return {
        "trace": {"IMPISHIM_TRACE": f"{folder}/trace"},
        "statistics": {"IMPISHIM_STATS": f"{folder}/stats"},
        "questions": {"IMPISHIM_MONITOR": "on"},
    }[way]


def watched_by(*ways):
    """A row: two ranks of two systems with each of the ways to watch them, beside the same without.
    The best of some launches counts in each round, as in pairs.py."""

    def measure(setting):
        with tempfile.TemporaryDirectory() as folder:
            return [
                part
                for size in WATCHED_SIZES
                for part in watched_at(
                    setting, size, {way: variables_of(way, folder) for way in ways}
                )
            ]

    return measure


def watched_at(setting, size, ways):
    command = setting.joined(1, setting.program("point_to_point"), size, pairs.BATCH_US, "201")

    def latency(variables):
        return min(
            numbers(f"latency {size}", command, variables)[0] for _ in range(pairs.SHORT_LAUNCHES)
        )

    off, *on = taking_turns(
        setting.rounds,
        [lambda variables=variables: latency(variables) for variables in ({}, *ways.values())],
    )
    return [
        ratio_part(f"{way}, {show_size(size)}", values, off, "us") for way, values in zip(ways, on)
    ]


def hops(setting):
    """Ranks 0 and 2 represent their hosts for each other; 1 and 3 reach each other through them."""
    three, one = taking_turns(
        setting.rounds,
        [
            lambda: latency_between(setting, 1, 3, True),
            lambda: latency_between(setting, 0, 2, False),
        ],
    )
    return [ratio_part("", three, one, "us")]


def lanes(setting):
    """Ranks 1 and 3, with a lane of their own and through the representatives."""
    own, shared = taking_turns(
        setting.rounds,
        [
            lambda: latency_between(setting, 1, 3, False, IMPISHIM_LANES="2"),
            lambda: latency_between(setting, 1, 3, True),
        ],
    )
    return [ratio_part("", own, shared, "us")]


def computing_relay(setting):
    """Ranks 1 and 2 share a processor. Rank 0 represents its host, so that their messages take two
    hops through it; it sleeps, or computes on the other processor."""
    words = [setting.program("point_to_point"), "8", pairs.BATCH_US, "201", "1,2"]
    command = [setting.build / "bin/impirun", "-np", "2", *words, ":", "-np", "1", *words]
    sleeping = {"IMPISHIM_HOST_PROCS": "node"}

    def latency(variables):
        return numbers("latency 8", command, variables)[0]

    busy, idle = taking_turns(
        setting.rounds,
        [lambda: latency({**sleeping, "BENCH_COMPUTE": "1"}), lambda: latency(sleeping)],
    )
    behind = f"{show_number(statistics.median(busy))} - {show_number(statistics.median(idle))} us"
    return [Part("", [mine - other for mine, other in zip(busy, idle)], behind)]
