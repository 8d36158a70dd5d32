# SPDX-License-Identifier: Apache-2.0
"""One scheduling group for all processes of a measurement.

Where several ranks share a processor, whoever waits yields it. But Linux's autogroups divide a
processor between sessions first, and between their processes after: a rank that is alone in its
session, as MPICH's launcher makes each of them, yields to nobody, while those of Open MPI, one
session together, yield to each other. Contestants are then compared by how they are launched.
Resource managers put a job's processes into one control group, where yielding works; so does this.
"""

import atexit
import os
import pathlib

AUTOGROUPS = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
# The hierarchy of the controller cpu in version 1 of control groups, then version 2.
HIERARCHIES = [
    pathlib.Path("/sys/fs/cgroup/cpu"),
    pathlib.Path("/sys/fs/cgroup/cpu,cpuacct"),
    pathlib.Path("/sys/fs/cgroup"),
]


def divides_processors(hierarchy):
    """Whether a new group of this hierarchy gets shares of the processors."""
    if (hierarchy / "cpu.shares").exists():
        return True
    control = hierarchy / "cgroup.subtree_control"
    return control.exists() and "cpu" in control.read_text().split()


def leave(hierarchy, group):
    (hierarchy / "cgroup.procs").write_text(str(os.getpid()))
    group.rmdir()


def enter():
    """Moves this process, and so all that it starts, into a group of their own, which ends with it.
    Returns how they share processors, for the record: "one control group", "no autogroups", or what
    is in the way."""
    if not AUTOGROUPS.exists() or AUTOGROUPS.read_text().strip() == "0":
        return "no autogroups"
    cause = "no control groups that divide processors"
    for hierarchy in filter(divides_processors, HIERARCHIES):
        group = hierarchy / f"impishim-bench-{os.getpid()}"
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError as error:
            cause = str(error)
            continue
        atexit.register(leave, hierarchy, group)
        return "one control group"
    return f"autogroups: {cause}"
