# SPDX-License-Identifier: Apache-2.0
"""The rows PT-1 to PT-20 of scripts/bench darray: what is compared with what, with goal and
stretch.

A setup is a program and how it is run. A part is one number of a row, made from the times that its
setups have measured, or a fact that holds or not. A row passes if all its parts do. """

import dataclasses
import re
from typing import Callable

SIZES = ("2 MiB", "8 MiB")
HEIGHTS, WIDTHS = (256, 512, 1024, 2048), (1, 2, 3)
LONG_HALO_BYTES = 16384
OPTIONAL = ("pdgemr2d",)  # contestants that not every machine has


@dataclasses.dataclass
class Part:
    label: str
    setups: list
    measure: Callable  # (results of the setups) -> number or None: that contestant is missing
    behind: Callable  # (results of the setups) -> what the number is made of, in words
    bound: str = "<="
    goal: float | None = None  # None: nothing is asked for
    stretch: float | None = None
    unit: str = ""
    optional: bool = False  # the other contestant need not be installed

    def reaches(self, value, limit):
        return limit is None or (value <= limit if self.bound == "<=" else value >= limit)


@dataclasses.dataclass
class Facts:
    """Facts whose titles match a pattern. All of them have to hold."""

    setup: str
    pattern: str


@dataclasses.dataclass
class Row:
    key: str
    title: str
    against: str
    parts: list
    setups: list = dataclasses.field(init=False)

    def __post_init__(self):
        wanted = [part.setups if isinstance(part, Part) else [part.setup] for part in self.parts]
        self.setups = list(dict.fromkeys(setup for setups in wanted for setup in setups))


def times(ours, theirs):
    return f"{ours:.4g} / {theirs:.4g} us"


def ratio(setup, case, ours, theirs, bound="<=", goal=None, stretch=None, label=None):
    """Time of `ours` by time of `theirs`; for >=, speed by speed."""

    def both(results):
        return results[setup].time(case, ours), results[setup].time(case, theirs)

    def measure(results):
        mine, other = both(results)
        if mine is None or other is None:
            return None
        return mine / other if bound == "<=" else other / mine

    return Part(
        label or case,
        [setup],
        measure,
        lambda results: times(*both(results)),
        bound,
        goal,
        stretch,
        optional=theirs in OPTIONAL,
    )


def duration(setup, case, contestant, goal, stretch=None, label=None, shared_by=1):
    return Part(
        label or case,
        [setup],
        lambda results: results[setup].time(case, contestant) / shared_by,
        lambda results: f"{results[setup].time(case, contestant):.4g} us",
        "<=",
        goal,
        stretch,
        "us",
    )


def added(setup, case, ours, theirs, goal):
    """What `ours` takes longer than `theirs`."""

    def both(results):
        return results[setup].time(case, ours), results[setup].time(case, theirs)

    return Part(
        case,
        [setup],
        lambda results: both(results)[0] - both(results)[1],
        lambda results: times(*both(results)),
        "<=",
        goal,
        None,
        "us",
    )


def hidden(setup, case, label):
    def three(results):
        return [
            results[setup].time(case, contestant)
            for contestant in ("exchange", "computation", "both")
        ]

    def measure(results):
        exchange, computation, both = three(results)
        return 100 * (exchange + computation - both) / exchange

    return Part(
        label,
        [setup],
        measure,
        lambda results: "{:.4g} and {:.4g} us, together {:.4g} us".format(*three(results)),
        ">=",
        50,
        80,
        "%",
    )


def halo_case(height, width):
    return f"halo, H {height}, w {width}"


HALOS = [(height, width) for height in HEIGHTS for width in WIDTHS]
PAIRS = (
    "64-blocks, P x 1 to the same",
    "64-blocks, P x 1 to 1 x P",
    "36- to 128-blocks, P x 1",
    "36- to 128-blocks, 1 x P",
)


def subarray_goal(height, width, mpi):
    long = mpi == "mpich" and height * width * 8 >= LONG_HALO_BYTES
    return {"goal": 0.5, "stretch": 0.2} if long else {"goal": 1.1}


def remap_rows():
    rows_to_columns = [f"rows to columns, {size}" for size in SIZES]
    redistributions = rows_to_columns + [f"{pair}, {size}" for size in SIZES for pair in PAIRS]
    return [
        Row(
            "PT-1",
            "planned remap, rows to columns",
            "pack + Isend/Irecv by hand",
            [ratio("remap", case, "darray", "packed", "<=", 1.15, 1.0) for case in rows_to_columns],
        ),
        Row(
            "PT-2",
            "the same",
            "MPI_Alltoallw, committed subarray types",
            [
                ratio("remap", rows_to_columns[0], "darray", "alltoallw", "<=", 0.8, 0.6),
                ratio("remap", rows_to_columns[1], "darray", "alltoallw", "<=", 1.0),
            ],
        ),
        Row(
            "PT-3",
            "planned remap",
            "ScaLAPACK's pdgemr2d",
            [
                ratio("remap", case, "darray", "pdgemr2d", "<=", 0.4, 0.25)
                for case in redistributions
            ],
        ),
        Row(
            "PT-4",
            "remap throughput",
            "memcpy of the own part",
            [ratio("remap", case, "darray", "memcpy", ">=", 0.5, 0.8) for case in rows_to_columns],
        ),
        Row(
            "PT-5",
            "remap between identical layouts",
            "memcpy; no message",
            [
                ratio("remap", f"same layout, {size}", "darray", "memcpy", "<=", 1.1)
                for size in SIZES
            ]
            + [Facts("remap", "same layout, .* messages")],
        ),
        Row(
            "PT-6",
            "blocks of 36 to blocks of 128",
            "ScaLAPACK's pdgemr2d",
            [
                ratio(
                    "remap",
                    f"36- to 128-blocks, {grid}, 8 MiB",
                    "darray",
                    "pdgemr2d",
                    "<=",
                    0.5,
                    0.3,
                )
                for grid in ("P x 1", "1 x P")
            ],
        ),
        Row(
            "PT-7",
            "transposing remap",
            "remap, then a plain loop; for comparison, a loop over squares",
            [
                ratio("remap", f"transposition, {size}", "darray", "two steps", "<=", 0.8, 0.6)
                for size in SIZES
            ]
            + [
                ratio(
                    "remap",
                    f"transposition, {size}",
                    "darray",
                    "two steps, in squares",
                    label=f"{size}, in squares",
                )
                for size in SIZES
            ],
        ),
    ]


def halo_rows(mpi):
    return [
        Row(
            "PT-8",
            "halo of columns, two neighbours",
            "persistent exchange, packed by hand",
            [
                ratio("halo", halo_case(*each), "darray", "packed", "<=", 1.2, 1.05)
                for each in HALOS
            ],
        ),
        Row(
            "PT-9",
            "the same",
            "Isend/Irecv of subarray types",
            [
                ratio(
                    "halo",
                    halo_case(*each),
                    "darray",
                    "subarray types",
                    "<=",
                    **subarray_goal(*each, mpi),
                )
                for each in HALOS
            ],
        ),
        Row(
            "PT-10",
            "exchange hidden behind 1 ms of computation that tests",
            "exchange and computation alone",
            [
                hidden(setup, f"overlap, H {height}, w 3", f"H {height}, w 3, {where}")
                for setup, where in (("halo", "one system"), ("halo joined", "two systems"))
                for height in (1024, 2048)
            ],
        ),
    ]


def plan_rows():
    return [
        Row(
            "PT-11",
            "plan construction, blocks of three axes",
            "no communication",
            [
                duration("planning", "construction", "RemapPlan", 20, 5, "RemapPlan, P = 2"),
                duration(
                    "planning", "plan of one of 2 ranks", "plan_remap", 20, 5, "plan_remap, P = 2"
                ),
                duration(
                    "planning",
                    "plan of one of 64 ranks",
                    "plan_remap",
                    2,
                    None,
                    "per partner, P = 64",
                    64,
                ),
                duration(
                    "planning",
                    "plan of one of 1024 ranks",
                    "plan_remap",
                    2,
                    None,
                    "per partner, P = 1024",
                    1024,
                ),
                Facts("planning", "(construction|plan of one of .* partners).*"),
            ],
        ),
        Row(
            "PT-12",
            "plan and k runs",
            "k one-shot MPI_Alltoallw, types and all",
            [
                ratio(
                    "remap",
                    f"plan and {runs} runs, {size}",
                    "darray",
                    "one-shot alltoallw",
                    "<=",
                    goal,
                    stretch,
                    f"k = {runs}, {size}",
                )
                for runs, goal, stretch in ((2, 1.0, None), (1, None, 1.0))
                for size in SIZES
            ],
        ),
        Row(
            "PT-13",
            "plan construction at P = 1024",
            "at P = 64; simulated ranks",
            [
                Part(
                    "blocks of three axes",
                    ["planning"],
                    lambda results: results["planning"].time(
                        "plan of one of 1024 ranks", "plan_remap"
                    )
                    / results["planning"].time("plan of one of 64 ranks", "plan_remap"),
                    lambda results: times(
                        results["planning"].time("plan of one of 1024 ranks", "plan_remap"),
                        results["planning"].time("plan of one of 64 ranks", "plan_remap"),
                    ),
                    "<=",
                    20,
                )
            ],
        ),
        Row(
            "PT-14",
            "gather, 10^6 random subscripts per rank",
            "one execution",
            [
                ratio(
                    "gathering", "gather", "construction", "execution", "<=", 6, 3, "construction"
                ),
                Part(
                    "execution",
                    ["gathering"],
                    lambda results: 1e6 / results["gathering"].time("gather", "execution"),
                    lambda results: f"{results['gathering'].time('gather', 'execution'):.4g} us",
                    ">=",
                    30,
                    60,
                    "M/s",
                ),
            ],
        ),
    ]


def array_rows():
    return [
        Row(
            "PT-16",
            "overhead of arrays",
            "a plain loop",
            [
                duration("arrays", "creation", "empty", 2, label="creation"),
                duration("arrays", "creation", "empty, checked", None, label="creation, checked"),
                duration("arrays", "creation", "copy_empty", 0.3, label="copy_empty"),
                added("arrays", "a += b, few", "darray", "loop", 0.5),
            ],
        ),
        Row(
            "PT-17",
            "aligned element-wise work, 2^16 doubles",
            "a plain loop",
            [
                ratio("arrays", case, "darray", "loop", ">=", 0.95)
                for case in ("a += b", "c = a + 2 b")
            ],
        ),
        Row(
            "PT-18",
            "sum of 2^20 doubles",
            "local sum and MPI_Allreduce",
            [
                ratio("arrays", "sum", "darray", "loop", ">=", 0.95, label="a plain loop"),
                ratio("arrays", "sum", "darray", "parts", ">=", 0.95, label="sixteen partial sums"),
            ],
        ),
    ]


def exact_and_joined_rows():
    return [
        Row(
            "PT-15",
            "memory of a remap, 4 ranks",
            "bytes sent and received; two chunks when bounded",
            [Facts("exact", ".*: (workspace|heap)")],
        ),
        Row(
            "PT-19",
            "messages and bytes, 4 ranks",
            "one for each pair; the elements' bytes; counted by PMPI",
            [Facts("exact", ".*: messages")],
        ),
        Row(
            "PT-20",
            "remap across two systems",
            "the same bytes, contiguous; one system over sockets",
            [
                ratio("across", f"remap, {size}", "darray", "raw", "<=", 1.1, None, f"{size}, raw")
                for size in SIZES
            ]
            + [
                Part(
                    f"{size}, one system",
                    ["across", "across inside"],
                    lambda results, case=f"remap, {size}": results["across"].time(case, "darray")
                    / results["across inside"].time(case, "darray"),
                    lambda results, case=f"remap, {size}": times(
                        results["across"].time(case, "darray"),
                        results["across inside"].time(case, "darray"),
                    ),
                    "<=",
                    1.1,
                )
                for size in SIZES
            ],
        ),
    ]


def make_rows(mpi):
    rows = remap_rows() + halo_rows(mpi) + plan_rows() + array_rows() + exact_and_joined_rows()
    return sorted(rows, key=lambda row: int(re.sub("[^0-9]", "", row.key)))
