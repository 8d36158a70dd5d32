# SPDX-License-Identifier: Apache-2.0
"""Two ranks that measure each other, in one system and across two, beside what is there without
impishim: latency and bandwidth by size.

A round runs every contestant of a group once; all compare themselves with the group's reference in
the same round, and a row's ratio is the median of the rounds' ratios, so that slow changes of the
machine fall on all alike. """

import statistics

from harness import fail, openmpi_over_tcp, run, show_number, show_size

BATCH_US = 500
LONGEST_SHORT, SHORT_LAUNCHES = 1024, 4
SIZES = object()  # in a contestant's command: the sizes of a run
INSIDE, ACROSS = "Two ranks of one system", "One rank in each of two systems"
# Of the times without the library, and of its bandwidth.
INSIDE_GOALS = {"latency": 1.03, "bandwidth": 0.97}
ACROSS_GOALS = {"latency": 1.10, "bandwidth": 0.95}


class Contestant:
    def __init__(self, name, command, goals=None, **variables):
        self.name, self.command, self.goals, self.variables = name, command, goals or {}, variables
        self.rounds = []  # of {(measure, size): value}


class Group:
    """Contestants that are compared with the first of them."""

    def __init__(self, title, note, contestants):
        self.title, self.note, self.contestants = title, note, contestants
        self.reference = contestants[0]

    def values(self, name, what, size):
        """What the contestant `name` has measured, round by round."""
        contestant = next(each for each in self.contestants if each.name == name)
        return [found[what, size] for found in contestant.rounds]

    def ratios(self, name, what, size):
        return [
            value / reference
            for value, reference in zip(
                self.values(name, what, size), self.values(self.reference.name, what, size)
            )
        ]

    def measure(self, sizes, rounds):
        for _ in range(rounds):
            for contestant in self.contestants:
                measure(contestant, sizes)


def measure(contestant, sizes):
    """One round: what the contestant's runs found best. A run of short messages has one of two
    speeds, by chance and to its end, a factor of two apart inside a system, whatever library it
    uses: where its memory comes to lie decides."""
    found = measure_once(contestant, sizes)
    for _ in range(SHORT_LAUNCHES - 1):
        short = [size for size in sizes if size <= LONGEST_SHORT]
        for (what, size), value in measure_once(contestant, short).items():
            found[what, size] = (min if what == "latency" else max)(found[what, size], value)
    contestant.rounds.append(found)


def measure_once(contestant, sizes):
    out, shown = run(
        [",".join(map(str, sizes)) if word is SIZES else word for word in contestant.command],
        contestant.variables,
    )
    found = {}
    for line in out.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("latency", "bandwidth"):
            found[words[0], int(words[1])] = float(words[2])
    missing = [
        f"{what} {size}"
        for what in ("latency", "bandwidth")
        for size in sizes
        if (what, size) not in found
    ]
    if missing:
        fail(f"no {', '.join(missing)} in the output of: {shown}\n{out[-2000:]}")
    return found


def make_groups(build, batches):
    programs, library, impirun = (
        build / "tests/programs",
        build / "lib/impishim/mpich/libimpishim.so",
        build / "bin/impirun",
    )
    arguments = [SIZES, BATCH_US, batches]
    mpich = [programs / "bench_point_to_point_mpich", *arguments]
    openmpi = [programs / "bench_point_to_point_openmpi", *arguments]
    one_system = Group(
        INSIDE,
        "reference: MPICH alone; the second run of it shows the noise",
        [
            Contestant("MPICH", ["mpiexec.mpich", "-np", "2", *mpich]),
            Contestant("MPICH again", ["mpiexec.mpich", "-np", "2", *mpich]),
            Contestant(
                "preloaded",
                ["mpiexec.mpich", "-genv", "LD_PRELOAD", library, "-np", "2", *mpich],
                INSIDE_GOALS,
            ),
            Contestant(
                "joined 2+1", [impirun, "-np", "2", *mpich, ":", "-np", "1", *mpich], INSIDE_GOALS
            ),
            # The second system's ranks are not what the vendor counts them.
            Contestant(
                "joined 1+2",
                [impirun, "-np", "1", *mpich, "1,2", ":", "-np", "2", *mpich, "1,2"],
                INSIDE_GOALS,
            ),
        ],
    )
    two_systems = Group(
        ACROSS,
        "reference: plain TCP with the same bytes, IMPI's header of 128 bytes per packet of up to 64 KiB included",
        [
            Contestant("TCP", [programs / "bench_raw_tcp", *arguments]),
            Contestant(
                "impishim 1+1", [impirun, "-np", "1", *mpich, ":", "-np", "1", *mpich], ACROSS_GOALS
            ),
            Contestant(
                "MPICH, UCX tcp",
                ["mpiexec.mpich", "-np", "2", *mpich],
                UCX_TLS="tcp,self",
                UCX_NET_DEVICES="lo",
                MPIR_CVAR_NOLOCAL="1",
            ),
            Contestant("Open MPI, tcp", [*openmpi_over_tcp(2, yields=False), *openmpi]),
        ],
    )
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
                values = group.values(contestant.name, name, size)
                ratios = group.ratios(contestant.name, name, size)
                goal = contestant.goals.get(name)
                ratio = statistics.median(ratios)
                rows.append(
                    {
                        "group": group.title,
                        "name": f"{contestant.name}: {name}",
                        "contestant": contestant.name,
                        "measure": name,
                        "size": size,
                        "unit": unit,
                        "median": statistics.median(values),
                        "values": values,
                        "reference": group.reference.name,
                        "ratio": ratio,
                        "ratios": ratios,
                        "goal": goal,
                        "verdict": verdict(ratio, name, goal),
                    }
                )
    return rows


def print_group(group, rows, sizes):
    print(f"\n{group.title} ({group.note})")
    for name, title in (("latency", "half round trip, us"), ("bandwidth", "one way, MB/s")):
        goal = next(contestant.goals[name] for contestant in group.contestants if contestant.goals)
        bound = f"<= {goal:.2f}" if name == "latency" else f">= {goal:.2f}"
        others = group.contestants[1:]
        print(f"\n  {title}; x: ratio to {group.reference.name}; goal {bound}")
        print(
            f"  {'size':>8} {group.reference.name:>9}"
            + "".join(f"  {other.name:>25}" for other in others)
        )
        for size in sizes:
            cells = {
                row["contestant"]: row
                for row in rows
                if row["measure"] == name and row["size"] == size
            }
            line = f"  {show_size(size):>8} {show_number(cells[group.reference.name]['median']):>9}"
            for other in others:
                row = cells[other.name]
                line += f"  {show_number(row['median']):>9}  x {row['ratio']:6.3f} {row['verdict'] or '':>5}"
            print(line)
