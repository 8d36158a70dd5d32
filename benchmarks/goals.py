# SPDX-License-Identifier: Apache-2.0
"""The goals of scripts/bench: one table, a row for each goal, with what was measured and whether it
passes.

A row's value is the median over rounds, in which the contestants of the row took turns, of their
ratio in the same round; rows of what an idle job takes have no ratio. Where a few percent are the
goal the contestants take turns within a launch (in_turns.c): launches of one and the same program
differ by more. Other rows that two ranks measure come from the groups of pairs.py. """

import statistics

import pairs
from between_systems import computing_relay, hops, lanes, watched_by
from goal_rows import LEAST_ROUNDS, Part, Row, numbers, ratio_part, taking_turns
from harness import fail, openmpi_over_tcp, run, show_number

PAIR_SIZES = [8, 1 << 20, 8 << 20]
WINDOWS = 3000
ALLTOALL_BYTES, ALLTOALL_BUDGET_US = 64, 500000
IDLE_S = 10


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
        "trace",
        "half a round trip across systems with a trace / without",
        "<=",
        1.05,
        "",
        None,
        watched_by("trace"),
    ),
    Row(
        "watched",
        "the same with statistics, and ready for questions",
        "<=",
        1.25,
        "",
        None,
        watched_by("statistics", "questions"),
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
