#!/usr/bin/env python3
"""Checks the rules that keep the tree in layers: who may include what, and how long a file may be.

    check_style.py                              checks the tree; prints every breach and exits 1 if there is one
    check_style.py --compiled compile_commands  prints the tree's own compiled files, for clang-tidy
"""

import argparse
import json
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {".cpp", ".hpp", ".h", ".c"}
LONGEST = 450

# A folder may include its own headers and those of the folders named here; every other folder of the tree is above it.
MAY_INCLUDE = {
    "wire": set(),
    "collectives": {"wire"},
    "shim": {"wire", "collectives", "impishim"},
    "darray": {"impishim"},
    "include": {"impishim"},
}
# The same inside of darray/, a library with layers of its own.
DARRAY_MAY_INCLUDE = {
    "base": set(),
    "index": {"base"},
    "local": {"base", "index"},
    "interop": {"base", "index", "local"},
    "schedule": {"base", "index", "local"},
    "plan": {"base", "index", "local", "schedule"},
    "array": {"base", "index", "local", "schedule", "plan", "interop"},
}
DARRAY_WITH_MPI = {"schedule", "plan", "array"}
FOLDERS = {"wire", "collectives", "shim", "darray", "tests", "include", "impishim"}
MAY_INCLUDE_MPI = {"shim", "darray", "include", "tests"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources():
    for folder in sorted(set(MAY_INCLUDE) | {"tests"}):
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix in SOURCES:
                yield folder, path


def darray_breaches(name, headers):
    """Of a file of darray/: what it includes from a layer above it, and mpi.h where there is to be no MPI."""
    folder = name.parts[1]
    if folder not in DARRAY_MAY_INCLUDE:
        return
    # The checks that all processes make together are the one part of interop/ that needs MPI.
    collective = folder == "interop" and name.name.startswith("collective")
    allowed = DARRAY_MAY_INCLUDE[folder] | ({"schedule"} if collective else set())
    for header in headers:
        parts = header.split("/")
        if header == "mpi.h" and folder not in DARRAY_WITH_MPI and not collective:
            yield f"{name}: includes mpi.h, which in darray only {', '.join(sorted(DARRAY_WITH_MPI))} may"
        if parts[0] == "darray" and len(parts) > 2 and parts[1] != folder and parts[1] not in allowed:
            yield f"{name}: includes {header}, from a layer above it"


def breaches():
    for folder, path in sources():
        name = path.relative_to(TREE)
        text = path.read_text(encoding="utf-8")
        length = text.count("\n")
        if length > LONGEST:
            yield f"{name}: {length} lines, more than {LONGEST}: has it still one job?"
        if folder == "darray":
            yield from darray_breaches(name, [header for _, header in INCLUDE.findall(text)])
        for _, header in INCLUDE.findall(text):
            first = header.split("/")[0]
            if header == "mpi.h" and folder not in MAY_INCLUDE_MPI:
                yield f"{name}: includes mpi.h, which only {', '.join(sorted(MAY_INCLUDE_MPI))} may"
            allowed = MAY_INCLUDE.get(folder)
            if allowed is not None and "/" in header and first in FOLDERS and first != folder and first not in allowed:
                yield f"{name}: includes {header}, from a layer above it"
        if path.suffix in {".hpp", ".h"} and "#pragma once" not in text and "#ifndef" not in text:
            yield f"{name}: can be included twice"


def compiled(database):
    files = {pathlib.Path(entry["file"]) for entry in json.loads(pathlib.Path(database).read_text(encoding="utf-8"))}
    build = pathlib.Path(database).resolve().parent
    return sorted(str(file) for file in files if build not in file.parents and file.suffix == ".cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", metavar="DATABASE", help="a compile_commands.json")
    arguments = parser.parse_args()
    if arguments.compiled:
        print("\n".join(compiled(arguments.compiled)))
        return 0
    found = list(breaches())
    for breach in found:
        print(breach, file=sys.stderr)
    count = sum(1 for _ in sources())
    print(f"layers and sizes: {count} files, {len(found)} breaches")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
