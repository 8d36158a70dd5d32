# SPDX-License-Identifier: Apache-2.0
"""What a call costs more with the library preloaded and no variables set."""

import statistics

from harness import fail, run

OVERHEAD_GOAL_NS = 5


def overhead_rows(build, rounds):
    program = build / "tests/mpi/interposition/mpich/call_overhead"
    alone = ["mpiexec.mpich", "-np", "1", program]
    preloaded = [
        "mpiexec.mpich",
        "-genv",
        "LD_PRELOAD",
        build / "lib/impishim/mpich/libimpishim.so",
        "-np",
        "1",
        program,
    ]
    costs = {}
    for _ in range(rounds):
        both = []
        for command in (alone, preloaded):
            out, _ = run(command)
            both.append(
                {
                    words[1]: float(words[2])
                    for words in map(str.split, out.splitlines())
                    if words[:1] == ["call_overhead"]
                }
            )
        if not both[0] or both[0].keys() != both[1].keys():
            fail(f"{program} printed no costs")
        for what, cost in both[0].items():
            costs.setdefault(what, []).append((cost, both[1][what]))
    rows = []
    for what, pairs in costs.items():
        added = [with_library - without for without, with_library in pairs]
        median = statistics.median(added)
        rows.append(
            {
                "group": "Calls without the variables",
                "name": f"call without variables, added ns: {what}",
                "size": None,
                "unit": "ns",
                "median": median,
                "values": added,
                "without": [pair[0] for pair in pairs],
                "with": [pair[1] for pair in pairs],
                "goal": OVERHEAD_GOAL_NS,
                "verdict": "pass" if median <= OVERHEAD_GOAL_NS else "short",
            }
        )
    return rows


def print_overhead(rows):
    print(
        f"\nCalls with the library preloaded and no variables set: ns per call; goal: at most {OVERHEAD_GOAL_NS} added\n"
    )
    for row in rows:
        what = row["name"].split(": ")[1]
        print(
            f"  {what:<26} alone {statistics.median(row['without']):7.2f}  preloaded {statistics.median(row['with']):7.2f}  "
            f"added {row['median']:6.2f}  {row['verdict']}"
        )
