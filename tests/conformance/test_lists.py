# SPDX-License-Identifier: Apache-2.0
"""MPICH's lists of tests: a line is "program ranks key=value ...", or names a folder with a list of
its own."""

import dataclasses
import pathlib

LIST_NAMES = ("testlist",)
LONG_LIST_NAMES = LIST_NAMES + ("testlist.dtp", "testlist.cvar")
DEFAULT_RANKS = 2


class ListError(Exception):
    """A list that is not understood; the text names its place and its mistake."""


@dataclasses.dataclass
class Test:
    folder: str
    program: str
    ranks: int = DEFAULT_RANKS
    arguments: list = dataclasses.field(default_factory=list)
    variables: dict = dataclasses.field(default_factory=dict)
    result_test: str = ""
    time_limit: int = 0
    xfail: str = ""

    @property
    def name(self):
        """The folder and the whole line but its ranks and limits: two lines may differ in arguments alone."""
        return " ".join([f"{self.folder}/{self.program}", *self.arguments])


def parse_line(folder, line, place):
    """The test of a line, or None for a line without one."""
    words = line.split("#")[0].split()
    # A line with ! names a target that make must build first; the makefiles know such dependencies.
    if not words or words[0].startswith("!"):
        return None
    # configure replaces @name@ by nothing or by a # in the lists that it makes.
    if "@" in words[0]:
        raise ListError(f"{place}: {words[0]}: this list is a template; configure makes the list")
    test = Test(folder, words[0])
    if len(words) > 1:
        if not words[1].isdigit() or int(words[1]) == 0:
            raise ListError(f"{place}: {words[1]} is no number of ranks")
        test.ranks = int(words[1])
    for word in words[2:]:
        key, separator, value = word.partition("=")
        if not separator:
            raise ListError(f"{place}: {word} is not key=value")
        set_option(test, key, value, place)
    return test


def set_option(test, key, value, place):
    if key == "arg":
        test.arguments.append(value)
    elif key == "env":
        name, separator, setting = value.partition("=")
        if not separator:
            raise ListError(f"{place}: env={value} is not env=NAME=VALUE")
        test.variables[name] = setting
    elif key == "timeLimit":
        if not value.isdigit():
            raise ListError(f"{place}: timeLimit={value} is no number of seconds")
        test.time_limit = int(value)
    elif key == "resultTest":
        test.result_test = value
    elif key == "xfail":
        test.xfail = value
    # Memory, options of MPICH's mpiexec, versions, extensions: the native run shows whether a
    # program works here.
    elif key not in ("mpix", "strict", "mpiversion", "init", "lock", "mem", "mpiexecarg"):
        raise ListError(f"{place}: unknown key {key}")


def read_folder(built, sources, folder, names=LIST_NAMES):
    """The tests of a folder and of those that its list names. A list that configure has made counts
    before that of the sources."""
    tests = []
    found = False
    for name in names:
        for root in (built, sources):
            path = pathlib.Path(root, folder, name)
            if not path.is_file():
                continue
            found = True
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                tests += tests_of_line(built, sources, folder, names, line, f"{path}:{number}")
            break
    if not found:
        raise ListError(f"{folder} has no list of tests in {sources}")
    return tests


def tests_of_line(built, sources, folder, names, line, place):
    test = parse_line(folder, line, place)
    if test is None:
        return []
    if pathlib.Path(sources, folder, test.program).is_dir():
        return read_folder(built, sources, f"{folder}/{test.program}", names)
    # "coll/bcast" in the list of another folder.
    path = pathlib.PurePosixPath(folder, test.program)
    test.folder, test.program = str(path.parent), path.name
    return [test]


def select(tests, match=None, sample=1, seed=0):
    """The tests whose names a compiled expression matches, and of those every `sample`-th."""
    chosen = [test for test in tests if match is None or match.search(test.name)]
    return chosen[seed % sample :: sample]
