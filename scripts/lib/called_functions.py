# SPDX-License-Identifier: Apache-2.0
"""Which MPI functions the source of a test program calls.

A call is the function's name in front of a parenthesis, or the name handed on as a value, as in a
table of functions; in Fortran, the name behind `call`. Comments, texts, declarations and
definitions do not count. Sources that make names of pieces (`##`) are read behind the preprocessor.
"""

import collections
import pathlib
import re
import shlex
import subprocess

COMMENTS_AND_TEXTS = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
LEFT_OUT = re.compile(r"^[ \t]*#[ \t]*if 0\b.*?^[ \t]*#[ \t]*(?:else|endif)\b", re.M | re.DOTALL)
NAME = re.compile(r"(?<![\w.])P?(MPIX?_[A-Za-z]\w*)")
FORTRAN_CALL = re.compile(r"\bcall\s+p?(mpix?_\w+)", re.IGNORECASE)
FORTRAN_TEXTS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|![^\n]*")
# Words in front of a name that begin an expression; any other word declares the name.
BEFORE_EXPRESSION = {"return", "co_return", "co_await", "else", "case", "throw", "do"}
OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def calls_in_c(text):
    """How often each function is called in C or C++ source text."""
    text = LEFT_OUT.sub("", COMMENTS_AND_TEXTS.sub(" ", text))
    found = collections.Counter()
    for match in NAME.finditer(text):
        before = re.search(r"([A-Za-z_]\w*)?\s*([*&]*)\s*$", text[: match.start()][-80:])
        word, stars = before.group(1), before.group(2)
        after = re.match(r"\s*(\S)", text[match.end() : match.end() + 80])
        follows = after.group(1) if after else ""
        declares = word is not None and word not in BEFORE_EXPRESSION
        if declares and not (stars and follows != "("):
            continue
        if follows and follows in "(,);}:?":
            found[match.group(1)] += 1
    return found


def calls_in_fortran(text):
    """The same for Fortran, by names in lower case."""
    text = FORTRAN_TEXTS.sub(" ", text)
    return collections.Counter(name.lower() for name in FORTRAN_CALL.findall(text))


def preprocessed(command):
    """The source text that `command`, a line of compile_commands.json, compiles."""
    words = shlex.split(command)
    kept, skip = [], False
    for word in words:
        if skip or word == "-c":
            skip = False
        elif word == "-o":
            skip = True
        else:
            kept.append(word)
    return subprocess.run(
        [*kept, "-E", "-P"], capture_output=True, text=True, check=True, cwd="/"
    ).stdout


class Sources:
    """The calls of source files, each file read once. Headers of the tests count with the files
    that include them, except tests/support: failed checks abort there, which no good run does."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.known = {}

    def headers_of(self, path, text):
        for name in OWN_HEADER.findall(text):
            for place in (path.parent, self.root):
                header = place / name
                if header.is_file() and self.root / "tests" in header.parents:
                    if self.root / "tests/support" not in header.parents:
                        yield header
                    break

    def calls(self, path, command=None):
        """`command` compiles the file; it is needed for files that make names of pieces."""
        path = pathlib.Path(path)
        text = path.read_text(errors="replace")
        in_pieces = "##" in text and command is not None
        key = (path, command if in_pieces else None)
        if key in self.known:
            return self.known[key]
        self.known[key] = collections.Counter()  # of headers that include each other
        if path.suffix.lower() in (".f90", ".f"):
            found = calls_in_fortran(text)
        else:
            found = calls_in_c(preprocessed(command) if in_pieces else text)
            for header in self.headers_of(path, text):
                found = found + self.calls(header)
        self.known[key] = found
        return found
