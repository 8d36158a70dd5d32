#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every relative link and anchor in the Markdown files of the tree, without network.

    check_links.py            prints each link that leads nowhere and exits 1 if there is one
    check_links.py --files    prints the Markdown files and the files that they link to, for scripts/docs

A link's path must be a file or folder of the tree, its #anchor a heading of the Markdown file it
leads to (as GitHub and mkdocs make anchors of headings) or an <a id="..."> in it. """

import argparse
import pathlib
import re
import subprocess
import sys
import urllib.parse

TREE = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
CODE = re.compile(r"`[^`]*`")
FENCE = re.compile(r"^\s*(```|~~~)")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def markdown_files():
    """Those that git knows or would take; without git all outside of build folders."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
            cwd=TREE,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [path.relative_to(TREE).as_posix() for path in TREE.rglob("*.md")]
        listed = [name for name in listed if not name.startswith(("build", "."))]
    return [TREE / name for name in sorted(listed) if name and (TREE / name).is_file()]


def prose_lines(text):
    """The lines outside of fenced code, numbered from 1."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if found:
            if fence is None:
                fence = found.group(1)
            elif found.group(1) == fence:
                fence = None
            continue
        if fence is None:
            yield number, line


def slug(heading):
    """The anchor of a heading: what is left of its words, in lower case, with hyphens between."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.strip().lower()))


def anchors_of(path, known={}):  # a cache on purpose
    if path not in known:
        found = set()
        for _, line in prose_lines(path.read_text(encoding="utf-8")):
            found.update(ANCHOR.findall(line))
            heading = HEADING.match(line)
            if heading is None:
                continue
            base = slug(heading.group(2))
            name, count = base, 0
            while name in found:
                count += 1
                name = f"{base}-{count}"
            found.add(name)
        known[path] = found
    return known[path]


def problem(path, target):
    """Why a link of the file at `path` leads nowhere; None if it leads somewhere."""
    if SCHEME.match(target) or target.startswith("//"):
        return None
    name, _, anchor = target.partition("#")
    there = path if not name else (path.parent / urllib.parse.unquote(name)).resolve()
    if not there.exists():
        return "no such file"
    if TREE not in there.parents and there != TREE:
        return "outside of the tree"
    if anchor and there.suffix == ".md" and anchor not in anchors_of(there):
        return "no such heading"
    return None


def links_in(path):
    """The links of a Markdown file with their lines."""
    for number, line in prose_lines(path.read_text(encoding="utf-8")):
        plain = CODE.sub(lambda code: "x" if "](" in code.group() else code.group(), line)
        for target in LINK.findall(plain) + REFERENCE.findall(plain):
            yield number, target


def linked_files(path):
    for _, target in links_in(path):
        name = target.partition("#")[0]
        there = (
            (path.parent / urllib.parse.unquote(name)).resolve()
            if name and not SCHEME.match(target)
            else None
        )
        if there is not None and there.is_file() and TREE in there.parents:
            yield there


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--files", action="store_true", help="print the files that make the documentation"
    )
    arguments = parser.parse_args()
    files = markdown_files()
    if arguments.files:
        needed = set(files).union(*(linked_files(path) for path in files))
        print("\n".join(sorted(str(path.relative_to(TREE)) for path in needed)))
        return 0
    links = 0
    broken = 0
    for path in files:
        for number, target in links_in(path):
            links += 1
            why = problem(path, target)
            if why is not None:
                broken += 1
                print(f"{path.relative_to(TREE)}:{number}: {target}: {why}", file=sys.stderr)
    print(f"links: {links} in {len(files)} files, {broken} broken")
    return 1 if broken or not files else 0


if __name__ == "__main__":
    sys.exit(main())
