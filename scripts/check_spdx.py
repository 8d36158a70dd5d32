#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file of the tree names its license.

    check_spdx.py          prints each file without the line and exits 1 if there is one
    check_spdx.py --fix    adds the line where it is missing

The line is the first one of C and C++ files, and the first one after a shebang of Python, shell and
CMake files. """

import argparse
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
LICENSE = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {
    ".cpp": "//",
    ".hpp": "//",
    ".h": "//",
    ".c": "//",
    ".py": "#",
    ".sh": "#",
    ".cmake": "#",
    ".f90": "!",
    ".F90": "!",
}
# Recorded bytes of other implementations, and seeds of fuzzing.
LEFT_OUT = ("tests/vectors/data/", "tests/fuzz/corpus/")


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=TREE, check=True, capture_output=True, text=True
    ).stdout
    return [name for name in listed.split("\0") if name]


def comment_of(path, first_line):
    """The comment sign of a source file, or None for a file that needs no line."""
    if path.name == "CMakeLists.txt":
        return "#"
    if path.suffix in COMMENTS:
        return COMMENTS[path.suffix]
    if first_line.startswith("#!"):
        return "#"
    return None


def missing(path, text):
    """The line that a file should have and has not, with its index; None if all is well."""
    lines = text.split("\n", 2)
    comment = comment_of(path, lines[0])
    if comment is None:
        return None
    place = 1 if lines[0].startswith("#!") else 0
    wanted = f"{comment} {LICENSE}"
    if len(lines) > place and lines[place] == wanted:
        return None
    return wanted, place


def add(path, text, wanted, place):
    lines = text.split("\n", place)
    head = lines[:place]
    rest = lines[place] if len(lines) > place else ""
    path.write_text("\n".join([*head, wanted, rest]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fix", action="store_true", help="add the line where it is missing")
    arguments = parser.parse_args()
    checked = 0
    without = 0
    for name in tracked():
        path = TREE / name
        if name.startswith(LEFT_OUT) or not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if comment_of(path, text.split("\n", 1)[0]) is None:
            continue
        checked += 1
        found = missing(path, text)
        if found is None:
            continue
        without += 1
        if arguments.fix:
            add(path, text, *found)
            print(f"{name}: added")
        else:
            print(f"{name}: its line {found[1] + 1} is not \"{found[0]}\"", file=sys.stderr)
    print(
        f"licenses: {checked} files, {without} without the line"
        + (", added" if arguments.fix and without else "")
    )
    return 1 if checked == 0 or (without and not arguments.fix) else 0


if __name__ == "__main__":
    sys.exit(main())
