# SPDX-License-Identifier: Apache-2.0
"""What a row of the goals of scripts/bench is, and what it needs to be measured."""

import os
import re
import statistics

from harness import fail, run, show_number

LEAST_ROUNDS = 5
# Turns are much shorter than the millisecond after which the library takes a program that calls no
# MPI for one that computes, and has the kernel tell it about what arrives: a program that
# communicates all the time does not pay for that.
TURN_US, TURN_PAIRS = 250, 800


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
