#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers of one MPI library from its own mpi.h, and further headers that declare
functions of it.

Reads the prototypes (preprocessed by the compiler) and shim/functions.txt, which gives the
functions that are special their fate. Holds no decisions about single functions: see shim/README.md
for the fates and the files that come out. """

import argparse
import json
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
# Of what other files define: without it the compiler looks the address up in a table, as for other
# libraries' names.
HIDDEN = '__attribute__((visibility("hidden")))'
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
SHORT_WAYS = ("intercept_fast", "intercept_start")  # of fast_path.hpp
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
FILES = 8  # wrappers are spread over so many files, to build in parallel


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


def short_way_wrapper(function):
    """All ways are calls with the wrapper's own arguments, which stay where they are: the compiler
    makes jumps of them. What only starts a message does not look at the job before fast_path::X
    finds that it does not stay inside this system."""
    name, args, declared = function.short, function.passed(), function.declared()
    find_job, fast_args, joined = (
        "",
        args,
        "the_job.load(std::memory_order_acquire) != nullptr && ",
    )
    if function.fate == "intercept_fast":
        find_job = (
            f"  const Job* job = the_job.load(std::memory_order_acquire);\n"
            f"  if (job == nullptr) return vendor::raw::{name}({args});\n"
        )
        fast_args, joined = function.passed("*job"), ""
    return (
        f"[[gnu::cold, gnu::noinline]] static {function.result} inside_vendor_{name}({declared}) {{\n"
        f"  return {joined}in_fortran_layer(caller_inside_vendor) ? calls::{name}({args}) : vendor::raw::{name}({args});\n}}\n"
        f'extern "C" __attribute__((visibility("default"))) {function.result} {function.name}({declared}) {{\n'
        f"{find_job}"
        f"  if (vendor_depth.value() == 0) [[likely]] return fast_path::{name}({fast_args});\n"
        f"  caller_inside_vendor = __builtin_return_address(0);\n"
        f"  return inside_vendor_{name}({args});\n}}\n"
    )


def wrapper(function, nonblocking):
    name, args = function.short, function.passed()
    lines = [
        f'extern "C" __attribute__((visibility("default"))) {function.result} '
        f"{function.name}({function.declared()}{', ...' if function.variadic else ''}) {{"
    ]
    give = "" if function.result == "void" else "return "
    if function.fate in SHORT_WAYS:
        lines = [short_way_wrapper(function)]
    elif function.fate == "always":
        lines.append(f"  {give}calls::{name}({args});")
    elif function.fate in ("intercept", "collective", "file_access"):
        if nulls := function.made_null(("MPI_Comm",)):
            any_spans = " || ".join(
                f"spanning(job, {comm}) != nullptr" for comm in function.values_of("MPI_Comm")
            )
            lines.append("  if (Job* job = called_by_user(); job != nullptr) {")
            lines.append(f"    if ({any_spans}) {{ {nulls}}}")
            lines.append(f"    {give}calls::{name}({function.passed('*job')});\n  }}")
        else:
            lines.append(
                f"  if (Job* job = called_by_user(); job != nullptr) {give}calls::{name}({function.passed('*job')});"
            )
        lines.append(f"  {give}vendor::raw::{name}({args});")
    else:
        blocks = name in nonblocking or BLOCKING.match(function.name)
        call = f"native::{name}({function.passed('*job')})" if blocks else f"vendor::{name}({args})"
        lines.append("  if (Job* job = called_by_user(); job != nullptr) {")
        if function.fate == "refuse":
            for comm in function.values_of("MPI_Comm"):
                lines.append(
                    f'    if (spanning(job, {comm}) != nullptr) {{ {function.made_null()}{give}refuse({comm}, "{function.name}"); }}'
                )
            for request in function.values_of("MPI_Request"):
                lines.append(
                    f'    if (is_own_request({request})) {give}refuse(MPI_COMM_WORLD, "{function.name}");'
                )
            for group in function.values_of("MPI_Group"):
                lines.append(
                    f'    if (is_own_group({group})) {give}refuse_group("{function.name}");'
                )
            for message in function.messages():
                lines.append(
                    f'    if (is_own_message(*{message})) {give}refuse(MPI_COMM_WORLD, "{function.name}");'
                )
            for kind, (check, refusal) in INPUTS.items():
                for array, count in function.arrays_of(kind):
                    each = f"{array}[place]"
                    lines.append(
                        f"    for (MPI_Count place = 0; place < {count}; ++place) {{\n"
                        f"      if ({check.format(each)}) {give}{refusal.format(each, json.dumps(function.name))};\n    }}"
                    )
        if function.fate == "refuse_joined":
            lines.append(
                f'    {function.made_null()}{give}refuse_joined("{function.name}", {json.dumps(function.reason)});'
            )
        else:
            lines.append(f"    {give}{call};")
        lines.append("  }")
        lines.append(f"  {give}vendor::raw::{name}({args});")
    if function.fate not in SHORT_WAYS:
        lines.append("}")
    lines.append(
        f'extern "C" __attribute__((visibility("default"), alias("{function.name}"))) {function.result} '
        f"P{function.name}({function.declared()}{', ...' if function.variadic else ''});"
    )
    return "\n".join(lines)


def vendor_header(functions, headers):
    out = [
        "// Written by scripts/gen_wrappers.py.",
        "#pragma once",
        *include_lines(headers),
        "#include <atomic>",
        '#include "shim/handle/inside_vendor.hpp"',
        f"namespace impishim::shim::vendor {{\nnamespace pointers {HIDDEN} {{",
        "inline constexpr auto kOrder = std::memory_order_relaxed;",
    ]
    for function in functions:
        out.append(f"extern std::atomic<decltype(&::P{function.name})> {function.short};")
    out.append("}\nnamespace raw {")
    for function in functions:
        out.append(
            f"inline {function.result} {function.short}({function.declared()}) "
            f"{{ return pointers::{function.short}.load(pointers::kOrder)({function.passed()}); }}"
        )
    out.append("}")
    for function in functions:
        out.append(
            f"inline {function.result} {function.short}({function.declared()}) "
            f"{{ const InsideVendor inside; return raw::{function.short}({function.passed()}); }}"
        )
    return "\n".join(out + ["}"]) + "\n"


def native_header(functions, nonblocking):
    """native::X of a function that blocks inside this system: marked for the progress thread, or
    polled."""
    out = [
        "// Written by scripts/gen_wrappers.py.",
        "#pragma once",
        '#include "shim/completion/native_stand.hpp"',
        '#include "shim/vendor.hpp"',
        '#include "shim/completion/wait.hpp"',
        "namespace impishim::shim::native {",
    ]
    for function in functions:
        args = function.passed()
        polled = function.short in nonblocking
        stand = (
            f"static constexpr VendorCallKind kCall{{\"{function.name}\", {'true' if polled else 'false'}}};\n"
            f"  const NativeStand stand(job, kCall);\n"
        )
        if BLOCKING.match(function.name) and not polled:
            out.append(
                f"inline int {function.short}({function.declared('Job& job')}) {{\n  {stand}"
                f"  return vendor::{function.short}({args});\n}}"
            )
        if not polled:
            continue
        twin = nonblocking[function.short]
        # Blocking and nonblocking collectives do not match (MPI-3.1 5.12): all members must choose
        # alike, whatever each has outstanding. A barrier is the one that programs synchronise with,
        # and costs the same in both forms.
        blocking = (
            ""
            if function.short == "Barrier"
            else (
                f"  if (!job.polls_collectives) [[likely]] {{\n  {stand}  return vendor::{function.short}({args});\n  }}\n"
            )
        )
        out.append(
            f"inline int {function.short}({function.declared('Job& job')}) {{\n"
            f"{blocking}"
            f"  MPI_Request request = MPI_REQUEST_NULL;\n"
            f"  const int code = vendor::{twin}({args}, &request);\n"
            f"  return code == MPI_SUCCESS ? poll_native(job, request) : code;\n}}"
        )
    out.append("}")
    return "\n".join(out) + "\n"


def handled_header(functions, headers):
    out = ["// Written by scripts/gen_wrappers.py.", "#pragma once", *include_lines(headers)]
    out += [f"#define IMPISHIM_HAVE_{function.name} 1" for function in functions]
    out.append(f"namespace impishim::shim {{\nstruct Job;\nnamespace calls {HIDDEN} {{")
    for function in functions:
        if function.fate in ("intercept", "collective", "file_access"):
            out.append(f"{function.result} {function.short}({function.declared('Job& job')});")
        elif function.fate == "always" or function.fate in SHORT_WAYS:
            out.append(f"{function.result} {function.short}({function.declared()});")
    return "\n".join(out + ["}", "}"]) + "\n"


def pointers_source(functions):
    out = [
        "// Written by scripts/gen_wrappers.py.",
        '#include "shim/vendor.hpp"',
        '#include "shim/entry/vendor_lookup.hpp"',
        "namespace impishim::shim::vendor {",
        "namespace {",
    ]
    for function in functions:
        out.append(
            f"{function.result} first_{function.short}({function.declared()}{', ...' if function.variadic else ''}) {{\n"
            f'  pointers::{function.short}.store(reinterpret_cast<decltype(&::P{function.name})>(resolve("P{function.name}")), '
            f"pointers::kOrder);\n"
            f"  return raw::{function.short}({function.passed()});\n}}"
        )
    out.append("}\nnamespace pointers {")
    for function in functions:
        out.append(
            f"constinit std::atomic<decltype(&::P{function.name})> {function.short}{{first_{function.short}}};"
        )
    return "\n".join(out + ["}", "}"]) + "\n"


def collective_call(function, nonblocking):
    """calls::X of a collective: on a spanning communicator the hand-written collective_arguments::X
    describes its arguments."""
    passed = [
        parameter.name
        for parameter in function.parameters
        if not any(parameter.is_value(kind) for kind in ("MPI_Comm", "MPI_Info", "MPI_Request *"))
    ]
    comm = function.values_of("MPI_Comm")[0]
    request = "".join(
        f"{parameter.name}, "
        for parameter in function.parameters
        if parameter.is_value("MPI_Request *")
    )
    native = (
        f"native::{function.short}({function.passed('job')})"
        if function.short in nonblocking
        else (f"vendor::{function.short}({function.passed()})")
    )
    # A persistent operation's arguments outlive the call.
    capture = "=" if function.way == "init" else "&"
    return (
        f"int {function.short}({function.declared('Job& job')}) {{\n"
        f"  Communicator* communicator = spanning(&job, {comm});\n"
        f"  if (communicator == nullptr) return {native};\n"
        f"  return {function.way}_collective(job, *communicator, \"{function.name}\", {request}[{capture}](Collective& call) {{\n"
        f"    return collective_arguments::{function.base}({', '.join(['call'] + passed)});\n"
        f"  }});\n}}"
    )


def file_access_call(function):
    """calls::X of a data access function of files: shim/io does what the vendor's function of the
    same name cannot."""
    nonblocking, direction, explicit, together, split, _ = FILE_ACCESS.match(function.name).groups()
    position = {"_shared": "Shared", "_ordered": "Ordered"}.get(
        together, "Explicit" if explicit else "Individual"
    )
    form = {"_begin": "Begin", "_end": "End"}.get(
        split, "Nonblocking" if nonblocking else "Blocking"
    )
    way = (
        f"{{.writes = {'true' if direction == 'write' else 'false'}, .position = FileWay::Position::k{position}, "
        f".collective = {'true' if together in ('_all', '_ordered') else 'false'}, .form = FileWay::Form::k{form}}}"
    )
    fields = {
        "MPI_Offset": ".offset = {}",
        "void *": ".buffer = const_cast<void*>({})",
        "int": ".count = {}",
        "MPI_Count": ".count = {}",
        "MPI_Datatype": ".datatype = {}",
        "MPI_Status *": ".status = {}",
        "MPI_Request *": ".request = {}",
    }
    given = [
        text.format(parameter.name)
        for kind, text in fields.items()
        for parameter in function.parameters
        if parameter.is_value(kind)
    ]
    file = function.values_of("MPI_File")[0]
    native = (
        f"native::{function.short}({function.passed('job')})"
        if BLOCKING.match(function.name)
        else f"vendor::{function.short}({function.passed()})"
    )
    return (
        f"int {function.short}({function.declared('Job& job')}) {{\n"
        f"  constexpr FileWay kWay{way};\n"
        f"  File* spanning = spanning_file(job, {file});\n"
        f"  if (spanning == nullptr || spanning->in_vendor(kWay)) return {native};\n"
        f"  return access_file({{{', '.join(['.job = job', '.file = *spanning', f'.function = {json.dumps(function.name)}', '.way = kWay'] + given)}}});\n}}"
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument(
        "--define", action="append", default=[], help="macro to set before the headers are read"
    )
    parser.add_argument("--header", action="append", help="default: mpi.h")
    parser.add_argument("--functions", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    headers = arguments.header or ["mpi.h"]
    functions = read_prototypes(arguments.compiler, arguments.include, arguments.define, headers)
    read_fates(arguments.functions, functions)
    nonblocking = find_nonblocking(functions)
    ordered = [functions[name] for name in sorted(functions)]
    output = pathlib.Path(arguments.output)
    (output / "shim").mkdir(parents=True, exist_ok=True)
    (output / "shim/vendor.hpp").write_text(vendor_header(ordered, headers))
    (output / "shim/native.hpp").write_text(native_header(ordered, nonblocking))
    (output / "shim/entry_points.hpp").write_text(handled_header(ordered, headers))
    (output / "vendor_pointers.cpp").write_text(pointers_source(ordered))
    head = [
        '// Written by scripts/gen_wrappers.py.',
        '#include "shim/entry/call_origin.hpp"',
        '#include "shim/entry_points.hpp"',
        '#include "shim/entry/fast_path.hpp"',
        '#include "shim/job/job.hpp"',
        '#include "shim/native.hpp"',
        '#include "shim/handle/own_handle.hpp"',
        '#include "shim/error/refusal.hpp"',
        '#include "shim/vendor.hpp"',
        "using namespace impishim::shim;  // NOLINT",
    ]
    for part in range(FILES):
        undefined = [
            f"#undef {prefix}{function.name}"
            for function in ordered[part::FILES]
            for prefix in ("", "P")
        ]
        body = [wrapper(function, nonblocking) for function in ordered[part::FILES]]
        (output / f"wrappers_{part}.cpp").write_text("\n".join(head + undefined + body) + "\n")
    calls = [
        collective_call(function, nonblocking)
        for function in ordered
        if function.fate == "collective"
    ]
    (output / "collective_calls.cpp").write_text(
        "\n".join(
            [
                "// Written by scripts/gen_wrappers.py.",
                '#include "shim/coll/collective_arguments.hpp"',
                '#include "shim/coll/collective_queue.hpp"',
                '#include "shim/entry_points.hpp"',
                '#include "shim/native.hpp"',
                '#include "shim/vendor.hpp"',
                "namespace impishim::shim::calls {",
            ]
            + calls
            + ["}"]
        )
        + "\n"
    )
    accesses = [
        file_access_call(function) for function in ordered if function.fate == "file_access"
    ]
    (output / "file_access_calls.cpp").write_text(
        "\n".join(
            [
                "// Written by scripts/gen_wrappers.py.",
                '#include "shim/entry_points.hpp"',
                '#include "shim/io/file.hpp"',
                '#include "shim/io/file_access.hpp"',
                '#include "shim/native.hpp"',
                '#include "shim/vendor.hpp"',
                "namespace impishim::shim::calls {",
            ]
            + accesses
            + ["}"]
        )
        + "\n"
    )
    listing = [f"{function.name}\t{function.fate}\t{function.reason}" for function in ordered]
    (output / "wrapped.txt").write_text("\n".join(listing) + "\n")


if __name__ == "__main__":
    main()
