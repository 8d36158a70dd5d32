#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules that keep the tree in layers: which folder may include which, how long a file
and how full a folder may be.

    check_style.py                              checks the tree; prints every breach and exits 1 if there is one
    check_style.py --compiled compile_commands  prints the tree's own compiled files, for clang-tidy
"""

import argparse
import collections
import json
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {".cpp", ".hpp", ".h", ".c"}
LONGEST = 500
FULLEST = 28

# The top folders of the library. Each may include its own headers and those of the folders named
# here.
MAY_INCLUDE = {
    "wire": set(),
    "collectives": {"wire"},
    "shim": {"wire", "collectives", "impishim"},
    "darray": {"impishim"},
    "include": {"impishim"},
}
# Inside of each of them, from the bottom up: a folder may include itself and the folders named
# here, which stand before it. So no two folders include each other. A folder named detail belongs
# to the one that it stands in.
INNER = {
    "wire": {
        "base": "",
        "process": "base",
        "monitor": "base",
        "statistics": "base",
        "trace": "base",
        "data": "base",
        "packet": "base",
        "channel": "base packet",
        "topology": "base packet channel",
        "resume": "base channel",
        "stripe": "base channel resume",
        "tls": "base channel",
        "compress": "base channel",
        "relay": "base packet channel",
        "fabric": "base channel",
        "connect": "base packet topology channel resume tls relay fabric",
        "settings": "base packet channel topology compress connect",
        "reconnect": "base packet topology channel resume stripe tls relay connect",
        "port": "base packet topology channel connect",
        "startup": "base data packet topology channel tls relay",
        "server": "base monitor packet topology channel tls relay startup",
        "link": "base statistics packet channel",
        "message": "base data topology link",
        "peer": "base statistics data packet topology channel link message trace",
        "path": "base data packet topology link message peer trace",
        "engine": "base data packet topology channel link message peer path trace",
        "progress": "base channel engine",
        "shuffle": "base data topology message engine",
        "window": "base data topology message engine",
        "file": "base data topology message engine",
        "check/report": "base topology",
        "check": "base data packet channel tls topology connect settings reconnect startup check/report",
        "report": "base statistics",
        "watch": "base process monitor channel engine startup tls",
        "launch/options": "base topology",
        "launch/output": "base process startup",
        "launch/plan": "base process launch/options launch/output",
        "launch/jobfile": "base topology launch/options",
        "launch": "base process monitor watch packet channel tls topology connect port startup server check "
        "launch/options launch/output launch/plan launch/jobfile",
    },
    "collectives": {
        "core": "",
        ".": "core",
        "movement": "core .",
        "reduction": "core . movement",
        "local": "core",
    },
    "shim": {
        "handle": "",
        "values": "handle",
        "job": "handle values",
        "datatype": "handle job",
        "error": "handle job",
        "group": "handle values job error",
        "request": "handle values job datatype error",
        "monitor": "handle values job error group request",
        "completion": "handle values job datatype error request",
        "pt2pt": "handle values job datatype error request completion",
        "coll": "handle values job datatype error request completion",
        "comm": "handle values job datatype error group request completion coll",
        "survive": "handle values job datatype error group request completion coll comm",
        "rma": "handle values job datatype error group request completion coll comm",
        "io": "handle values job datatype error group request completion coll comm",
        "dynamic": "handle values job datatype error group request completion coll comm",
        "topo": "handle values job error request completion coll comm",
        "tool": "handle values job",
        "entry": "handle values job error request completion pt2pt coll comm",
        "startup": "handle values job datatype error request monitor completion comm rma dynamic tool entry",
    },
    "darray": {
        "base": "",
        "index": "base",
        "local": "base index",
        "interop/dap": "base index local",
        "interop/python": "index interop/dap",
        "interop/files": "base index local",
        "communicator": "base index local",
        "schedule": "base index local communicator",
        "interop/collective": "base index interop/dap communicator schedule",
        "plan/core": "base index local communicator schedule",
        "plan/remap": "base index communicator schedule plan/core",
        "plan/shift": "base plan/core plan/remap",
        "plan/halo": "base index plan/core",
        "plan/gather": "index communicator schedule plan/core",
        "plan/reduce": "base index local communicator schedule plan/core plan/gather",
        "array/core": "base index local communicator schedule plan/remap",
        "array/keys": "index communicator schedule plan/remap array/core",
        "array/io": "communicator schedule interop/files array/core",
        "array/math": "base index communicator schedule plan/reduce array/core array/keys",
        ".": "base index local communicator schedule interop/dap interop/collective plan/remap plan/shift plan/halo plan/gather plan/reduce "
        "array/core array/keys array/io array/math",
        "examples": "index .",
        "serial": "",
    },
}
# Headers that are written when the library is built, and the folders that they count for.
GENERATED = {
    "shim/vendor.hpp": "handle",
    "shim/entry_points.hpp": "handle",
    "shim/native.hpp": "completion",
}
FOLDERS = {"wire", "collectives", "shim", "darray", "tests", "benchmarks", "include", "impishim"}
MAY_INCLUDE_MPI = {"shim", "darray", "include", "tests", "benchmarks"}
DARRAY_WITHOUT_MPI = {"base", "index", "local", "interop/dap", "interop/files", "interop/python"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources():
    for folder in sorted(set(MAY_INCLUDE) | {"tests", "benchmarks"}):
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix in SOURCES:
                yield folder, path


def inner_folder(name):
    """The folder of INNER that a file's path, e.g. wire/base/log.hpp, lies in."""
    if name in GENERATED:
        return GENERATED[name]
    parts = [part for part in name.split("/")[1:-1] if part != "detail"]
    return "/".join(parts) or "."


def table_breaches():
    """What is wrong with INNER itself: a folder that may include one that stands behind it, or that
    there is not."""
    for top, table in INNER.items():
        before = set()
        for folder, allowed in table.items():
            for each in allowed.split():
                if each not in before:
                    yield f"check_style.py: {top}/{folder} may include {each}, which does not stand before it"
            before.add(folder)
            if not (TREE / top / folder).is_dir():
                yield f"check_style.py: there is no folder {top}/{folder}"


def inner_breaches(name, headers):
    """What a file includes from a folder of its own layer that stands above its own."""
    top = name.split("/")[0]
    table = INNER.get(top)
    if table is None:
        return
    own = inner_folder(name)
    if own not in table:
        yield f"{name}: its folder has no line in the table of check_style.py"
        return
    allowed = set(table[own].split()) | {own}
    for header in headers:
        if header.startswith(f"{top}/") and inner_folder(header) not in allowed:
            yield f"{name}: includes {header}, from a folder that {top}/{own} may not include"
        if header == "mpi.h" and top == "darray" and own in DARRAY_WITHOUT_MPI:
            yield f"{name}: includes mpi.h, which darray/{own} may not"


def file_breaches(folder, path):
    name = path.relative_to(TREE)
    text = path.read_text(encoding="utf-8")
    length = text.count("\n")
    if length > LONGEST:
        yield f"{name}: {length} lines, more than {LONGEST}: has it still one job?"
    headers = [header for _, header in INCLUDE.findall(text)]
    yield from inner_breaches(name.as_posix(), headers)
    for header in headers:
        first = header.split("/")[0]
        if header == "mpi.h" and folder not in MAY_INCLUDE_MPI:
            yield f"{name}: includes mpi.h, which only {', '.join(sorted(MAY_INCLUDE_MPI))} may"
        allowed = MAY_INCLUDE.get(folder)
        if (
            allowed is not None
            and "/" in header
            and first in FOLDERS
            and first != folder
            and first not in allowed
        ):
            yield f"{name}: includes {header}, from a layer above it"
    if path.suffix in {".hpp", ".h"} and "#pragma once" not in text and "#ifndef" not in text:
        yield f"{name}: can be included twice"


def breaches():
    yield from table_breaches()
    files = collections.Counter()
    for folder, path in sources():
        if folder in INNER:
            files[path.parent] += 1
        yield from file_breaches(folder, path)
    for folder, count in sorted(files.items()):
        if count > FULLEST:
            yield f"{folder.relative_to(TREE)}: {count} files, more than {FULLEST}: does a stranger find one in it?"


def compiled(database):
    files = {
        pathlib.Path(entry["file"])
        for entry in json.loads(pathlib.Path(database).read_text(encoding="utf-8"))
    }
    build = pathlib.Path(database).resolve().parent
    return sorted(
        str(file) for file in files if build not in file.parents and file.suffix == ".cpp"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
