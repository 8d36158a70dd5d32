#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every file of a configured tree's compile_commands.json with its compiler and its options,
without making code. A file that is compiled for several MPIs is read for one of them. Prints what the compiler warns of, and a row of scripts/compilers' table. The
exit status is 1 if there was a warning."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
# A header that many files share is precompiled, as in a build: it is read once.
PRECOMPILED = "cmake_pch.hxx.cxx"


def make_generated(tree, entries):
    """Builds the sources and the headers that the build writes."""
    made = [entry["file"] for entry in entries if not pathlib.Path(entry["file"]).exists()]
    listed = subprocess.run(
        ["ninja", "-C", tree, "-t", "targets", "all"], capture_output=True, text=True, check=True
    ).stdout
    targets = re.findall(r"^(impishim_\w*(?:generated|headers)): phony", listed, re.MULTILINE)
    made = [os.path.relpath(path, tree) for path in sorted(set(made))]
    done = subprocess.run(
        ["ninja", "-C", tree, *targets, *made], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")


def command_of(entry):
    """The words that read the file of `entry`, without code as output."""
    words = shlex.split(entry["command"])
    words[1:1] = WARNINGS
    if not entry["file"].endswith(PRECOMPILED):
        output = words.index("-o")
        del words[output : output + 2]
        words[words.index("-c")] = "-fsyntax-only"
    return words


def once(entries, turn):
    """One entry for each file. Which of several: `turn`, so that other compilers take other ones."""
    found = {}
    for entry in entries:
        found.setdefault(entry["file"], []).append(entry)
    return [same[turn % len(same)] for same in found.values()]


def read(entry):
    """What the compiler says of one file; empty if nothing."""
    done = subprocess.run(
        command_of(entry), cwd=entry["directory"], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    return said or (f"{entry['file']}: exit code {done.returncode}\n" if done.returncode else "")


def read_all(entries):
    """Number of files of which the compiler says something, which is printed."""
    noticed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(read, entries):
            if said:
                noticed += 1
                print(said, end="", file=sys.stderr, flush=True)
    return noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--turn", type=int, default=0, help="which MPI, for files of several")
    parser.add_argument("--only", default="", help="a regular expression for paths")
    arguments = parser.parse_args()
    tree = arguments.tree.resolve()
    begin = time.monotonic()
    entries = json.loads((tree / "compile_commands.json").read_text())
    make_generated(tree, entries)
    first = [entry for entry in entries if entry["file"].endswith(PRECOMPILED)]
    others = [
        entry
        for entry in once(entries, arguments.turn)
        if entry not in first and re.search(arguments.only, os.path.relpath(entry["file"]))
    ]
    if not others:
        sys.exit(f"no file matches {arguments.only}")
    noticed = read_all(first) or read_all(others)
    compiler = subprocess.run(
        [shlex.split(entries[-1]["command"])[0], "-dumpversion"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    seconds = time.monotonic() - begin
    row = f"{'clang ' + compiler:<16} {len(others):>7} {seconds:>9.0f}"
    print(row + (f"  WARNINGS in {noticed}" if noticed else ""), flush=True)
    return 1 if noticed else 0


if __name__ == "__main__":
    sys.exit(main())
