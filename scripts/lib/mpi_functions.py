# SPDX-License-Identifier: Apache-2.0
"""The functions of an mpi.h: their prototypes, which the compiler preprocesses, and the fate that
functions.txt gives to each. For gen_wrappers.py, which writes what follows from them."""

import pathlib
import re
import subprocess
import sys

PROTOTYPE = re.compile(
    r"([A-Za-z_][\w\s\*]*?[\s\*])(P?MPIX?_\w+)\s*\(([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*)\)\s*$"
)
FATES = (
    "intercept",
    "intercept_fast",
    "intercept_start",
    "always",
    "collective",
    "file_access",
    "forward",
    "refuse",
    "refuse_joined",
)
# What may wait for other processes of a system, besides point-to-point calls and what has a
# nonblocking form.
BLOCKING = re.compile(
    r"MPIX?_(Comm_(dup|dup_with_info|split|split_type|create|create_group|spawn|spawn_multiple|accept|connect|join|disconnect|agree|shrink)"
    r"|Intercomm_(create|merge)"
    r"|Cart_(create|sub)|Graph_create|Dist_graph_create(_adjacent)?"
    r"|Win_(create|create_dynamic|allocate|allocate_shared|free|fence|start|complete|wait|(un)?lock(_all)?|flush(_local)?(_all)?)(_c)?"
    r"|File_(open|close|sync|set_size|preallocate|set_view|set_info|set_atomicity|seek_shared|\w+_(all|ordered)(_begin|_end)?(_c)?))$"
)
FILE_ACCESS = re.compile(
    r"MPI_File_(i?)(read|write)(_at)?(_all|_shared|_ordered)?(_begin|_end)?(_c)?$"
)
NULL_HANDLES = {
    "MPI_Comm": "MPI_COMM_NULL",
    "MPI_Win": "MPI_WIN_NULL",
    "MPI_File": "MPI_FILE_NULL",
    "MPI_Group": "MPI_GROUP_NULL",
    "MPI_Request": "MPI_REQUEST_NULL",
}
# Handles that may belong to a joined job, and what refuses them.
INPUTS = {
    "MPI_Comm": ("spanning(job, {}) != nullptr", "refuse({}, {})"),
    "MPI_Request": ("is_own_request({})", "refuse(MPI_COMM_WORLD, {1})"),
    "MPI_Group": ("is_own_group({})", "refuse_group({1})"),
}


class Parameter:
    def __init__(self, text, index):
        text = " ".join(text.split())
        function = re.match(r"(.*\(\s*\*)\s*(\w*)\s*(\)\s*\(.*\))$", text)
        if function:
            self.type, self.name, self.suffix = (
                function.group(1),
                function.group(2) or f"argument{index}",
                function.group(3),
            )
            return
        array = re.search(r"((?:\s*\[[^\]]*\])+)$", text)
        self.suffix = array.group(1).strip() if array else ""
        body = text[: array.start()] if array else text
        named = re.match(r"(.*[\s\*])([A-Za-z_]\w*)$", body)
        known_types = {"int", "char", "void", "double", "long"}
        if (
            named
            and named.group(2) not in known_types
            and named.group(1).strip() not in ("", "const", "unsigned")
        ):
            self.type, self.name = named.group(1).strip(), named.group(2)
        else:
            self.type, self.name = body.strip(), f"argument{index}"

    def declaration(self):
        return f"{self.type} {self.name}{self.suffix}"

    def is_value(self, handle):
        return (
            self.type.replace("const", "").replace(" ", "") == handle.replace(" ", "")
            and not self.suffix
        )

    def is_array(self, handle):
        return (
            self.type.replace("const", "").replace(" ", "") == handle
            and re.fullmatch(r"\[\s*\w*\s*\]", self.suffix) is not None
        )


class Function:
    def __init__(self, result, name, parameters):
        self.result = " ".join(result.replace("extern", "").split())
        self.name = name
        self.short = re.sub(r"^MPI_", "", name)
        self.variadic = "..." in parameters
        texts = [text for text in split_parameters(parameters) if text not in ("", "void", "...")]
        self.parameters = [Parameter(text, index) for index, text in enumerate(texts)]
        self.fate, self.reason = "", ""
        self.base, self.way = (
            "",
            "",
        )  # of a collective: MPI_Bcast for MPI_Ibcast_c, and how it is called

    def declared(self, first=""):
        parts = ([first] if first else []) + [
            parameter.declaration() for parameter in self.parameters
        ]
        return ", ".join(parts) if parts else ("void" if not first else "")

    def passed(self, first=""):
        return ", ".join(
            ([first] if first else []) + [parameter.name for parameter in self.parameters]
        )

    def values_of(self, handle):
        return [parameter.name for parameter in self.parameters if parameter.is_value(handle)]

    def arrays_of(self, handle):
        """Arrays of handles that the function reads, each with the parameter before it that tells its
        length; of one whose length no parameter tells, an empty string."""
        counts, found = "", []
        for parameter in self.parameters:
            if parameter.is_array(handle):
                found.append((parameter.name, counts))
            if parameter.is_value("int") or parameter.is_value("MPI_Count"):
                counts = parameter.name
        return found

    def made_null(self, kinds=tuple(NULL_HANDLES)):
        """Statements that make null the handles which the function makes: a call that fails leaves
        no handle behind that looks valid. Of a function that takes no communicator by value, what
        it is given a pointer to may be its input."""
        if not self.values_of("MPI_Comm") and self.fate != "refuse_joined":
            return ""
        return "".join(
            f"*{parameter.name} = {NULL_HANDLES[kind]}; "
            for parameter in self.parameters
            for kind in kinds
            if parameter.is_value(f"{kind} *")
        )

    def messages(self):
        """Matched messages that the function consumes; with a communicator it is a probe, which
        only makes one."""
        has_comm = self.values_of("MPI_Comm")
        return (
            []
            if has_comm
            else [
                parameter.name
                for parameter in self.parameters
                if parameter.is_value("MPI_Message *")
            ]
        )


def split_parameters(text):
    depth, part, parts = 0, "", []
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()]


def include_lines(headers):
    return [f"#include <{header}>" for header in headers]


def read_prototypes(compiler, includes, definitions, headers):
    command = (
        [compiler, "-E", "-P", "-x", "c"]
        + [f"-I{path}" for path in includes]
        + [f"-D{each}" for each in definitions]
        + ["-"]
    )
    source = subprocess.run(
        command,
        input="\n".join(include_lines(headers)) + "\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    source = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", source)
    functions, twins = {}, set()
    for statement in source.split(";"):
        statement = " ".join(statement.split())
        if "typedef" in statement or "{" in statement:
            statement = statement.rsplit("}", 1)[-1].strip()
            if "typedef" in statement:
                continue
        match = PROTOTYPE.search(statement)
        if not match:
            continue
        result, name, parameters = match.groups()
        if name.startswith("PMPI"):
            twins.add(name[1:])
        else:
            functions[name] = Function(result, name, parameters)
    wrapped = {name: function for name, function in functions.items() if name in twins}
    missing = {"MPI_Init", "MPI_Send", "MPI_Finalize"} - wrapped.keys()
    if missing:
        sys.exit(
            f"gen_wrappers.py: <{headers[0]}> declares no {', no '.join(sorted(missing))} under both names: is this an mpi.h?"
        )
    return wrapped


def forms_of_collective(name, functions):
    """All ways to call a collective that this MPI has: function, way."""
    short = re.sub(r"^MPI_", "", name)
    ways = {
        "run": [f"MPI_{short}"],
        "start": [f"MPI_I{short[0].lower()}{short[1:]}"],
        "init": [f"MPI_{short}_init", f"MPIX_{short}_init"],
    }
    for way, names in ways.items():
        for form in names + [f"{each}_c" for each in names]:
            if form in functions:
                yield functions[form], way


def read_fates(path, functions):
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        if (
            len(words) < 2
            or words[1] not in FATES
            or (words[1] in ("forward", "refuse_joined") and len(words) < 3)
        ):
            sys.exit(f"{path}:{number}: expected: MPI_Function {'|'.join(FATES)} [reason]")
        if words[1] == "collective":
            for function, way in forms_of_collective(words[0], functions):
                function.fate, function.base, function.way = (
                    "collective",
                    re.sub(r"^MPI_", "", words[0]),
                    way,
                )
        elif words[1] == "file_access":
            for name, function in functions.items():
                if FILE_ACCESS.match(name):
                    function.fate = "file_access"
        elif words[0] in functions:
            functions[words[0]].fate = words[1]
            functions[words[0]].reason = words[2] if len(words) == 3 else ""
    for function in functions.values():
        if function.fate:
            continue
        if function.values_of("MPI_Comm"):
            function.fate, function.reason = "refuse", "takes a communicator"
        elif function.values_of("MPI_Request"):
            function.fate, function.reason = "refuse", "takes a request"
        elif function.values_of("MPI_Group"):
            function.fate, function.reason = "refuse", "takes a group"
        elif function.messages():
            function.fate, function.reason = "refuse", "takes a matched message"
        elif arrays := [each for kind in INPUTS for each in function.arrays_of(kind)]:
            function.fate, function.reason = "refuse", "takes an array of handles"
            if any(not count for _, count in arrays):
                function.fate = "refuse_joined"
                function.reason = "it takes an array of handles, and no argument tells how many"
        else:
            function.fate, function.reason = (
                "forward",
                "takes no communicator, group, request or matched message",
            )


def find_nonblocking(functions):
    """Blocking collectives that have a nonblocking form with the same parameters and a request. Not
    MPI_Comm_dup: MPICH 4.0.2's MPI_Comm_idup need not end while other threads make
    communicators."""
    pairs = {}
    for name, function in functions.items():
        twin = functions.get("MPI_I" + function.short[0].lower() + function.short[1:])
        if twin is None or not function.values_of("MPI_Comm"):
            continue
        types = [parameter.type + parameter.suffix for parameter in function.parameters]
        twin_types = [parameter.type + parameter.suffix for parameter in twin.parameters]
        if twin_types[:-1] == types and "MPI_Request" in twin_types[-1]:
            pairs[function.short] = twin.short
    return pairs
