# SPDX-License-Identifier: Apache-2.0
"""The commands of a page of docs/. A block of code that has some follows a comment that says what
becomes of them: `<!-- run -->`, or any other text, by which a test finds them."""

import pathlib
import re

BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```\w*\n(?P<text>.*?)^```$", re.M | re.S)
PROMPT = re.compile(r"^[$#] ")


def blocks(page):
    """Pairs of a mark (None if there is none) and the lines of a block that has commands."""
    text = pathlib.Path(page).read_text()
    found = [(each["mark"], each["text"].splitlines()) for each in BLOCK.finditer(text)]
    return [(mark, lines) for mark, lines in found if any(PROMPT.match(line) for line in lines)]


def commands(lines):
    """Triples of a prompt, a command, and the lines that the page says it prints."""
    found = []
    for line in lines:
        if PROMPT.match(line):
            found.append((line[0], line[2:], []))
        else:
            found[-1][2].append(line)
    return found


def marked(page, mark):
    """All commands of the blocks with `mark`, as `commands` has them."""
    return [each for said, lines in blocks(page) if said == mark for each in commands(lines)]
