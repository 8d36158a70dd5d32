#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/install.md, in one shell, and compares what they print with the page.
Blocks that other tests run, or that nothing here can run, are marked so on the page."""

import argparse
import pathlib
import shutil
import tempfile

from running import AS_ROOT, expect, run, skip
from transcript import blocks, marked

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
PAGE = TREE / "docs/install.md"
MODULES = "run, if there are modules"
MARKS = {
    "run": "here",
    MODULES: "here",
    "run by install.packages": "packages_test.py",
    "run by install.clean_root": "packages_test.py",
}
STARTS = ("/usr/share/lmod/lmod/init/bash", "/usr/share/modules/init/bash")


def checkout(folder, build):
    """Makes what the page's reader has before them: the sources, a built tree, two programs."""
    folder.mkdir()
    for path in TREE.iterdir():
        if not path.name.startswith((".", "build")):
            (folder / path.name).symlink_to(path)
    (folder / "build").symlink_to(build)
    shutil.copy(HERE / "consumer/consumer.cpp", folder / "program.cpp")
    shutil.copy(HERE / "consumer/linked.c", folder / "program.c")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--mpi", action="append", default=[])
    arguments = parser.parse_args()
    if not {"mpich", "openmpi"} <= set(arguments.mpi):
        skip("the page's commands are for MPICH and Open MPI")

    for mark, lines in blocks(PAGE):
        known = mark in MARKS or (mark or "").startswith("not run: ")
        expect(known, f"{PAGE.name} does not say what runs this: {mark}\n{lines[0]}")
    start = next((path for path in STARTS if pathlib.Path(path).exists()), None)
    chosen = marked(PAGE, "run")
    if start:
        chosen += marked(PAGE, MODULES)
    else:
        print("no modules are here: their commands are left out")
    expect(len(chosen) > 8, f"only {len(chosen)} commands")

    with tempfile.TemporaryDirectory() as made:
        home = pathlib.Path(made).resolve()
        checkout(home / "impishim-sources", arguments.build)
        script = f". {start}\n" if start else ""
        script += f"set -e\ncd {home}/impishim-sources\n"
        for number, (_, command, _) in enumerate(chosen):
            script += f"echo '@@ {number}'\n{command}\n"
        variables = {**AS_ROOT, "IMPI_AUTH_NONE": "", "HOME": str(home), "MODULEPATH": ""}
        # Modules are a shell's own: what it reads at its start may have loaded some.
        out = run(["bash", "--norc", "-c", script], seconds=280, BASH_ENV="", **variables)

    parts = out.split("@@ ")[1:]
    expect(len(parts) == len(chosen), f"{len(parts)} of {len(chosen)} commands have run:\n{out}")
    for part, (_, command, said) in zip(parts, chosen):
        printed = part.splitlines()[1:]
        print("\n".join([f"$ {command}", *(printed if said else [])]))
        expect(not said or printed == said, f"{PAGE.name} says:\n" + "\n".join(said))


if __name__ == "__main__":
    main()
