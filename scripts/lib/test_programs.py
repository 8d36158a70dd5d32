# SPDX-License-Identifier: Apache-2.0
"""The programs that ctest runs as joined jobs, and the sources that each is built from: read from
ctest's list of tests and from the build tree's ninja file."""

import ast
import json
import pathlib
import re
import subprocess
import sys


def listed_tests(build):
    """What `ctest` registers in the build tree, as its JSON tells."""
    done = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True
    )
    if done.returncode != 0 or not done.stdout.startswith("{"):
        sys.exit(f"coverage: ctest lists no tests in {build}: configure it: cmake --preset release")
    return json.loads(done.stdout)["tests"]


def option(command, name):
    return command[command.index(name) + 1] if name in command else None


def situations(command):
    """Programs that one case of situations_test.py runs joined: it names them in its source."""
    case = next((word for word in command if word.startswith("Joined.")), None)
    if case is None:
        return []
    script = next(word for word in command if word.endswith("situations_test.py"))
    tree = ast.parse(pathlib.Path(script).read_text())
    method = case.split(".")[1]
    named = [
        node.value
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name == method
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    folder = pathlib.Path(option(command, "--programs"))
    return [str(folder / name) for name in named if re.fullmatch(r"\w+", name)]


def joined_programs(tests):
    """Program (its path) -> names of the tests that run it as a part of a joined job."""
    programs = {}
    for test in tests:
        command = test.get("command", [])
        run = []
        if re.match(r"\d", option(command, "--shape") or ""):
            run = [command[command.index("--") + 1]]
            if alternate := option(command, "--alternate"):
                run.append(alternate)
        elif any(word.endswith("situations_test.py") for word in command):
            run = situations(command)
        for program in run:
            programs.setdefault(program, []).append(test["name"])
    return programs


class BuildTree:
    """Which sources a program is built from."""

    LINE = re.compile(r"^build (.*?): (\S+)(.*)$")

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.inputs = {}
        file = self.build / "build.ninja"
        if not file.is_file():
            sys.exit(f"coverage: {file} is missing: configure the tree: cmake --preset release")
        for line in file.read_text().replace("$\n", "").splitlines():
            match = self.LINE.match(line)
            if match is None or match.group(2) == "phony":
                continue
            inputs = match.group(3).split("||")[0].replace("|", " ").split()
            for output in match.group(1).replace("|", " ").split():
                self.inputs[output.replace("${cmake_ninja_workdir}", "")] = inputs
        commands = self.build / "compile_commands.json"
        self.commands = {}
        if commands.is_file():
            for entry in json.loads(commands.read_text()):
                output = re.search(r" -o (\S+)", entry["command"])
                self.commands[output.group(1)] = entry["command"]

    def sources(self, program):
        """Pairs: source file, the command that compiles it or None."""
        try:
            name = str(pathlib.Path(program).relative_to(self.build.resolve()))
        except ValueError:
            name = str(program)
        for each in self.inputs.get(name, []):
            if each.endswith(".o"):
                for source in self.inputs.get(each, [])[:1]:
                    yield pathlib.Path(source), self.commands.get(each)
            elif re.search(r"\.(c|cpp|f90|F90)$", each):
                yield pathlib.Path(each), None
