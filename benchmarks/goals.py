# SPDX-License-Identifier: Apache-2.0
"""The goals of scripts/bench: one table, a row for each goal, with what was measured and whether it
passes.

A row's value is the median over rounds, in which the contestants of the row took turns, of their
ratio in the same round; rows of what an idle job takes have no ratio. Where a few percent are the
goal the contestants take turns within a launch (in_turns.c): launches of one and the same program
differ by more. Other rows that two ranks measure come from the groups of pairs.py. """

import json
import os
import pathlib
import re
import statistics
import tempfile

import pairs
from harness import fail, openmpi_over_tcp, run, show_number, show_size

PAIR_SIZES = [8, 1 << 20, 8 << 20]
LEAST_ROUNDS = 5
WINDOWS = 3000
ALLTOALL_BYTES, ALLTOALL_BUDGET_US = 64, 500000
IDLE_S = 10
# Turns are much shorter than the millisecond after which the library takes a program that calls no
# MPI for one that computes, and has the kernel tell it about what arrives: a program that
# communicates all the time does not pay for that.
TURN_US, TURN_PAIRS = 250, 800
WATCHED_SIZES = [8, 65536]


class Part:
    """One number that a row measures: its value in each round, and the absolute values behind it,
    in words."""

    def __init__(self, label, values, behind):
        self.label, self.values, self.behind = label, values, behind
        self.median = statistics.median(values)


class Row:
    def __init__(self, key, title, bound, goal, unit, group, measure):
        self.key, self.title, self.bound, self.goal, self.unit = key, title, bound, goal, unit
        self.group = group  # of pairs.py, that the row is made from, or None
        self.measure = measure  # (Setting) -> parts

    def passes(self, part):
        return part.median <= self.goal if self.bound == "<=" else part.median >= self.goal


class Setting:
    """What rows need to measure: the build tree, the groups of pairs, how often and how long."""

    def __init__(self, build, groups, rounds, idle_s):
        self.build, self.groups = build, {group.title: group for group in groups}
        self.rounds, self.idle_s = max(rounds, LEAST_ROUNDS), idle_s
        self.turns = {}  # by the function that makes the command: what its launches measured
        self.ways = {}  # by the run: whether its messages are relayed

    def program(self, name, mpi="mpich"):
        return self.build / "tests/programs" / f"bench_{name}_{mpi}"

    def in_turns(self, other):
        """The program that compares MPI's calls with `other` in the same two processes, and its
        arguments."""
        return [self.program("in_turns"), other, TURN_US, TURN_PAIRS]

    def joined(self, ranks, *words):
        """The command that runs a program with its arguments on `ranks` ranks in each of two
        systems."""
        return [
            self.build / "bin/impirun",
            "-np",
            str(ranks),
            *words,
            ":",
            "-np",
            str(ranks),
            *words,
        ]

    def joined_apart(self, ranks, *words):
        """The same, each system on a half of the processors: those of two clusters have no
        processor in common."""
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            return self.joined(ranks, *words)
        middle = len(allowed) // 2
        one, other = ([*bound_to(half), *words] for half in (allowed[:middle], allowed[middle:]))
        return [self.build / "bin/impirun", "-np", str(ranks), *one, ":", "-np", str(ranks), *other]


def bound_to(processors):
    """What a system's command begins with, behind its number of ranks, to run on these processors
    alone."""
    return ["-mpi", "mpich", "taskset", "--cpu-list", ",".join(map(str, processors))]


def numbers(label, command, variables=None):
    """The numbers that the output has behind `label`, in any order: launchers may put several
    ranks' lines into one."""
    out, shown = run(command, variables)
    found = [float(number) for number in re.findall(rf"{label} ([0-9]+(?:[.][0-9]+)?)", out)]
    if not found:
        fail(f"no {label} in the output of: {shown}\n{out[-2000:]}")
    return found


def taking_turns(rounds, contestants):
    """What each of the functions `contestants` returns, round by round."""
    measured = [[contestant() for contestant in contestants] for _ in range(rounds)]
    return [list(values) for values in zip(*measured)]


def ratio_part(label, ours, theirs, unit):
    behind = (
        f"{show_number(statistics.median(ours))} / {show_number(statistics.median(theirs))} {unit}"
    )
    return Part(label, [mine / other for mine, other in zip(ours, theirs)], behind)


def from_pairs(group, name, what, size, label, unit, scale=1.0):
    """A row's part: the contestant `name` beside its group's reference."""

    def part(setting):
        members = setting.groups[group]
        ours, theirs = members.values(name, what, size), members.values(
            members.reference.name, what, size
        )
        return ratio_part(
            label, [value * scale for value in ours], [value * scale for value in theirs], unit
        )

    return part


def first_system(setting):
    return [
        setting.build / "bin/impirun",
        "-np",
        "2",
        *setting.in_turns("vendor"),
        ":",
        "-np",
        "1",
        *setting.in_turns("vendor"),
    ]


def second_system(setting):
    """Its ranks are not what the vendor counts them."""
    words = [*setting.in_turns("vendor"), "1,2"]
    return [setting.build / "bin/impirun", "-np", "1", *words, ":", "-np", "2", *words]


def preloaded(setting):
    library = setting.build / "lib/impishim/mpich/libimpishim.so"
    return [
        "mpiexec.mpich",
        "-genv",
        "LD_PRELOAD",
        library,
        "-np",
        "2",
        *setting.in_turns("vendor"),
    ]


def across(setting):
    return setting.joined(1, *setting.in_turns("tcp"))


def measured_turns(setting, command):
    """Of each launch what its lines say, by their first words: ours, theirs and the ratio."""
    launches = []
    for _ in range(setting.rounds):
        out, shown = run(command)
        lines = [line.split() for line in out.splitlines()]
        found = {
            words[0]: [float(word) for word in words[1:]]
            for words in lines
            if len(words) == 4 and words[0] in ("latency", "rate")
        }
        if not found:
            fail(f"no turns in the output of: {shown}\n{out[-2000:]}")
        launches.append(found)
    return launches


def from_turns(command_of, what, label, unit):
    """A row's part: each value is a launch's median of the ratios in its pairs of turns."""

    def part(setting):
        if command_of not in setting.turns:
            setting.turns[command_of] = measured_turns(setting, command_of(setting))
        ours, theirs, ratios = zip(*(launch[what] for launch in setting.turns[command_of]))
        return Part(
            label,
            ratios,
            f"{show_number(statistics.median(ours))} / {show_number(statistics.median(theirs))} {unit}",
        )

    return part


def beside_other_mpis(setting):
    group = setting.groups[pairs.ACROSS]
    others = zip(
        group.values("MPICH, UCX tcp", "latency", 8), group.values("Open MPI, tcp", "latency", 8)
    )
    return [
        ratio_part(
            "", group.values("impishim 1+1", "latency", 8), [min(both) for both in others], "us"
        )
    ]


def message_rate(setting):
    flat = [*openmpi_over_tcp(4, yields=True), setting.program("message_rate", "openmpi"), WINDOWS]
    joined = setting.joined(2, setting.program("message_rate"), WINDOWS)
    ours, theirs = taking_turns(
        setting.rounds,
        [lambda: numbers("rate", joined)[0] / 1e6, lambda: numbers("rate", flat)[0] / 1e6],
    )
    return [ratio_part("", ours, theirs, "million/s")]


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


def watched(setting):
    """Two ranks of two systems with a trace, with statistics and ready for questions, beside the
    same without. The best of some launches counts in each round, as in pairs.py."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "": {},
            "trace": {"IMPISHIM_TRACE": f"{folder}/trace", "IMPISHIM_TRACE_SIZE": "16"},
            "statistics": {"IMPISHIM_STATS": f"{folder}/stats"},
            "questions": {"IMPISHIM_MONITOR": "on"},
        }
        found = []
        for size in WATCHED_SIZES:
            command = setting.joined(
                1, setting.program("point_to_point"), size, pairs.BATCH_US, "201"
            )

            def latency(variables, command=command, size=size):
                label = f"latency {size}"
                return min(
                    numbers(label, command, variables)[0] for _ in range(pairs.SHORT_LAUNCHES)
                )

            off, *on = taking_turns(
                setting.rounds,
                [lambda variables=variables: latency(variables) for variables in ways.values()],
            )
            for name, values in zip(list(ways)[1:], on):
                found.append(ratio_part(f"{name}, {show_size(size)}", values, off, "us"))
    return found


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


def alltoall(setting):
    arguments = [ALLTOALL_BYTES, ALLTOALL_BUDGET_US, "calls", "alltoall"]
    label = f"time alltoall {ALLTOALL_BYTES}"
    flat = [
        *openmpi_over_tcp(6, yields=True),
        setting.program("collectives", "openmpi"),
        *arguments,
    ]
    joined = setting.joined(3, setting.program("collectives"), *arguments)
    ours, theirs = taking_turns(
        setting.rounds, [lambda: numbers(label, joined)[0], lambda: numbers(label, flat)[0]]
    )
    return [ratio_part("", ours, theirs, "us")]


def idle_processor(setting):
    """Of the busiest rank."""
    command = setting.joined(2, setting.program("footprint"), setting.idle_s)
    busiest = [max(numbers("busy", command)) for _ in range(LEAST_ROUNDS)]
    return [Part("", busiest, f"{setting.idle_s} s, the busiest of 2 + 2 ranks")]


def resident_memory(setting):
    """The largest rank of two joined systems of two beside the largest of such a system alone."""
    words = [setting.program("footprint"), 0]
    joined, alone = taking_turns(
        LEAST_ROUNDS,
        [
            lambda: max(numbers("resident", setting.joined(2, *words))) / 1024,
            lambda: max(numbers("resident", ["mpiexec.mpich", "-np", "2", *words])) / 1024,
        ],
    )
    behind = (
        f"{show_number(statistics.median(joined))} - {show_number(statistics.median(alone))} MiB"
    )
    return [Part("", [mine - other for mine, other in zip(joined, alone)], behind)]


def parts(*makers):
    return lambda setting: [make(setting) for make in makers]


ROWS = [
    Row(
        "inside-latency",
        "two ranks in one system, joined job: 8 B half round trip, with / without",
        "<=",
        1.03,
        "",
        None,
        parts(
            from_turns(first_system, "latency", "first system", "us"),
            from_turns(second_system, "latency", "second", "us"),
        ),
    ),
    Row(
        "inside-rate",
        "the same, 64 outstanding Isend/Irecv + Waitall of 8 B: message rate",
        ">=",
        0.97,
        "",
        None,
        parts(
            from_turns(first_system, "rate", "first system", "million/s"),
            from_turns(second_system, "rate", "second", "million/s"),
        ),
    ),
    Row(
        "pass-through",
        "pass-through (no variables): 8 B half round trip, with / without",
        "<=",
        1.01,
        "",
        None,
        parts(from_turns(preloaded, "latency", "", "us")),
    ),
    Row(
        "raw-tcp",
        "one rank in each system: 8 B / raw TCP of the same bytes and waiting",
        "<=",
        1.10,
        "",
        None,
        parts(from_turns(across, "latency", "", "us")),
    ),
    Row(
        "other-mpis",
        "... / the better of MPICH over UCX tcp and Open MPI over tcp",
        "<=",
        1.0,
        "",
        pairs.ACROSS,
        beside_other_mpis,
    ),
    Row(
        "bandwidth",
        "1 MiB and 8 MiB one-way bandwidth / raw TCP stream",
        ">=",
        0.95,
        "",
        pairs.ACROSS,
        parts(
            from_pairs(
                pairs.ACROSS, "impishim 1+1", "bandwidth", 1 << 20, "1 MiB", "GB/s", scale=1e-3
            ),
            from_pairs(
                pairs.ACROSS, "impishim 1+1", "bandwidth", 8 << 20, "8 MiB", "GB/s", scale=1e-3
            ),
        ),
    ),
    Row(
        "message-rate",
        "8 B message rate, 2 senders to 2 receivers across systems / Open MPI over tcp",
        ">=",
        4,
        "",
        None,
        message_rate,
    ),
    Row("hops", "three hops with idle relays, 8 B latency / one hop", "<=", 2, "", None, hops),
    Row("lanes", "two lanes, 8 B latency / three hops on one lane", "<=", 0.7, "", None, lanes),
    Row(
        "computing-relay",
        "two hops by a relay that computes: 8 B latency, more than by one that sleeps",
        "<=",
        60,
        "us",
        None,
        computing_relay,
    ),
    Row(
        "alltoall",
        "all-to-all of 64 B among 3 + 3 ranks / Open MPI over tcp, time",
        "<=",
        0.5,
        "",
        None,
        alltoall,
    ),
    Row(
        "watched",
        "half a round trip across systems with trace, statistics, questions / without",
        "<=",
        1.05,
        "",
        None,
        watched,
    ),
    Row(
        "idle",
        "processor of an idle joined job, each rank asleep",
        "<=",
        0.5,
        "%",
        None,
        idle_processor,
    ),
    Row(
        "memory",
        "resident memory added per rank, 2 systems",
        "<=",
        16,
        "MiB",
        None,
        resident_memory,
    ),
]


def measure_rows(rows, setting):
    """The rows as they go into the JSON; a row passes if all its parts do."""
    measured = []
    for row in rows:
        found = row.measure(setting)
        measured.append(
            {
                "group": "Goals",
                "name": row.title,
                "row": row.key,
                "unit": row.unit or "ratio",
                "goal": f"{row.bound} {row.goal:g}{' ' if row.unit else ''}{row.unit}",
                "parts": [
                    {
                        "label": part.label,
                        "median": part.median,
                        "values": part.values,
                        "behind": part.behind,
                    }
                    for part in found
                ],
                "verdict": "pass" if all(row.passes(part) for part in found) else "short",
            }
        )
    return measured


def print_rows(measured):
    print("\nGoals: medians of the rounds' ratios, and of what they are made from\n")
    width = max(len(row["name"]) for row in measured)
    for row in measured:
        for part in row["parts"]:
            name = row["name"] if part is row["parts"][0] else ""
            goal, verdict = (row["goal"], row["verdict"]) if part is row["parts"][-1] else ("", "")
            behind = ", ".join(text for text in (part["label"], part["behind"]) if text)
            print(f"  {name:<{width}} {part['median']:8.3f}  {goal:<9} {verdict:<5}  {behind}")
